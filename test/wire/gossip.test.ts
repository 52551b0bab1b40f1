import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Beat, Write } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'
import { Gossip } from '../../src/wire/generated/rollcall.ts'
import type { Put as WirePut, Write as WireWrite } from '../../src/wire/generated/rollcall.ts'
import { decodeGossip, encodeBeat, encodeHint } from '../../src/wire/gossip.ts'
import { decodeBeat } from './decode-beat.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { beat as anyBeat, mutated, name, put } from './arbitraries.ts'
import { codeOf } from './codes.ts'

const MAX = WIRE_LIMITS.maxFrameBytes

const beatOf = (writes: readonly Write<Json>[], over: Partial<Beat<Json>> = {}): Beat<Json> => ({
  incarnation: 1,
  beat: 1,
  promiseMs: 15_000,
  from: 0,
  to: writes.at(-1)?.version ?? 0,
  left: false,
  writes,
  ...over,
})

const encoded = (beat: Beat<Json>): Uint8Array => encodeBeat(beat, Infinity)!
const decode = (bytes: Uint8Array): Beat<Json> => decodeBeat(bytes, WIRE_LIMITS)
const code = (beat: Beat<Json>): string => codeOf(() => decode(encoded(beat)))

/** A beat below the domain types: writes as a peer may send them. */
function raw(writes: readonly WireWrite[], over: Partial<Beat<Json>> = {}): Uint8Array {
  return Gossip.encode({
    kind: { $case: 'beat', value: { ...beatOf([]), to: 100, ...over, writes } },
  }).finish()
}

const rawPut = (version: number, over: Partial<WirePut> = {}, ref = 0): WireWrite => ({
  version,
  ref,
  change: { $case: 'put', value: { topic: 't', key: `k${version}`, meta: '{}', ...over } },
})

const rawRemove = (version: number, ref: number, reason = ''): WireWrite => ({
  version,
  ref,
  change: { $case: 'remove', value: { reason } },
})

const rawCode = (...args: Parameters<typeof raw>): string => codeOf(() => decode(raw(...args)))

describe('round trip', () => {
  test('every legal beat comes back as it was', () => {
    fc.assert(
      fc.property(anyBeat, (beat) => {
        expect(decode(encoded(beat))).toStrictEqual(beat)
      }),
    )
  })

  test('a heartbeat takes less than 32 bytes', () => {
    const heartbeat = beatOf([], { incarnation: Date.now(), beat: 1_000_000, from: 70_000, to: 70_000 })
    expect(encoded(heartbeat).length).toBeLessThan(32)
    expect(decode(encoded(heartbeat))).toStrictEqual(heartbeat)
  })

  test('a topic that repeats is sent once and shared', () => {
    const topic = 'x'.repeat(100)
    const writes = [1, 2, 3, 4].map((version) => put(version, { topic }))
    expect(encoded(beatOf(writes)).length).toBeLessThan(200)
    expect(decode(encoded(beatOf(writes))).writes).toStrictEqual(writes)
  })

  test('a promise with a fraction is rounded up', () => {
    expect(decode(encoded(beatOf([], { promiseMs: 1.2 }))).promiseMs).toBe(2)
  })

  test('C44: __proto__ is an ordinary topic, key and metadata key', () => {
    const meta = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}') as Json
    const [write] = decode(encoded(beatOf([put(1, { topic: '__proto__', key: 'constructor', meta })]))).writes
    expect(write).toMatchObject({ topic: '__proto__', key: 'constructor' })
    const decoded = (write as { meta: object }).meta
    expect(Object.keys(decoded)).toEqual(['__proto__', 'constructor'])
    expect(JSON.stringify(decoded)).toBe(JSON.stringify(meta))
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  test('a decoded meta is frozen all the way down', () => {
    const meta = JSON.parse('{"list":[{"deep":{}}],"__proto__":{"own":[]}}') as Json
    const [write] = decode(encoded(beatOf([put(1, { meta })]))).writes
    const unfrozen: unknown[] = []
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) unfrozen.push(value)
      Object.values(value).forEach(visit)
    }
    visit((write as { meta: unknown }).meta)
    expect(unfrozen).toEqual([])
  })
})

describe('size', () => {
  test('a beat is encoded up to exactly maxBytes, else undefined', () => {
    const beat = beatOf([put(1, { meta: 'ä'.repeat(500) }), put(2)])
    const { length } = encoded(beat)
    expect(encodeBeat(beat, length)).toHaveLength(length)
    expect(encodeBeat(beat, length - 1)).toBeUndefined()
  })

  test('of a beat far above maxBytes only the beginning is looked at', () => {
    let looked = 0
    const writes = Array.from({ length: 20_000 }, (_, index) => {
      const write = { kind: 'put', version: index + 1, ref: index + 1, topic: 't', key: 'k' } as const
      return Object.defineProperty({ ...write, meta: null as Json }, 'meta', {
        get: () => {
          looked++
          return 'x'.repeat(150)
        },
      })
    })
    expect(encodeBeat(beatOf(writes), MAX)).toBeUndefined()
    expect(looked).toBeLessThan(MAX / 150 + 2)
  })

  test('bytes above the limit are refused before they are read', () => {
    expect(codeOf(() => decode(new Uint8Array(MAX + 1)))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(codeOf(() => decode(new Uint8Array(MAX)))).not.toBe('ROLLCALL_FRAME_LIMIT')
  })

  test('C73: a length of 4 GiB, half a frame and garbage are refused at once', () => {
    expect(codeOf(() => decode(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)))).toBe(
      'ROLLCALL_FRAME_INVALID',
    )
    // The same inside the beat: a write, and in the write a string.
    expect(codeOf(() => decode(Uint8Array.of(0x0a, 6, 0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f)))).toBe(
      'ROLLCALL_FRAME_INVALID',
    )
    const whole = encoded(beatOf([put(1)]))
    expect(codeOf(() => decode(whole.subarray(0, whole.length - 1)))).toBe('ROLLCALL_FRAME_INVALID')
    expect(codeOf(() => decode(new TextEncoder().encode('GET / HTTP/1.1\r\n\r\n')))).toBe(
      'ROLLCALL_FRAME_INVALID',
    )
  })

  test('endless nesting of unknown groups ends', () => {
    expect(codeOf(() => decode(new Uint8Array(MAX).fill(0x7b)))).toBe('ROLLCALL_FRAME_INVALID')
  })
})

describe('a hint', () => {
  const hintCode = (node: string, incarnation: number): string =>
    codeOf(() => decodeGossip(encodeHint({ node, incarnation }), WIRE_LIMITS))

  test('comes out as it went in', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (node, incarnation) => {
        const hint = decodeGossip(encodeHint({ node, incarnation }), WIRE_LIMITS)
        expect(hint).toStrictEqual({ kind: 'hint', node, incarnation })
      }),
    )
  })

  test('that names no node, or no life of one, is refused', () => {
    expect(hintCode('a', 1)).toBe('nothing')
    expect(hintCode('', 1)).toBe('ROLLCALL_FRAME_INVALID')
    expect(hintCode('a', 0)).toBe('ROLLCALL_FRAME_INVALID')
    expect(hintCode('a'.repeat(WIRE_LIMITS.maxOwnerBytes + 1), 1)).toBe('ROLLCALL_FRAME_LIMIT')
  })
})

describe('what a later protocol may send', () => {
  test('C74: an unknown kind of message or of write is named as such', () => {
    expect(codeOf(() => decode(new Uint8Array()))).toBe('ROLLCALL_MESSAGE_UNKNOWN')
    expect(codeOf(() => decode(Uint8Array.of(0x1a, 1, 7)))).toBe('ROLLCALL_MESSAGE_UNKNOWN')
    expect(rawCode([{ version: 1, ref: 0, change: undefined }])).toBe('ROLLCALL_MESSAGE_UNKNOWN')
  })

  test('C74: unknown fields are ignored at every level', () => {
    const heartbeat = beatOf([])
    const inner = encoded(heartbeat).subarray(2)
    const extra = [0x72, 2, 1, 2, 0x80, 0x01, 5]
    const bytes = Uint8Array.of(0x0a, inner.length + extra.length, ...inner, ...extra, 0x7a, 1, 9)
    expect(decode(bytes)).toStrictEqual(heartbeat)
  })
})

describe('rules', () => {
  test('numbers', () => {
    expect(code(beatOf([], { incarnation: 0 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(beatOf([], { beat: 0 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(beatOf([], { incarnation: Number.MAX_SAFE_INTEGER }))).toBe('nothing')
    expect(code(beatOf([], { promiseMs: WIRE_LIMITS.maxPromiseMs }))).toBe('nothing')
    expect(code(beatOf([], { promiseMs: WIRE_LIMITS.maxPromiseMs + 1 }))).toBe('ROLLCALL_FRAME_LIMIT')
    // 2^53 as the incarnation.
    const unsafe = [0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x10, 1]
    expect(codeOf(() => decode(Uint8Array.of(0x0a, unsafe.length, ...unsafe)))).toBe('ROLLCALL_FRAME_INVALID')
  })

  test('the range and the versions in it', () => {
    expect(rawCode([], { from: 2, to: 1 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(5)], { from: 5, to: 5 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(6)], { from: 5, to: 6 })).toBe('nothing')
    expect(rawCode([rawPut(5)], { from: 5, to: 6 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(7)], { from: 5, to: 6 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(0)])).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(2), rawPut(2, {}, 1)])).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(3), rawPut(2)])).toBe('ROLLCALL_FRAME_INVALID')
  })

  test('refs', () => {
    expect(rawCode([rawPut(3, {}, 3)])).toBe('nothing')
    expect(rawCode([rawPut(3, {}, 4)])).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(3), rawPut(4, {}, 3)])).toBe('ROLLCALL_FRAME_INVALID')
  })

  test('removals', () => {
    expect(rawCode([rawRemove(5, 3)], { from: 1 })).toBe('nothing')
    expect(rawCode([rawRemove(5, 3, 'x'.repeat(64))], { from: 1 })).toBe('nothing')
    expect(rawCode([rawRemove(5, 3, 'x'.repeat(65))], { from: 1 })).toBe('ROLLCALL_FRAME_LIMIT')
    expect(rawCode([rawRemove(5, 3, '\n')], { from: 1 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawRemove(5, 3)], { from: 0 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawRemove(5, 5)], { from: 1 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawRemove(5, 0)], { from: 1 })).toBe('ROLLCALL_FRAME_INVALID')
    expect(rawCode([rawPut(4, {}, 3), rawRemove(5, 3)], { from: 1 })).toBe('ROLLCALL_FRAME_INVALID')
  })

  test('names', () => {
    for (const field of ['topic', 'key'] as const) {
      expect(rawCode([rawPut(1, { [field]: '' })])).toBe('ROLLCALL_FRAME_INVALID')
      expect(rawCode([rawPut(1, { [field]: 'a\u0000' })])).toBe('ROLLCALL_FRAME_INVALID')
      expect(rawCode([rawPut(1, { [field]: 'ä'.repeat(128) })])).toBe('nothing')
      expect(rawCode([rawPut(1, { [field]: 'ä'.repeat(128) + 'a' })])).toBe('ROLLCALL_FRAME_LIMIT')
    }
    // The second put takes the topic of the first.
    expect(rawCode([rawPut(1), rawPut(2, { topic: '' })])).toBe('nothing')
  })

  test('broken UTF-8 is refused, not replaced', () => {
    for (const text of ['key', 'a key that is too long for the fast path']) {
      const bytes = raw([rawPut(1, { key: text })])
      bytes[Buffer.from(bytes).indexOf(text) + 1] = 0xff
      expect(codeOf(() => decode(bytes))).toBe('ROLLCALL_FRAME_INVALID')
    }
  })

  test('metas', () => {
    const metaCode = (meta: string): string => rawCode([rawPut(1, { meta })])
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(metaCode('')).toBe('ROLLCALL_FRAME_INVALID')
    expect(metaCode('{"a":}')).toBe('ROLLCALL_FRAME_INVALID')
    expect(metaCode('"\\ud800"')).toBe('ROLLCALL_FRAME_INVALID')
    expect(metaCode('1e999')).toBe('ROLLCALL_FRAME_INVALID')
    expect(metaCode('1'.padStart(WIRE_LIMITS.maxMetaBytes))).toBe('nothing')
    expect(metaCode('1'.padStart(WIRE_LIMITS.maxMetaBytes + 1))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(metaCode('9'.repeat(309))).toBe('ROLLCALL_FRAME_INVALID')
    expect(metaCode(nested(WIRE_LIMITS.maxMetaDepth))).toBe('nothing')
    expect(metaCode(nested(WIRE_LIMITS.maxMetaDepth + 1))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(metaCode(nested(8_000))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(metaCode(JSON.stringify('x'.repeat(WIRE_LIMITS.maxMetaBytes - 2)))).toBe('nothing')
    expect(metaCode(JSON.stringify('x'.repeat(WIRE_LIMITS.maxMetaBytes - 1)))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(metaCode(JSON.stringify('ä'.repeat(WIRE_LIMITS.maxMetaBytes / 2)))).toBe('ROLLCALL_FRAME_LIMIT')
  })

  test('-0 becomes the 0 that a relay would write', () => {
    const [write] = decode(raw([rawPut(1, { meta: '[-0, -0.0]' })])).writes
    expect(write).toMatchObject({ meta: [0, 0] })
  })

  test('a meta that a relay would write longer than the limit is refused', () => {
    const numbers = (count: number): string => `[${Array(count).fill('1e20').join()}]`
    expect(rawCode([rawPut(1, { meta: numbers(700) })])).toBe('nothing')
    expect(rawCode([rawPut(1, { meta: numbers(800) })])).toBe('ROLLCALL_FRAME_LIMIT')
  })

  test('what is believed can be sent on', () => {
    const text = fc.string({
      unit: fc.constantFrom('1', 'e', '-', '0', '.', '"', '\\u', 'd800', '[', ']', ','),
    })
    fc.assert(
      fc.property(fc.oneof(fc.json(), text), (meta) => {
        let beat: Beat<Json>
        try {
          beat = decode(raw([rawPut(1, { meta })]))
        } catch {
          return
        }
        expect(decode(encoded(beat))).toStrictEqual(beat)
      }),
    )
  })
})

describe('any bytes', () => {
  const codes = ['nothing', 'ROLLCALL_FRAME_INVALID', 'ROLLCALL_FRAME_LIMIT', 'ROLLCALL_MESSAGE_UNKNOWN']

  test('random ones give a beat or one of three codes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(codes).toContain(codeOf(() => decode(bytes)))
      }),
      { numRuns: 500 },
    )
  })

  test('mutated ones give a legal beat or one of three codes', () => {
    fc.assert(
      fc.property(mutated(anyBeat.map(encoded)), (bytes) => {
        expect(codes).toContain(codeOf(() => expect(code(decode(bytes))).toBe('nothing')))
      }),
      { numRuns: 1_000 },
    )
  })
})
