import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createRegistry, type CreateRegistryOptions } from '../../src/create.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { libp2pTransport } from '../../src/transports/libp2p/index.ts'
import { encodeState } from '../../src/transports/libp2p/state-file.ts'
import { Recorder, turn, until } from './libp2p-harness.ts'
import { strangers } from './libp2p-state-peers.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function open(options: CreateRegistryOptions = {}): Promise<Registry> {
  const registry = await createRegistry({ probePeriodMs: 100, ...options })
  cleanups.push(() => registry.close())
  return registry
}

/** A port of loopback that refuses. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `127.0.0.1:${port}`
}

test('of two nodes: heads, who is near, probes and syncs', async () => {
  const a = await open({ name: 'a', flush: 'eager' })
  const b = await open({ name: 'b', flush: 'eager', join: a.addresses })
  const of = (node: Registry, other: Registry) =>
    node.diagnostics().nodes.find(({ id }) => id === other.tracker.id)
  await until('they meet', () => of(a, b)?.status === 'up' && of(b, a)?.status === 'up')
  a.register({ name: 's', version: '1.0.0' })
  const { incarnation, version } = a.diagnostics().self
  await until('b has it', () => of(b, a)?.head?.version === version)
  expect(of(b, a)).toMatchObject({
    name: 'a',
    head: { incarnation, version },
    behind: false,
    neighbour: true,
    // In the sync that began when they connected.
    holdsOfUs: { head: null },
  })
  const tallies = () => [of(a, b)!.probes!, of(b, a)!.probes!]
  await until('probes are answered', () => tallies().some(({ roundTripMs }) => roundTripMs !== null))
  await until('many are', () => tallies().reduce((sum, { asked }) => sum + asked, 0) > 5)
  for (const { roundTripMs } of tallies()) if (roundTripMs !== null) expect(roundTripMs).toBeLessThan(1_000)
  const [left, right] = [a.diagnostics().syncs, b.diagnostics().syncs]
  expect(left.connect.begun + right.connect.begun).toBe(left.answered.begun + right.answered.begun)
  expect(
    left.connect.frames + right.connect.frames + left.answered.frames + right.answered.frames,
  ).toBeGreaterThan(0)
  expect(a.diagnostics()).toMatchObject({ dials: [], rejected: {}, syncFailures: [], closed: false })
  expect(a.diagnostics().lateTicks.worstMs).toBeGreaterThanOrEqual(a.diagnostics().lateTicks.lastMs)
})

test('a dead seed and a dead peer of the state file show their back-off, and are gone when they answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-'))
  cleanups.push(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'state')
  const [lost] = await strangers(1)
  await writeFile(stateFile, encodeState('rollcall', [lost!]))
  const seed = await deadAddress()
  const node = await open({ join: seed, stateFile, maxBackoffMs: 2_000 })
  const dialOf = (where: string) => node.diagnostics().dials.find((each) => each.where === where)
  await until('both were tried', () => [seed, lost!.id].every((where) => (dialOf(where)?.failures ?? 0) >= 2))
  expect(node.diagnostics().dials).toHaveLength(2)
  for (const where of [seed, lost!.id]) {
    expect(dialOf(where)!.lastFailure).toMatch(/^unreachable: .*ECONNREFUSED/)
    expect(dialOf(where)!.nextInMs ?? 0).toBeLessThanOrEqual(2_000)
  }
  const failures = dialOf(seed)!.failures
  await until('it is tried again', () => dialOf(seed)!.failures > failures)
  await open({ listen: seed })
  await until('it is found', () => dialOf(seed) === undefined)
})

test('a node that was known and died is dialled, and shown with its failures', async () => {
  const a = await open({ maxBackoffMs: 1_000 })
  const transport = await libp2pTransport({ join: a.addresses })
  const b = await createRegistry({ transport, name: 'b' })
  await until('they meet', () => a.diagnostics().nodes.some(({ status }) => status === 'up'))
  const { id } = b.tracker
  // As kill -9: no goodbye.
  await transport.stop()
  await until('it is dialled', () =>
    a.diagnostics().dials.some(({ where, failures }) => where === id && failures >= 2),
  )
  expect(a.diagnostics().nodes).toMatchObject([
    { id, status: 'down', reason: 'refused', neighbour: false, probes: null },
  ])
  await b.close()
})

test('what a peer sends that is no frame is counted by its code', async () => {
  const a = await open()
  const transport = await libp2pTransport({ join: a.addresses })
  cleanups.push(() => transport.stop())
  await transport.start(new Recorder())
  const { id } = a.tracker
  await until('they meet', () => transport.neighbours().includes(id))
  const never = new AbortController().signal
  for (let n = 1; n <= 2; n++) {
    const channel = await transport.open(id, 'sync', never)
    await channel.send(Uint8Array.of(0xff))
    await until('it is counted', () => a.diagnostics().rejected.ROLLCALL_FRAME_INVALID === n)
    channel.abort(new Error('over'))
  }
  await until('gossip is counted as well', async () => {
    await transport.publish(Uint8Array.of(0xff))
    await turn(50)
    return (a.diagnostics().rejected.ROLLCALL_FRAME_INVALID ?? 0) > 2
  })
})
