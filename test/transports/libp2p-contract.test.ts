import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import type { Transport } from '../../src/tracker/ports.ts'
import { transportContract, type TransportHarness } from './contract.ts'
import { destroy, generateKeyPair3, makeLine2, makeLine3, sever, type Made } from './libp2p-harness.ts'

/** The largest yamux window, and what the buffers of both sockets and both sides' copies hold besides. */
const MAX_HELD_BYTES = 24 * 1024 * 1024

type Make = (options: { identity?: string; join: readonly string[] }, directory: string) => Promise<Made>

async function harnessOf(make: Make): Promise<TransportHarness> {
  const directory = await mkdtemp(joinPath(tmpdir(), 'rollcall-'))
  const made = new Map<Transport, Made>()
  const nodeOf = (transport: Transport): Made['node'] => made.get(transport)!.node
  return {
    deadlineMs: 10_000,
    maxHeldBytes: MAX_HELD_BYTES,
    async create({ identity, join = [] }) {
      const one = await make({ join, ...(identity === undefined ? {} : { identity }) }, directory)
      made.set(one.transport, one)
      return one.transport
    },
    sever(a, b) {
      sever(nodeOf(a), nodeOf(b))
      return Promise.resolve()
    },
    destroy: (transport) => destroy(nodeOf(transport)),
    close: () => rm(directory, { recursive: true }),
  }
}

const line2: Make = ({ identity, join }, directory) =>
  makeLine2({ join, ...(identity === undefined ? {} : { identityFile: joinPath(directory, identity) }) })

transportContract('libp2p 2', () => harnessOf(line2))

transportContract('libp2p 3', () => {
  const keys = new Map<string, Awaited<ReturnType<typeof generateKeyPair3>>>()
  return harnessOf(async ({ identity, join }) => {
    const key =
      (identity === undefined ? undefined : keys.get(identity)) ?? (await generateKeyPair3('Ed25519'))
    if (identity !== undefined) keys.set(identity, key)
    return makeLine3({ join }, key)
  })
})

let turnOfLine = 0
transportContract('libp2p 2 and 3 in one cluster', () =>
  harnessOf(async ({ identity, join }, directory) => {
    turnOfLine += 1
    // An identity is bound to a line here, for each keeps its key in its own way.
    if (identity !== undefined || turnOfLine % 2 === 0) {
      return line2({ join, ...(identity === undefined ? {} : { identity }) }, directory)
    }
    return makeLine3({ join })
  }),
)
