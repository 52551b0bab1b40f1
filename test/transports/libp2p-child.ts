import { libp2pTransport } from '../../src/transports/libp2p/index.ts'
import type { Libp2pTransportOptions } from '../../src/transports/libp2p/index.ts'

// A node in a process of its own, for tests that kill it. Says who and where it is in one line of JSON.
const transport = await libp2pTransport(JSON.parse(process.argv[2] ?? '{}') as Libp2pTransportOptions)
await transport.start({
  gossip: () => true,
  opened: (_peer, _purpose, channel) => channel.abort(new Error('not here')),
  connected: () => undefined,
  disconnected: () => undefined,
  refused: () => undefined,
  unreachable: () => undefined,
  mute: () => Promise.resolve(),
  problem: () => undefined,
})
process.stdout.write(`${JSON.stringify({ id: transport.id, addresses: transport.addresses() })}\n`)
// Nothing ends the process but the lack of anything to do.
process.once('SIGTERM', () => void transport.stop().then(() => process.stdout.write('stopped\n')))

// A test runner that is killed leaves no process behind; unreferenced, so that it keeps nothing alive.
const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) process.exit(1)
}, 1_000).unref()
