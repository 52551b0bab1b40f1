import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLonger, isWellFormed, nameFault, utf8Length } from '../../src/core/name.ts'

const text = fc.string({ unit: 'binary' })
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units))

test('utf8Length is the length of the encoded text', () => {
  fc.assert(
    fc.property(text, fc.nat(50), (text, max) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text))
      expect(isLonger(text, max)).toBe(Buffer.byteLength(text) > max)
    }),
  )
})

test('a text is well-formed when encoding keeps it', () => {
  const surrogates = fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', 'a') })
  fc.assert(
    fc.property(fc.oneof(anyText, surrogates), (text) => {
      expect(isWellFormed(text)).toBe(Buffer.from(text).toString() === text)
    }),
  )
})

test('a name has no fault exactly when it is a well-formed text of legal length without control characters', () => {
  fc.assert(
    fc.property(fc.oneof(text, anyText), (text) => {
      const hasControl = Array.from(text).some((character) => {
        const code = character.codePointAt(0)!
        return code < 0x20 || (code >= 0x7f && code < 0xa0)
      })
      const isLegal =
        text !== '' && !hasControl && Buffer.from(text).toString() === text && Buffer.byteLength(text) <= 12
      expect(nameFault(text, 12) === undefined).toBe(isLegal)
    }),
  )
})
