import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  decodeState,
  encodeState,
  readState,
  removeLeftovers,
  STATE_LIMITS,
  writeState,
} from '../../src/transports/libp2p/state-file.ts'
import { turn, until } from './libp2p-harness.ts'
import { strangers } from './libp2p-state-peers.ts'

let folder = ''
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'rollcall-state-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))
const place = (name = 'state'): string => join(folder, name)

describe('the text', () => {
  test('says what it was given, one line a peer, and names version and cluster', async () => {
    const peers = await strangers(3, 2)
    const text = encodeState('blue', peers)
    expect(decodeState('blue', text)).toEqual(peers)
    expect(JSON.parse(text)).toMatchObject({ version: 1, cluster: 'blue' })
    expect(text.split('\n').filter((line) => line.includes('/tcp/'))).toHaveLength(3)
    expect(decodeState('blue', encodeState('blue', []))).toEqual([])
  })

  test('is bounded in peers, addresses and bytes, and what is in excess is what came last', async () => {
    const peers = await strangers(300, 20)
    const kept = decodeState('blue', encodeState('blue', peers))
    expect(kept).toHaveLength(STATE_LIMITS.peers)
    expect(kept).toEqual(
      peers.slice(0, 256).map(({ id, addresses }) => ({ id, addresses: addresses.slice(0, 8) })),
    )
    const wide = peers.map(({ id }) => ({
      id,
      addresses: Array.from({ length: 8 }, (_, n) => `/dns/${'ä'.repeat(280)}/tcp/${1 + n}`),
    }))
    const text = encodeState('blue', wide)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(STATE_LIMITS.bytes)
    expect((decodeState('blue', text) as unknown[]).length).toBeGreaterThan(20)
  })

  test('leaves out what peers may say of themselves and is no address', async () => {
    const [peer, ghost] = await strangers(2)
    const rubbish = ['', 'x', '/ip4/1.2.3.4/udp/1', '/ip4/1.2.3.4/tcp/0', '/ip4/999.1.1.1/tcp/1', 'mem:a']
    const told = [...rubbish, `/dns/${'a'.repeat(500)}/tcp/1`, peer!.addresses[0]!]
    const text = encodeState('blue', [
      { id: ghost!.id, addresses: rubbish },
      { id: 'no id', addresses: peer!.addresses },
      { id: peer!.id, addresses: told },
    ])
    expect(decodeState('blue', text)).toEqual([peer])
  })

  test('is refused whole when any of it is wrong', async () => {
    const [peer] = await strangers(1)
    const good = { version: 1, cluster: 'blue', peers: [peer] }
    const wrong: readonly (readonly [unknown, string])[] = [
      [null, 'is no state'],
      [[], 'has version null'],
      [{ ...good, version: 2 }, 'has version 2'],
      [{ ...good, version: '1' }, 'has version "1"'],
      [{ ...good, version: 'v'.repeat(100_000) }, 'has version "vvv'],
      [{ ...good, cluster: 'red' }, 'is of another cluster'],
      ...[
        undefined,
        {},
        [null],
        [{ ...peer, id: 7 }],
        [{ ...peer, id: 'x/../y' }],
        [{ ...peer, addresses: [] }],
        [{ ...peer, addresses: ['/ip4/127.0.0.1/tcp/99999'] }],
        [{ ...peer, addresses: Array(9).fill(peer!.addresses[0]) }],
        Array(257).fill(peer),
      ].map((peers) => [{ ...good, peers }, 'lists what are no peers'] as const),
    ]
    expect(decodeState('blue', JSON.stringify(good))).toEqual([peer])
    for (const [state, why] of wrong) expect(decodeState('blue', JSON.stringify(state))).toContain(why)
    for (let length = 0; length < JSON.stringify(good).length; length += 7) {
      expect(decodeState('blue', JSON.stringify(good).slice(0, length))).toBe('is not whole JSON')
    }
  })
})

describe('writing', () => {
  test('leaves one file, readable by its owner only', async () => {
    await writeState(place(), 'one')
    await writeState(place(), 'two')
    expect(await readdir(folder)).toEqual(['state'])
    expect(await readFile(place(), 'utf8')).toBe('two')
    expect((await stat(place())).mode & 0o777).toBe(0o600)
  })

  test('that fails leaves nothing behind and the old file as it was', async () => {
    await mkdir(join(place('folder'), 'inside'), { recursive: true })
    await expect(writeState(place('folder'), 'text')).rejects.toThrow()
    await expect(writeState(place('none/state'), 'text')).rejects.toThrow('ENOENT')
    expect(await readdir(folder)).toEqual(['folder'])
  })

  test('by many at once: the text of one of them, whole', async () => {
    const texts = await Promise.all(
      [1, 40, 80].map(async (count) => encodeState('blue', await strangers(count))),
    )
    await Promise.all(Array.from({ length: 30 }, (_, n) => writeState(place(), texts[n % 3]!)))
    expect(texts).toContain(await readFile(place(), 'utf8'))
    expect(await readdir(folder)).toEqual(['state'])
  })

  test('what a killed writer left is removed once no writer can still be at it', async () => {
    const leftovers = ['state.0123456789ab.tmp', 'state.ba9876543210.tmp']
    for (const name of [...leftovers, 'state.broken', 'other.0123456789ab.tmp'])
      await writeFile(place(name), '')
    const before = new Date(Date.now() - 61_000)
    for (const name of await readdir(folder)) {
      if (name !== leftovers[1]) await utimes(place(name), before, before)
    }
    await removeLeftovers(place())
    expect((await readdir(folder)).sort()).toEqual(
      ['other.0123456789ab.tmp', leftovers[1], 'state.broken'].sort(),
    )
  })

  test('kill -9 at any moment: whoever reads finds a whole file', { timeout: 60_000 }, async () => {
    const script = fileURLToPath(new URL('./libp2p-state-child.ts', import.meta.url))
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, ['--import', 'tsx', script, place(), '200'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      const exited = once(child, 'exit')
      setTimeout(() => child.kill('SIGKILL'), 100 + 37 * round)
      let reads = 0
      const expectWhole = async (): Promise<void> => {
        reads++
        const read = await readState(place(), 'rollcall')
        expect(read.kind === 'peers' && read.peers.length).toBeGreaterThanOrEqual(199)
      }
      await until('it is dead', async () => {
        await expectWhole()
        return child.signalCode !== null
      })
      await exited
      await turn(1)
      await expectWhole()
      expect(reads).toBeGreaterThan(10)
    }
  })
})
