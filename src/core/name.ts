// Cc: control characters. Cs: halves of a surrogate pair that stand alone, which UTF-8 cannot carry.
const FORBIDDEN = /[\p{Cc}\p{Cs}]/u
const LONE_SURROGATE = /\p{Cs}/u

/** Whether UTF-8 carries the text unchanged: no half of a surrogate pair stands alone. */
export const isWellFormed = (text: string): boolean => !LONE_SURROGATE.test(text)

/** Bytes of a well-formed text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // Either half of a surrogate pair counts 2, together the 4 bytes of their character.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}

/** Whether a text takes more than `maxBytes` in UTF-8. */
export const isLonger = (text: string, maxBytes: number): boolean =>
  // A UTF-16 unit takes 1 to 3 bytes, so most texts need no counting.
  text.length > maxBytes || (text.length * 3 > maxBytes && utf8Length(text) > maxBytes)

/**
 * What is wrong with a name (of a topic, key, service or node), as a rule it breaks; undefined when nothing is.
 *
 * A name is any non-empty, well-formed Unicode string without control characters, of at most `maxBytes` in
 * UTF-8. So `__proto__` is an ordinary name: keep names in a `Map`.
 */
export function nameFault(value: unknown, maxBytes: number): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  if (value === '') return 'must not be empty'
  if (isLonger(value, maxBytes)) return `must be at most ${maxBytes} bytes long`
  if (FORBIDDEN.test(value)) return 'must be well-formed Unicode without control characters'
  return undefined
}
