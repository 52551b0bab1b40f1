import { mkdtemp, readFile, rm, stat, writeFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RollcallError } from '../../src/errors.ts'
import {
  advertisable,
  endpointOf,
  multiaddrOf,
  parseAddress,
  parseJoin,
} from '../../src/transports/libp2p/addresses.ts'
import { dialFailure, dialMessage } from '../../src/transports/libp2p/dial-outcome.ts'
import { libp2pTransport } from '../../src/transports/libp2p/index.ts'
import { MESH_DEFAULTS, resolveMeshOptions, resolveNodeOptions } from '../../src/transports/libp2p/options.ts'
import { PeerBook } from '../../src/transports/libp2p/peer-book.ts'
import { Reports } from '../../src/transports/libp2p/reports.ts'
import type { ConnectionLike } from '../../src/transports/libp2p/libp2p-like.ts'

const errorOf = (action: () => unknown): RollcallError => {
  try {
    action()
  } catch (error) {
    return error as RollcallError
  }
  throw new Error('nothing was thrown')
}

describe('options', () => {
  const resolve = (options: object) => () => {
    resolveMeshOptions(options)
    resolveNodeOptions(options)
  }

  test.each<[string, object]>([
    ['cluster', { cluster: '' }],
    ['cluster', { cluster: 'a/b' }],
    ['cluster', { cluster: 7 }],
    ['join', { join: 7 }],
    ['join', { join: ['127.0.0.1:1', 7] }],
    ['dialTimeoutMs', { dialTimeoutMs: 0 }],
    ['maxBackoffMs', { maxBackoffMs: Number.NaN }],
    ['memberGraceMs', { memberGraceMs: 2 ** 31 }],
    ['watchdogMs', { watchdogMs: 1.5 }],
    ['fullMeshNodes', { fullMeshNodes: 0 }],
    ['largeDegree', { largeDegree: 2 }],
    ['maxGossipBytes', { maxGossipBytes: 4 * 1024 * 1024 }],
    ['maxMessageBytes', { maxMessageBytes: '2 MiB' }],
    ['channelStallMs', { channelStallMs: Infinity }],
    ['identityFile', { identityFile: '' }],
    ['secret', { secret: 'short' }],
    ['allow', { allow: [7] }],
    ['expectedNodes', { expectedNodes: 0 }],
  ])('%s is checked: %j', (option, options) => {
    const error = errorOf(resolve(options))
    expect(error.code).toBe('ROLLCALL_INVALID_OPTION')
    expect(error.message).toContain(`option ${option} is `)
  })

  test('undefined means the default', () => {
    expect(resolveMeshOptions({ cluster: undefined } as object)).toEqual(resolveMeshOptions({}))
    expect(resolveMeshOptions({}).dialTimeoutMs).toBe(MESH_DEFAULTS.dialTimeoutMs)
  })

  test('a secret is never in the message', () => {
    expect(errorOf(resolve({ secret: 'hunter2' })).message).not.toContain('hunter2')
  })
})

describe('addresses', () => {
  test.each([
    ['127.0.0.1:7400', '/ip4/127.0.0.1/tcp/7400'],
    ['[::1]:7400', '/ip6/::1/tcp/7400'],
    ['node-1.example:7400', '/dns/node-1.example/tcp/7400'],
    ['0.0.0.0:0', '/ip4/0.0.0.0/tcp/0'],
    ['/ip4/10.0.0.1/tcp/1', '/ip4/10.0.0.1/tcp/1'],
  ])('%s', (text, address) => {
    expect(parseAddress(text)).toBe(address)
    expect(multiaddrOf(endpointOf(address)!)).toBe(address)
  })

  test.each([
    '',
    'host',
    'host:',
    ':1',
    'a:b:1',
    '::1:7400',
    '[10.0.0.1]:1',
    'host:65536',
    'host:-1',
    '/ip4/1.2.3.4',
    '/ip4/1.2.3.4/udp/1',
    '/nonsense',
    'a b:1',
  ])('not an address: %j', (text) => {
    const error = errorOf(() => parseAddress(text))
    expect(error.code).toBe('ROLLCALL_INVALID_ADDRESS')
    expect(error.message).toContain(JSON.stringify(text))
  })

  test('join: names, names of many, identities; never port 0', () => {
    expect(parseJoin('db:1')).toMatchObject({ host: 'db', port: 1, every: false, peer: undefined })
    expect(parseJoin('dns:db:1')).toMatchObject({ host: 'db', port: 1, every: true, text: 'dns:db:1' })
    const id = '12D3KooWGzBqRqpQ5fHfmdNcBuYcfJMyQVFCyhaRdGSTkYdXGxTm'
    expect(parseJoin(`/dns4/db/tcp/1/p2p/${id}`)).toMatchObject({ host: 'db', port: 1, peer: id })
    expect(errorOf(() => parseJoin('db:0')).code).toBe('ROLLCALL_INVALID_ADDRESS')
    expect(errorOf(() => parseJoin('dns:db')).code).toBe('ROLLCALL_INVALID_ADDRESS')
  })

  test('what is told to others is what they can use', () => {
    const [loopback, local, real] = [
      '/ip4/127.0.0.1/tcp/1',
      '/ip6/fe80::1/tcp/1',
      '/ip4/10.0.0.1/tcp/1',
    ] as const
    expect(advertisable([loopback, local, `${real}/p2p/x`, real])).toEqual([real])
    expect(advertisable([`${loopback}/p2p/x`])).toEqual([loopback])
  })

  test('listening on every interface is told as the addresses of the interfaces', async () => {
    const transport = await libp2pTransport({ listen: '0.0.0.0:0' })
    const nothing = (): boolean => true
    await transport.start({
      gossip: nothing,
      opened: nothing,
      connected: nothing,
      disconnected: nothing,
      refused: nothing,
      unreachable: nothing,
      mute: () => Promise.resolve(),
      problem: nothing,
    })
    expect(transport.addresses().length).toBeGreaterThan(0)
    for (const address of transport.addresses()) expect(address).not.toMatch(/0\.0\.0\.0|\/tcp\/0$|p2p/)
    await transport.stop()
    const advertised = await libp2pTransport({ advertise: 'node-1.example:7400' })
    expect(advertised.addresses()).toEqual(['/dns/node-1.example/tcp/7400'])
  })
})

describe('which refusals tell something', () => {
  const connection = (peer: string, address: string, direction: string): ConnectionLike =>
    ({ remotePeer: peer, remoteAddr: address, direction }) as unknown as ConnectionLike
  const at = (host: string, port = 1) => ({ host, port })

  test('of a peer never met: all addresses, loopback only on a host of its own', () => {
    const book = new PeerBook()
    book.learn('p', ['/ip4/10.0.0.1/tcp/1', '/ip4/127.0.0.1/tcp/1/p2p/p'])
    expect(book.telling('p', false)).toEqual([at('10.0.0.1')])
    expect(book.telling('p', true)).toEqual([at('10.0.0.1'), at('127.0.0.1')])
    expect(book.telling('stranger', true)).toEqual([])
  })

  test('of a peer that was met: only where it was found, or the host it came from', () => {
    const book = new PeerBook()
    book.learn('p', ['/ip4/172.17.0.2/tcp/1', '/ip4/10.0.0.1/tcp/1', '/dns/p.example/tcp/1'])
    // Behind NAT: none of its addresses is the one it came from.
    book.meet(connection('p', '/ip4/203.0.113.9/tcp/55555', 'inbound'))
    expect(book.telling('p', false)).toEqual([])
    book.meet(connection('p', '/ip4/10.0.0.1/tcp/44444', 'inbound'))
    expect(book.telling('p', false)).toEqual([at('10.0.0.1')])
    book.meet(connection('p', '/dns/p.example/tcp/1/p2p/p', 'outbound'))
    expect(book.telling('p', false)).toEqual([at('p.example'), at('10.0.0.1')])
  })

  test('an address that is no longer told does not count', () => {
    const book = new PeerBook()
    book.learn('p', ['/ip4/10.0.0.1/tcp/1'])
    book.meet(connection('p', '/ip4/10.0.0.1/tcp/1', 'outbound'))
    book.learn('p', ['/ip4/10.0.0.1/tcp/2'])
    expect(book.telling('p', false)).toEqual([at('10.0.0.1', 2)])
  })
})

describe('dial errors', () => {
  const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

  test.each([
    ['unreachable', coded('ECONNREFUSED')],
    ['unreachable', new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')])],
    ['unreachable', new Error('dial failed', { cause: coded('EHOSTUNREACH') })],
    ['unreachable', new DOMException('', 'TimeoutError')],
    ['refused', coded('ECONNRESET')],
    ['refused', new AggregateError([coded('ECONNREFUSED'), new Error('bad handshake')])],
    ['self', new Error('Can not dial self')],
    ['other-identity', Object.assign(new Error('x'), { name: 'UnexpectedPeerError' })],
    ['unreachable', undefined],
  ] as const)('%s: %s', (failure, error) => {
    expect(dialFailure(error)).toBe(failure)
  })

  test('say each thing once', () => {
    expect(dialMessage(new AggregateError([new Error('a'), new Error('b'), new Error('a')]))).toBe('a; b')
  })
})

describe('the identity file', () => {
  let directory: string
  beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), 'rollcall-'))))
  afterAll(() => rm(directory, { recursive: true }))

  const idOf = async (identityFile: string): Promise<string> => (await libp2pTransport({ identityFile })).id

  test('keeps the id, readable by its owner only', async () => {
    const file = join(directory, 'key')
    const id = await idOf(file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await idOf(file)).toBe(id)
    expect(await idOf(join(directory, 'other'))).not.toBe(id)
    expect(await readdir(directory)).toEqual(['key', 'other'])
  })

  test('made by many at once is one', async () => {
    const file = join(directory, 'race')
    const ids = await Promise.all(Array.from({ length: 8 }, () => idOf(file)))
    expect(new Set(ids).size).toBe(1)
  })

  test.each(['', '\n', 'not a key', 'AAAA', 'CAESQ'])(
    'broken (%j) is refused, never replaced',
    async (text) => {
      const file = join(directory, `broken-${Buffer.from(text).toString('hex')}`)
      await writeFile(file, text)
      await expect(idOf(file)).rejects.toMatchObject({ code: 'ROLLCALL_IDENTITY_FILE' })
      expect(await readFile(file, 'utf8')).toBe(text)
    },
  )

  test('in a place that is none', async () => {
    await expect(idOf(join(directory, 'no', 'key'))).rejects.toMatchObject({ code: 'ROLLCALL_IDENTITY_FILE' })
    await expect(idOf(directory)).rejects.toMatchObject({ code: 'ROLLCALL_IDENTITY_FILE' })
  })
})

test('reports say each thing once, until it changes or is over, and remember a bounded number', () => {
  const said: string[] = []
  const reports = new Reports((where, error) => said.push(`${where} ${error.code}`))
  reports.report('a', 'x', 'ROLLCALL_PEER_REFUSED', '1')
  reports.report('a', 'x', 'ROLLCALL_PEER_REFUSED', '2')
  expect(said).toHaveLength(1)
  reports.report('a', 'y', 'ROLLCALL_PEER_REFUSED', '3')
  reports.clear('a')
  reports.report('a', 'y', 'ROLLCALL_PEER_REFUSED', '4')
  expect(said).toHaveLength(3)
  for (let n = 0; n < 1_000; n += 1) reports.report(String(n), 'x', 'ROLLCALL_PEER_REFUSED', '')
  reports.report('a', 'y', 'ROLLCALL_PEER_REFUSED', '5')
  expect(said).toHaveLength(1_004)
})
