/** A rotation of 32 bits to the left. */
const rotate = (x: number, by: number): number => (x << by) | (x >>> (32 - by))

/** The last step of MurmurHash3: every bit of the input changes every bit of the output with even chance. */
export function mix(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

const scramble = (block: number): number => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593)

/**
 * 32 bits of a text, the same in every process: MurmurHash3_x86_32 by Austin Appleby, in the public domain
 * (https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp), over the text in UTF-16LE. Not for secrets.
 */
export function hashText(text: string, seed: number): number {
  const { length } = text
  let h = seed
  let at = 0
  for (; at + 1 < length; at += 2) {
    const block = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
    h = Math.imul(rotate(h ^ scramble(block), 13), 5) + 0xe6546b64
  }
  if (at < length) h ^= scramble(text.charCodeAt(at))
  return mix(h ^ (length * 2))
}
