import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createRegistry, type CreateRegistryOptions } from '../../src/create.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { libp2pTransport } from '../../src/transports/libp2p/index.ts'
import { encodeState, type KnownPeer } from '../../src/transports/libp2p/state-file.ts'
import {
  destroy,
  generateKeyPair3,
  makeLine2,
  makeLine3,
  nodeOfLine3,
  Recorder,
  turn,
  until,
  type Made,
} from './libp2p-harness.ts'
import { spawnNode } from './libp2p-process.ts'
import { strangers } from './libp2p-state-peers.ts'
import { fromLibp2p } from '../../src/transports/libp2p/index.ts'

const cleanups: (() => Promise<unknown>)[] = []
let folder = ''
let stateFile = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-state-'))
  stateFile = join(folder, 'state.json')
})
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
  await rm(folder, { recursive: true, force: true })
})

interface Running extends Made {
  readonly events: Recorder
}

async function start(made: Made): Promise<Running> {
  const events = new Recorder()
  cleanups.push(() => made.transport.stop())
  await made.transport.start(events)
  return { ...made, events }
}

async function open(options: CreateRegistryOptions): Promise<Registry> {
  const registry = await createRegistry(options)
  cleanups.push(() => registry.close())
  return registry
}

const kept = async (): Promise<readonly KnownPeer[]> =>
  (JSON.parse(await readFile(stateFile, 'utf8')) as { peers: KnownPeer[] }).peers

const idsUp = (registry: Registry): string[] =>
  registry
    .nodes()
    .filter(({ status, self }) => status === 'up' && !self)
    .map(({ id }) => id)

const meet = (a: Made, b: Made): Promise<void> =>
  until('they meet', () =>
    [a, b].every(({ transport }) =>
      transport.neighbours().some((id) => [a, b].some((each) => each.transport.id === id)),
    ),
  )

describe('a node that restarts while no seed lives', () => {
  test('finds those that it met by the seed, and the file holds no secret', async () => {
    const secret = 'correct horse battery staple'
    const seed = await open({ secret })
    const join = seed.addresses
    const other = await open({ secret, join })
    const first = await open({ secret, join, stateFile, identityFile: `${folder}/key` })
    await until('all see all', () => [seed, other, first].every((node) => idsUp(node).length === 2))
    await seed.close()
    await first.close()
    expect((await kept()).map(({ id }) => id)).toContain(other.tracker.id)
    const again = await open({ secret, join, stateFile, identityFile: `${folder}/key` })
    await until('it is back', () => idsUp(again).includes(other.tracker.id))
    await until('and is seen', () => idsUp(other).includes(again.tracker.id))
    await again.close()
    const text = await readFile(stateFile, 'utf8')
    const key = await readFile(`${folder}/key`, 'utf8')
    expect(text).not.toContain(secret)
    expect(text).not.toContain(key.trim().slice(0, 20))
  })

  test('without any seed given, killed before it could say goodbye', async () => {
    const seed = await open({})
    const other = await open({ join: seed.addresses })
    const options = { stateFile, join: seed.addresses }
    const first = await makeLine2(options)
    const running = await start(first)
    await until('it meets the seed', () => running.transport.neighbours().includes(seed.tracker.id))
    running.transport.learn(other.tracker.id, other.addresses)
    await until('it meets the other', () => running.transport.neighbours().includes(other.tracker.id))
    await until('it is kept', async () => {
      const peers = await kept().catch(() => [])
      return peers.some(({ id }) => id === other.tracker.id)
    })
    await destroy(first.node)
    await seed.close()
    const again = await open({ stateFile })
    await until('it is back', () => idsUp(again).includes(other.tracker.id))
  })

  test('finds who lives in the place of a node now', async () => {
    const other = await start(await makeLine2())
    const [listen] = other.transport.addresses()
    const first = await start(await makeLine2({ stateFile, join: listen! }))
    await meet(first, other)
    await first.transport.stop()
    await other.transport.stop()
    const successor = await start(await makeLine2({ listen: listen! }))
    expect(successor.transport.id).not.toBe(other.transport.id)
    const again = await start(await makeLine2({ stateFile }))
    await meet(again, successor)
    expect(again.events.codes()).toEqual([])
    await again.transport.stop()
    expect(await kept()).toEqual([{ id: successor.transport.id, addresses: [listen] }])
  })

  test('libp2p 3, brought by the caller', async () => {
    const key = await generateKeyPair3('Ed25519')
    const other = await start(await makeLine2())
    const first = await start(await makeLine3({ stateFile, join: other.transport.addresses() }, key))
    await meet(first, other)
    await first.transport.stop()
    const again = await start(await makeLine3({ stateFile }, key))
    await meet(again, other)
  })

  test('two nodes share a file: the last that writes wins, and either finds the others by it', async () => {
    const other = await start(await makeLine2())
    const options = { stateFile, join: other.transport.addresses() }
    const both = [await start(await makeLine2(options)), await start(await makeLine2(options))]
    for (const each of both) await meet(each, other)
    await Promise.all(both.map(({ transport }) => transport.stop()))
    expect((await kept()).map(({ id }) => id)).toContain(other.transport.id)
    expect(await readdir(folder)).toEqual(['state.json'])
    await meet(await start(await makeLine2({ stateFile })), other)
  })
})

describe('a file that cannot be used is set aside, said once, and harms nobody', () => {
  const bad: readonly (readonly [string, string, () => Promise<string> | string])[] = [
    ['empty', 'is not whole JSON', () => ''],
    ['rubbish', 'is not whole JSON', () => '\u0000\u0001 rubbish'],
    ['truncated', 'is not whole JSON', async () => encodeState('rollcall', await strangers(3)).slice(0, -9)],
    ['of another cluster', 'another cluster', async () => encodeState('red', await strangers(3))],
    ['of a later version', 'has version 2', () => '{"version":2,"cluster":"rollcall","nodes":[]}'],
    ['too large', 'has 300000 bytes', () => ' '.repeat(300_000)],
    ['no list of peers', 'no peers', () => '{"version":1,"cluster":"rollcall","peers":[{"id":"x"}]}'],
  ]

  async function expectSetAside(why: string): Promise<void> {
    const other = await start(await makeLine2())
    const node = await start(await makeLine2({ stateFile, join: other.transport.addresses() }))
    await meet(node, other)
    await until('it is said', () => node.events.problems.length > 0)
    expect(node.events.problems).toHaveLength(1)
    const [problem] = node.events.problems
    expect(problem).toMatchObject({ where: stateFile, error: { code: 'ROLLCALL_STATE_FILE' } })
    expect(problem!.error.message).toContain(why)
    await node.transport.stop()
  }

  test.each(bad)('%s', async (_kind, why, make) => {
    const text = await make()
    await writeFile(stateFile, text)
    await expectSetAside(why)
    expect(await readFile(`${stateFile}.broken`, 'utf8')).toBe(text)
    expect(await kept()).toHaveLength(1)
  })

  test('a link that leads nowhere but to itself', async () => {
    await symlink(stateFile, stateFile)
    await expectSetAside('cannot be read')
    expect(await kept()).toHaveLength(1)
  })

  test('one that cannot be set aside is left as it is', async () => {
    await writeFile(stateFile, 'precious')
    await mkdir(join(`${stateFile}.broken`, 'in the way'), { recursive: true })
    await expectSetAside('it cannot be set aside')
    expect(await readFile(stateFile, 'utf8')).toBe('precious')
  })

  test('a folder that is not there', async () => {
    stateFile = join(folder, 'none', 'state.json')
    await expectSetAside('cannot be written')
  })
})

test('who listens once the registry is there is told of a bad file', async () => {
  await writeFile(stateFile, 'rubbish')
  const registry = await open({ stateFile })
  const problems: string[] = []
  registry.tracker.on('problem', (where, { code }) => problems.push(`${where} ${code}`))
  await until('it is said', () => problems.length > 0)
  expect(problems).toEqual([`${stateFile} ROLLCALL_STATE_FILE`])
})

test('a start that fails leaves the file as it was', async () => {
  const text = encodeState('rollcall', await strangers(3))
  await writeFile(stateFile, text)
  const other = await start(await makeLine2())
  const node = await makeLine2({ stateFile, listen: other.transport.addresses() })
  await expect(node.transport.start(new Recorder())).rejects.toMatchObject({ code: 'ROLLCALL_START_FAILED' })
  await node.transport.stop()
  expect(await readFile(stateFile, 'utf8')).toBe(text)
})

test('a node that meets nobody new does not write', async () => {
  const other = await start(await makeLine2())
  const first = await start(await makeLine2({ stateFile, join: other.transport.addresses() }))
  await meet(first, other)
  await first.transport.stop()
  const before = await stat(stateFile)
  const again = await start(await makeLine2({ stateFile }))
  await meet(again, other)
  await turn(1_200)
  await again.transport.stop()
  const after = await stat(stateFile)
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs])
})

test('a link to the file stays one', async () => {
  const target = join(folder, 'volume.json')
  await writeFile(target, encodeState('rollcall', []))
  await symlink(target, stateFile)
  const other = await start(await makeLine2())
  const node = await start(await makeLine2({ stateFile, join: other.transport.addresses() }))
  await meet(node, other)
  await node.transport.stop()
  expect(await readFile(target, 'utf8')).toContain(other.transport.id)
  expect(await readFile(stateFile, 'utf8')).toContain(other.transport.id)
})

test('nothing of it keeps a process that has stopped, whatever it still wanted to dial or write', async () => {
  await writeFile(stateFile, encodeState('rollcall', await strangers(20)))
  const other = await spawnNode()
  const node = await spawnNode({ stateFile, join: other.addresses })
  cleanups.push(
    () => other.end(),
    () => node.end(),
  )
  await until('it has met the other', async () => (await kept()).some(({ id }) => id === other.id))
  const exited = once(node.process, 'exit')
  node.process.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

describe('the caller’s faults', () => {
  const refused = {
    code: 'ROLLCALL_INVALID_OPTION',
    message: expect.stringContaining('option stateFile') as string,
  }

  test.each([[''], [7], [null], [{}], ['a\0b'], ['state/'], [tmpdir()], ['/dev/null']])(
    '%j',
    async (value) => {
      const options = { stateFile: value as string }
      await expect(libp2pTransport(options)).rejects.toMatchObject(refused)
      await expect(createRegistry(options)).rejects.toMatchObject(refused)
      await expect(fromLibp2p(await nodeOfLine3(), options)).rejects.toMatchObject(refused)
    },
  )

  test('the identity file, which a write would replace', async () => {
    const identityFile = join(folder, 'key')
    const options = { identityFile, stateFile: join(folder, 'x', '..', 'key') }
    await expect(libp2pTransport(options)).rejects.toMatchObject(refused)
    expect(await readdir(folder)).toEqual([])
  })
})
