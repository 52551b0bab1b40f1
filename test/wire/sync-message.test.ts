import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SyncMessage as Wire } from '../../src/wire/generated/rollcall.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { decodeSyncMessage, encodeSyncMessage } from '../../src/wire/sync-message.ts'
import type { HeadInfo, SyncMessage, Want } from '../../src/wire/sync-message.ts'
import { frame, mutated, name, put } from './arbitraries.ts'
import { codeOf } from './codes.ts'

const decode = (bytes: Uint8Array): SyncMessage => decodeSyncMessage(bytes, WIRE_LIMITS)
const code = (message: SyncMessage): string => codeOf(() => decode(encodeSyncMessage(message)))

/** Plain objects, as `toStrictEqual` compares prototypes too. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true })

const count = (min: number): fc.Arbitrary<number> => fc.integer({ min, max: Number.MAX_SAFE_INTEGER })
const head = record({
  owner: name,
  incarnation: count(1),
  version: count(0),
  beat: count(0),
  promiseMs: fc.nat(WIRE_LIMITS.maxPromiseMs),
  silentMs: count(0),
})
const want = fc.oneof(
  record({ owner: name, incarnation: count(1), version: count(0) }),
  record({ owner: name, incarnation: fc.constant(0), version: fc.constant(0) }),
)
const left = record({ owner: name, incarnation: count(1) })
const message: fc.Arbitrary<SyncMessage> = fc.oneof(
  record({ kind: fc.constant('heads' as const), heads: fc.array(head), more: fc.boolean() }),
  record({
    kind: fc.constant('wants' as const),
    wants: fc.array(want),
    left: fc.array(left),
    more: fc.boolean(),
  }),
  record({ owner: name, frame, last: fc.boolean() }).map(({ owner, frame, last }) => ({
    kind: 'chunk' as const,
    owner,
    ...frame,
    last,
  })),
  fc.constant({ kind: 'done' as const }),
)

const HEAD: HeadInfo = { owner: 'a', incarnation: 1, version: 0, beat: 0, promiseMs: 0, silentMs: 0 }
const heads = (over: Partial<HeadInfo>): SyncMessage => ({
  kind: 'heads',
  heads: [{ ...HEAD, ...over }],
  more: false,
})
const wants = (over: Partial<Want>): SyncMessage => ({
  kind: 'wants',
  wants: [{ owner: 'a', incarnation: 1, version: 1, ...over }],
  left: [],
  more: false,
})

test('every legal message comes back as it was', () => {
  fc.assert(
    fc.property(message, (message) => {
      expect(decode(encodeSyncMessage(message))).toStrictEqual(message)
    }),
  )
})

test('times with a fraction are rounded up, so nobody seems heard later than it was', () => {
  expect(decode(encodeSyncMessage(heads({ promiseMs: 0.5, silentMs: 1_000.01 })))).toEqual(
    heads({ promiseMs: 1, silentMs: 1_001 }),
  )
})

test('bytes above the limit are refused before they are read', () => {
  expect(codeOf(() => decode(new Uint8Array(WIRE_LIMITS.maxChunkBytes + 1)))).toBe('ROLLCALL_FRAME_LIMIT')
  expect(codeOf(() => decode(new Uint8Array(WIRE_LIMITS.maxChunkBytes)))).toBe('ROLLCALL_FRAME_INVALID')
})

test('C74: an unknown kind is named as such', () => {
  expect(codeOf(() => decode(new Uint8Array()))).toBe('ROLLCALL_MESSAGE_UNKNOWN')
  expect(codeOf(() => decode(Uint8Array.of(0x7a, 0)))).toBe('ROLLCALL_MESSAGE_UNKNOWN')
})

test('C73: a length of 4 GiB is refused at once', () => {
  for (const tag of [0x0a, 0x12, 0x1a, 0x22]) {
    expect(codeOf(() => decode(Uint8Array.of(tag, 0xff, 0xff, 0xff, 0xff, 0x0f)))).toBe(
      'ROLLCALL_FRAME_INVALID',
    )
  }
})

describe('rules', () => {
  test('heads', () => {
    expect(code(heads({}))).toBe('nothing')
    expect(code(heads({ owner: '' }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(heads({ owner: 'a\n' }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(heads({ owner: 'a'.repeat(128) }))).toBe('nothing')
    expect(code(heads({ owner: 'a'.repeat(129) }))).toBe('ROLLCALL_FRAME_LIMIT')
    expect(code(heads({ incarnation: 0 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(heads({ promiseMs: WIRE_LIMITS.maxPromiseMs + 1 }))).toBe('ROLLCALL_FRAME_LIMIT')
  })

  test('wants and what left', () => {
    expect(code(wants({ incarnation: 0, version: 0 }))).toBe('nothing')
    expect(code(wants({ incarnation: 0, version: 1 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(wants({ owner: '' }))).toBe('ROLLCALL_FRAME_INVALID')
    const gone = (owner: string, incarnation: number): SyncMessage => ({
      kind: 'wants',
      wants: [],
      left: [{ owner, incarnation }],
      more: false,
    })
    expect(code(gone('a', 1))).toBe('nothing')
    expect(code(gone('a', 0))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(gone('', 1))).toBe('ROLLCALL_FRAME_INVALID')
  })

  test('chunks', () => {
    const chunk = (over: object): SyncMessage => ({
      kind: 'chunk',
      owner: 'a',
      incarnation: 1,
      from: 0,
      to: 2,
      writes: [put(1), put(2)],
      last: true,
      ...over,
    })
    expect(code(chunk({}))).toBe('nothing')
    expect(code(chunk({ owner: '' }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ incarnation: 0 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ from: 2, writes: [] }))).toBe('nothing')
    expect(code(chunk({ from: 3, writes: [] }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ to: 1 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ from: 1 }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ writes: [{ kind: 'remove', version: 2, ref: 1 }] }))).toBe('ROLLCALL_FRAME_INVALID')
    expect(code(chunk({ writes: [put(1, { key: '' })] }))).toBe('ROLLCALL_FRAME_INVALID')
  })
})

describe('any bytes', () => {
  const codes = ['nothing', 'ROLLCALL_FRAME_INVALID', 'ROLLCALL_FRAME_LIMIT', 'ROLLCALL_MESSAGE_UNKNOWN']

  test('random ones give a message or one of three codes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(codes).toContain(codeOf(() => decode(bytes)))
      }),
      { numRuns: 500 },
    )
  })

  test('mutated ones give a legal message or one of three codes', () => {
    fc.assert(
      fc.property(mutated(message.map(encodeSyncMessage)), (bytes) => {
        expect(codes).toContain(codeOf(() => expect(code(decode(bytes))).toBe('nothing')))
      }),
      { numRuns: 1_000 },
    )
  })

  test('a megabyte of empty writes costs no more than a moment', () => {
    const bytes = Wire.encode({
      kind: {
        $case: 'chunk',
        value: {
          owner: 'a',
          incarnation: 1,
          from: 0,
          to: 1,
          writes: Array.from({ length: 500_000 }, () => ({ version: 0, ref: 0, change: undefined })),
          last: false,
        },
      },
    }).finish()
    const begin = performance.now()
    expect(codeOf(() => decode(bytes))).toBe('ROLLCALL_FRAME_INVALID')
    expect(performance.now() - begin).toBeLessThan(2_000)
  })
})
