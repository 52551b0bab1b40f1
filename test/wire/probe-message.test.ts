import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProbeMessage as Wire } from '../../src/wire/generated/rollcall.ts'
import { decodeProbeMessage, encodeProbeMessage, type ProbeMessage } from '../../src/wire/probe-message.ts'
import { mutated } from './arbitraries.ts'
import { codeOf } from './codes.ts'

const message: fc.Arbitrary<ProbeMessage> = fc.record<ProbeMessage>(
  { kind: fc.constantFrom('ping', 'pong'), number: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) },
  { noNullPrototype: true },
)

test('what is encoded is decoded', () => {
  fc.assert(
    fc.property(message, (said) => {
      expect(decodeProbeMessage(encodeProbeMessage(said))).toStrictEqual(said)
    }),
  )
})

test('a number that is none, a kind of a later protocol, and too many bytes are told apart', () => {
  const zero = Wire.encode({ kind: { $case: 'ping', value: 0 } }).finish()
  expect(codeOf(() => decodeProbeMessage(zero))).toBe('ROLLCALL_FRAME_INVALID')
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
