import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProbeMessage as Wire } from '../../src/wire/generated/rollcall.ts'
import { decodeProbeMessage, encodeProbeMessage, type ProbeMessage } from '../../src/wire/probe-message.ts'
import { mutated, name } from './arbitraries.ts'
import { codeOf } from './codes.ts'

const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const message: fc.Arbitrary<ProbeMessage> = fc.oneof(
  fc.record({ kind: fc.constantFrom('ping' as const, 'pong' as const), number }, { noNullPrototype: true }),
  fc.record({ kind: fc.constant('ask' as const), number, node: name }, { noNullPrototype: true }),
  fc.record({ kind: fc.constant('told' as const), number, alive: fc.boolean() }, { noNullPrototype: true }),
)

test('what is encoded is decoded', () => {
  fc.assert(
    fc.property(message, (said) => {
      expect(decodeProbeMessage(encodeProbeMessage(said))).toStrictEqual(said)
    }),
  )
})

test('a number or a node that is none, a kind of a later protocol, and too many bytes are told apart', () => {
  const zero = Wire.encode({ kind: { $case: 'ping', value: 0 } }).finish()
  expect(codeOf(() => decodeProbeMessage(zero))).toBe('ROLLCALL_FRAME_INVALID')
  const nobody = Wire.encode({ kind: { $case: 'ask', value: { number: 1, node: '' } } }).finish()
  expect(codeOf(() => decodeProbeMessage(nobody))).toBe('ROLLCALL_FRAME_INVALID')
  expect(codeOf(() => decodeProbeMessage(Uint8Array.of(0x7a, 0)))).toBe('ROLLCALL_MESSAGE_UNKNOWN')
  expect(codeOf(() => decodeProbeMessage(new Uint8Array(1_025)))).toBe('ROLLCALL_FRAME_LIMIT')
})

test('mutated bytes give a legal message or one of three codes', () => {
  const codes = ['nothing', 'ROLLCALL_FRAME_INVALID', 'ROLLCALL_FRAME_LIMIT', 'ROLLCALL_MESSAGE_UNKNOWN']
  fc.assert(
    fc.property(mutated(message.map(encodeProbeMessage)), (bytes) => {
      expect(codes).toContain(codeOf(() => decodeProbeMessage(bytes)))
    }),
    { numRuns: 1_000 },
  )
})
