import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Frame } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { ChunkAssembler } from '../../src/wire/chunk-assembler.ts'
import type { AssembledFrame } from '../../src/wire/chunk-assembler.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import type { WireLimits } from '../../src/wire/limits.ts'
import { encodeChunks, encodeHeads, encodeWants } from '../../src/wire/split.ts'
import { decodeSyncMessage } from '../../src/wire/sync-message.ts'
import type { ChunkMessage, HeadInfo, SyncMessage } from '../../src/wire/sync-message.ts'
import { frame as anyFrame, name, put } from './arbitraries.ts'
import { codeOf } from './codes.ts'

const decode = (bytes: Uint8Array): SyncMessage => decodeSyncMessage(bytes, WIRE_LIMITS)

const frameOf = (count: number, meta: Json = 'x'.repeat(100)): Frame<Json> => ({
  incarnation: 7,
  from: 0,
  to: count,
  writes: Array.from({ length: count }, (_, index) => put(index + 1, { meta })),
})

function assembleAll(messages: Iterable<Uint8Array>): AssembledFrame[] {
  const assembler = new ChunkAssembler(WIRE_LIMITS)
  const frames: AssembledFrame[] = []
  for (const bytes of messages) {
    const frame = assembler.add(decode(bytes) as ChunkMessage, bytes.length)
    expect(assembler.isPending).toBe(frame === undefined)
    if (frame !== undefined) frames.push(frame)
  }
  return frames
}

const chunk = (over: Partial<ChunkMessage> = {}): ChunkMessage => ({
  kind: 'chunk',
  owner: 'a',
  incarnation: 1,
  from: 0,
  to: 10,
  writes: [put(1)],
  last: false,
  ...over,
})

test('any frame, cut anywhere, comes together as it was', () => {
  fc.assert(
    fc.property(name, anyFrame, fc.integer({ min: 1, max: 600 }), (owner, frame, maxBytes) => {
      expect(assembleAll(encodeChunks(owner, frame, maxBytes))).toStrictEqual([{ owner, frame }])
    }),
  )
})

test('frames of several owners follow each other in one stream', () => {
  const messages = ['a', 'b'].flatMap((owner) => [...encodeChunks(owner, frameOf(20), 500)])
  expect(messages.length).toBeGreaterThan(6)
  expect(assembleAll(messages)).toEqual(['a', 'b'].map((owner) => ({ owner, frame: frameOf(20) })))
})

test('chunks are near maxBytes, never above unless one write is', () => {
  const sizes = Array.from(
    encodeChunks('owner', frameOf(1_000, 'ä'.repeat(100)), 10_000),
    ({ length }) => length,
  )
  expect(Math.max(...sizes)).toBeLessThanOrEqual(10_000)
  expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(7_000)

  const large = Array.from(encodeChunks('owner', frameOf(3, 'x'.repeat(600)), 1_000), ({ length }) => length)
  expect(Math.max(...large)).toBeLessThanOrEqual(1_000)

  const big = Array.from(encodeChunks('owner', frameOf(3, 'x'.repeat(5_000)), 1_000), ({ length }) => length)
  expect(big).toHaveLength(3)
})

test('only the last chunk is flagged, and there is always one', () => {
  const flags = (frame: Frame<Json>): boolean[] =>
    Array.from(encodeChunks('a', frame, 500), (bytes) => (decode(bytes) as ChunkMessage).last)
  expect(flags(frameOf(0))).toEqual([true])
  const many = flags(frameOf(20))
  expect(many.indexOf(true)).toBe(many.length - 1)
})

test('chunks are made one at a time', () => {
  let looked = 0
  const writes = frameOf(1_000).writes.map((write) =>
    Object.defineProperty({ ...write }, 'meta', {
      get: () => {
        looked++
        return 'x'.repeat(100)
      },
    }),
  )
  const chunks = encodeChunks('a', { ...frameOf(1_000), writes }, 2_000)[Symbol.iterator]()
  chunks.next()
  expect(looked).toBeLessThan(30)
})

test('lists of heads and wants are cut below maxBytes and complete', () => {
  const owners = Array.from({ length: 500 }, (_, index) => `12D3KooW${index}`)
  const heads = owners.map((owner): HeadInfo => {
    return {
      owner,
      incarnation: Date.now(),
      version: 2 ** 50,
      beat: 2 ** 50,
      promiseMs: 5,
      silentMs: 2 ** 50,
    }
  })
  const wants = owners.map((owner) => ({ owner, incarnation: 1, version: 2 }))
  const left = owners.map((owner) => ({ owner, incarnation: 3 }))

  const headBytes = [...encodeHeads(heads, 4_000)]
  const wantBytes = [...encodeWants(wants, left, 4_000)]
  for (const messages of [headBytes, wantBytes]) {
    expect(messages.length).toBeGreaterThan(4)
    expect(messages.length).toBeLessThan(40)
    expect(Math.max(...messages.map(({ length }) => length))).toBeLessThanOrEqual(4_000)
    const more = messages.map((bytes) => (decode(bytes) as { more: boolean }).more)
    expect(more.indexOf(false)).toBe(more.length - 1)
  }
  const all = [...headBytes, ...wantBytes].map(decode)
  expect(all.flatMap((message) => (message.kind === 'heads' ? message.heads : []))).toEqual(heads)
  expect(all.flatMap((message) => (message.kind === 'wants' ? message.wants : []))).toEqual(wants)
  expect(all.flatMap((message) => (message.kind === 'wants' ? message.left : []))).toEqual(left)
})

test('an empty list is one message', () => {
  expect(Array.from(encodeHeads([], 1_000), decode)).toEqual([{ kind: 'heads', heads: [], more: false }])
  expect(Array.from(encodeWants([], [], 1_000), decode)).toEqual([
    { kind: 'wants', wants: [], left: [], more: false },
  ])
})

test('chunks that do not belong together are refused', () => {
  for (const over of [{ owner: 'b' }, { incarnation: 2 }, { from: 1 }, { to: 11 }]) {
    const assembler = new ChunkAssembler(WIRE_LIMITS)
    assembler.add(chunk(), 1)
    const next = chunk({ writes: [put(2)], ...over })
    expect(codeOf(() => assembler.add(next, 1))).toBe('ROLLCALL_FRAME_INVALID')
    // Nothing is left of the broken frame.
    expect(assembler.add(chunk({ last: true }), 1)?.frame.writes).toEqual([put(1)])
  }
})

test('versions rise and refs do not repeat across chunks', () => {
  const second = (write: Parameters<typeof put>): string => {
    const assembler = new ChunkAssembler(WIRE_LIMITS)
    assembler.add(chunk({ writes: [put(2), put(4)] }), 1)
    return codeOf(() => assembler.add(chunk({ writes: [put(...write)] }), 1))
  }
  expect(second([5, {}])).toBe('nothing')
  expect(second([4, { ref: 1 }])).toBe('ROLLCALL_FRAME_INVALID')
  expect(second([3, {}])).toBe('ROLLCALL_FRAME_INVALID')
  expect(second([5, { ref: 2 }])).toBe('ROLLCALL_FRAME_INVALID')
})

test('an empty chunk that is not the last is refused, so a row of them ends', () => {
  const assembler = new ChunkAssembler(WIRE_LIMITS)
  expect(codeOf(() => assembler.add(chunk({ writes: [] }), 1))).toBe('ROLLCALL_FRAME_INVALID')
  assembler.add(chunk(), 1)
  expect(assembler.add(chunk({ writes: [], last: true }), 1)?.frame.writes).toEqual([put(1)])
})

test('a frame is bounded in writes and bytes over all its chunks', () => {
  const limits: WireLimits = { ...WIRE_LIMITS, maxFrameWrites: 3, maxAssembledBytes: 100 }
  const writes = new ChunkAssembler(limits)
  writes.add(chunk({ writes: [put(1), put(2)] }), 1)
  expect(codeOf(() => writes.add(chunk({ writes: [put(3), put(4)] }), 1))).toBe('ROLLCALL_FRAME_LIMIT')
  const bytes = new ChunkAssembler(limits)
  bytes.add(chunk({ writes: [put(1)] }), 60)
  expect(codeOf(() => bytes.add(chunk({ writes: [put(2)] }), 60))).toBe('ROLLCALL_FRAME_LIMIT')
  // Another frame begins at nought.
  bytes.add(chunk({ last: true }), 60)
  expect(codeOf(() => bytes.add(chunk(), 60))).toBe('nothing')
})
