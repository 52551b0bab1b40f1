import fc from 'fast-check'
import type { Beat, Frame, Write } from '../../src/core/frame.ts'
import type { Json } from '../../src/core/json.ts'

/** Well-formed names, now and then one that is special to JavaScript or to a decoder. */
export const name: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((text) => !/\p{Cc}/u.test(text)),
  },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', '\u{feff}bom', 'ä', '😀') },
)

/** As it comes out of a copy: no -0, no half of a surrogate pair. */
const meta: fc.Arbitrary<Json> = fc
  .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json)

interface Step {
  readonly gap: number
  readonly topic: string
  readonly key: string
  readonly meta: Json
  readonly remove: boolean
  readonly reason: string | undefined
}

const step: fc.Arbitrary<Step> = fc.record({
  gap: fc.integer({ min: 1, max: 5 }),
  topic: fc.oneof(fc.constantFrom('a', 'b'), name),
  key: name,
  meta,
  remove: fc.boolean(),
  reason: fc.option(name, { nil: undefined }),
})

/** A frame as an owner builds it: rising versions, one write per ref, removals only in a delta. */
export const frame: fc.Arbitrary<Frame<Json>> = fc
  .record({
    incarnation: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    from: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 ** 40 })),
    steps: fc.array(step, { maxLength: 12 }),
    tail: fc.nat(3),
  })
  .map(({ incarnation, from, steps, tail }) => {
    let version = from
    const writes = steps.map((step) => toWrite(step, from, (version += step.gap)))
    return { incarnation, from, to: version + (writes.length > 0 ? tail : 0), writes }
  })

/** The version that a gap leaves out is an older write's, so no other write here has it as its ref. */
function toWrite(
  { gap, topic, key, meta, remove, reason }: Step,
  from: number,
  version: number,
): Write<Json> {
  const ref = gap > 1 ? version - 1 : version
  if (remove && from > 0 && gap > 1) {
    return { kind: 'remove', version, ref, ...(reason === undefined ? {} : { reason }) }
  }
  return { kind: 'put', version, ref, topic, key, meta }
}

export const beat: fc.Arbitrary<Beat<Json>> = fc
  .record({
    frame,
    beat: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    promiseMs: fc.nat(86_400_000),
    left: fc.boolean(),
  })
  .map(({ frame, ...rest }) => ({ ...frame, ...rest }))

/** Some put, for frames made by hand. */
export const put = (version: number, over: Partial<Write<Json>> = {}): Write<Json> => ({
  kind: 'put',
  version,
  ref: version,
  topic: 'topic',
  key: `key${version}`,
  meta: {},
  ...over,
})

/** Legal bytes with some of them changed, cut or doubled. */
export const mutated = (legal: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc
    .record({
      bytes: legal,
      edits: fc.array(fc.record({ at: fc.nat(), to: fc.nat(255), cut: fc.boolean() }), {
        minLength: 1,
        maxLength: 4,
      }),
    })
    .map(({ bytes, edits }) => {
      let result = Uint8Array.from(bytes)
      for (const { at, to, cut } of edits) {
        if (result.length === 0) break
        if (cut) result = result.subarray(0, at % result.length)
        else result[at % result.length] = to
      }
      return result
    })
