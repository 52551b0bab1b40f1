import fc from 'fast-check'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { RollcallError } from '../../src/errors.ts'
import { checkName, copyMeta } from '../../src/tracker/meta.ts'
import { WIRE_LIMITS } from '../../src/wire/limits.ts'
import { codeOf } from '../wire/codes.ts'

const MAX = 16 * 1024

function errorOf(meta: unknown, maxBytes = MAX): { code: string; message: string } {
  try {
    copyMeta(meta, maxBytes)
  } catch (error) {
    if (error instanceof RollcallError) return { code: error.code, message: error.message }
    throw error
  }
  return { code: 'nothing', message: '' }
}

class Point {
  readonly x = 1
}

const cyclic = (): unknown => {
  const a: Record<string, unknown> = {}
  a['b'] = [a]
  return a
}

describe('C72: what is legal travels unchanged', () => {
  test('whatever JSON gives comes back equal, private and frozen', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const meta: unknown = JSON.parse(JSON.stringify(value))
        const copy = copyMeta(meta, Infinity)
        expect(JSON.stringify(copy)).toBe(JSON.stringify(meta))
        const check = (copied: unknown, original: unknown): void => {
          if (typeof copied !== 'object' || copied === null) return
          expect(copied).not.toBe(original)
          expect(Object.isFrozen(copied)).toBe(true)
          for (const key of Object.keys(copied)) {
            check(Reflect.get(copied, key), Reflect.get(original as object, key))
          }
        }
        check(copy, meta)
      }),
    )
  })

  test.each([
    ['512 B', 'x'.repeat(510)],
    ['16 KiB', 'x'.repeat(MAX - 2)],
    ['16 KiB of two-byte characters', 'ä'.repeat(MAX / 2 - 1)],
  ])('%s', (_size, text) => {
    expect(copyMeta(text, MAX)).toBe(text)
  })

  test('10,000 keys, where the limit allows them', () => {
    const meta = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, index]))
    expect(copyMeta(meta, 1024 * 1024)).toEqual(meta)
    expect(errorOf(meta).code).toBe('ROLLCALL_LIMIT_EXCEEDED')
  })

  test('objects of another realm and without a prototype', () => {
    expect(copyMeta(runInNewContext('({ a: [{ b: 1 }] })'), MAX)).toStrictEqual({ a: [{ b: 1 }] })
    expect(copyMeta(Object.assign(Object.create(null) as object, { a: 1 }), MAX)).toStrictEqual({ a: 1 })
  })

  test('-0 is taken as the 0 that JSON makes of it', () => {
    expect(copyMeta([-0], MAX)).toStrictEqual([0])
  })

  test('one object in two places is no cycle', () => {
    const shared = { a: 1 }
    expect(copyMeta([shared, shared], MAX)).toEqual([shared, shared])
  })

  test('a change at the caller does not show', () => {
    const meta = { list: [1] }
    const copy = copyMeta(meta, MAX)
    meta.list.push(2)
    expect(copy).toEqual({ list: [1] })
  })
})

describe('C72: what JSON would not carry is refused, with the place and the kind', () => {
  const at = (value: unknown): unknown => ({ a: { 'b c': [0, value] } })

  test.each([
    ['undefined', undefined, 'undefined'],
    ['a bigint', 1n, 'a bigint'],
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('s'), 'a symbol'],
    ['NaN', NaN, 'NaN'],
    ['Infinity', -Infinity, '-Infinity'],
    ['a Date', new Date(), 'an instance of Date'],
    ['a Map', new Map(), 'an instance of Map'],
    ['a class instance', new Point(), 'an instance of Point'],
    ['a boxed string', Object('x'), 'an instance of String'],
    ['bytes', Uint8Array.of(1), 'an instance of Uint8Array'],
    ['a sparse array', Object.assign([], { length: 3 }), 'an array with holes'],
    ['an array with a name', Object.assign([1], { name: 1 }), 'an array with holes or named properties'],
    ['a symbol key', { [Symbol('s')]: 1 }, 'an object with a symbol as a key'],
    ['half a surrogate pair', 'a\ud800', 'a string with half a surrogate pair'],
  ])('%s', (_title, value, kind) => {
    expect(errorOf(value).message).toContain(`meta is ${kind}`)
    const { code, message } = errorOf(at(value))
    expect(code).toBe('ROLLCALL_INVALID_META')
    expect(message).toContain(`meta.a["b c"][1] is ${kind}`)
  })

  test('a key with half a surrogate pair', () => {
    expect(errorOf({ 'a\udc00': 1 })).toMatchObject({
      code: 'ROLLCALL_INVALID_META',
      message: expect.stringContaining('meta["a\\udc00"] is a key') as string,
    })
  })

  test('a cycle', () => {
    const { code, message } = errorOf(cyclic())
    expect(code).toBe('ROLLCALL_INVALID_META')
    expect(message).toContain('meta.b[0] is an object within itself')
  })
})

describe('C72: limits', () => {
  test('size: the limit is named', () => {
    const { code, message } = errorOf({ a: 'ä'.repeat(MAX / 2) })
    expect(code).toBe('ROLLCALL_LIMIT_EXCEEDED')
    expect(message).toBe(`meta is ${MAX + 8} bytes of JSON, the limit is ${MAX}`)
  })

  test('1 MiB ends the copy on the way, at a place that is named', () => {
    const { code, message } = errorOf({ a: ['x'.repeat(1024 * 1024)], b: undefined })
    expect(code).toBe('ROLLCALL_LIMIT_EXCEEDED')
    expect(message).toBe(`meta is longer than ${MAX} bytes of JSON, passed at meta.a[0]`)
  })

  test('depth', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(errorOf(nested(WIRE_LIMITS.maxMetaDepth)).code).toBe('nothing')
    const { code, message } = errorOf(nested(WIRE_LIMITS.maxMetaDepth + 1))
    expect(code).toBe('ROLLCALL_LIMIT_EXCEEDED')
    expect(message).toContain('nested deeper than 64 levels')
    expect(errorOf(nested(5_000)).code).toBe('ROLLCALL_LIMIT_EXCEEDED')
  })

  test('a bomb of shared objects ends', () => {
    let bomb: unknown = 'x'
    for (let depth = 0; depth < 60; depth++) bomb = [bomb, bomb]
    expect(errorOf(bomb).code).toBe('ROLLCALL_LIMIT_EXCEEDED')
  })

  test.each(['[]', '{}', '[0]', '{"a":0}', '[[],[0,{"a":""}]]', '"x"', 'true', 'false', 'null', '7'])(
    'the size of %s is counted exactly',
    (text) => {
      expect(errorOf(JSON.parse(text), text.length).code).toBe('nothing')
      expect(errorOf(JSON.parse(text), text.length - 1).code).toBe('ROLLCALL_LIMIT_EXCEEDED')
    },
  )

  test('exactly what is above maxBytes of JSON is refused', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
        fc.integer({ min: -1, max: 1 }),
        (meta, more) => {
          const bytes = Buffer.byteLength(JSON.stringify(meta))
          expect(errorOf(meta, bytes + more).code).toBe(more < 0 ? 'ROLLCALL_LIMIT_EXCEEDED' : 'nothing')
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

test('C44: __proto__ and its like are ordinary keys', () => {
  const meta: unknown = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":2},"toString":3}')
  const copy = copyMeta(meta, MAX)
  expect(JSON.stringify(copy)).toBe(JSON.stringify(meta))
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  expect('polluted' in {}).toBe(false)
  expect('polluted' in (copy as object)).toBe(false)
})

describe('checkName', () => {
  const code = (value: unknown): string => codeOf(() => checkName('topic', value, 16))

  test('C44: any well-formed text without control characters is a name', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'a b', 'ä', '😀😀😀😀', ' ', '\u2028']) {
      expect(code(name)).toBe('nothing')
    }
  })

  test('what is no name is refused', () => {
    for (const value of [
      '',
      'a\n',
      '\u0000',
      '\u007f',
      '\u0085',
      '\ud800',
      'a\udc00b',
      1,
      null,
      undefined,
      {},
      ['a'],
    ]) {
      expect(code(value)).toBe('ROLLCALL_INVALID_ARGUMENT')
    }
  })

  test('the limit counts bytes of UTF-8, and is named', () => {
    expect(code('x'.repeat(16))).toBe('nothing')
    expect(code('ä'.repeat(8))).toBe('nothing')
    for (const name of [
      'x'.repeat(17),
      'ä'.repeat(8) + 'x',
      '€'.repeat(6),
      '😀😀😀😀x',
      'x'.repeat(1_000_000),
    ]) {
      expect(code(name)).toBe('ROLLCALL_LIMIT_EXCEEDED')
    }
    expect(() => checkName('topic', 'x'.repeat(1_000_000), 16)).toThrow(
      'topic must be at most 16 bytes long, not one of 1000000 bytes',
    )
    expect(() => checkName('key', 7, 16)).toThrow('key must be a string, not a value of type number')
  })
})
