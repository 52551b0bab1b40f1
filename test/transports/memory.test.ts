import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { MemoryTransport, memoryTransport } from '../../src/transports/memory/transport.ts'
import type { Transport } from '../../src/tracker/ports.ts'
import { transportContract } from './contract.ts'

function memoryOf(transport: Transport): MemoryTransport {
  if (transport instanceof MemoryTransport) return transport
  throw new Error('not a memory transport')
}

transportContract('memory', () => {
  const network = new MemoryNetwork()
  return Promise.resolve({
    deadlineMs: 5_000,
    // One window and one message.
    maxHeldBytes: 256 * 1024 + 64 * 1024,
    create: ({ identity, join }) =>
      Promise.resolve(
        memoryTransport(network, { ...(identity === undefined ? {} : { id: identity }), join: join ?? [] }),
      ),
    sever: (a, b) => {
      memoryOf(a).sever(b.id)
      return Promise.resolve()
    },
    destroy: (transport) => {
      memoryOf(transport).crash()
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  })
})
