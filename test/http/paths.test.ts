import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { optionsIn, readQueryString } from '../../src/http/query-string.ts'
import { decodeParameter, Router } from '../../src/http/router.ts'
import { codeOf } from '../wire/codes.ts'

/** Any text that UTF-8 carries. */
const text = fc.string({ unit: 'binary' })

describe('a path', () => {
  const router = new Router({
    '/': 'root',
    '/v1/services': 'services',
    '/v1/services/:name': 'service',
    '/v1/services/:name/renew': 'renew',
  })

  test('brings any name through whole', () => {
    fc.assert(
      fc.property(text, (name) => {
        fc.pre(name !== '')
        for (const [path, target] of [
          [`/v1/services/${encodeURIComponent(name)}`, 'service'],
          [`/v1/services/${encodeURIComponent(name)}/renew`, 'renew'],
        ] as const) {
          const match = router.find(path)
          expect(match?.target).toBe(target)
          expect(decodeParameter(match?.parameter ?? '')).toBe(name)
        }
      }),
    )
  })

  test('of any text leads to what is there, or nowhere', () => {
    const forms: readonly (readonly [RegExp, string])[] = [
      [/^\/$/, 'root'],
      [/^\/v1\/services$/, 'services'],
      [/^\/v1\/services\/[^/]+$/, 'service'],
      [/^\/v1\/services\/[^/]+\/renew$/, 'renew'],
    ]
    const segment = fc.oneof(fc.constantFrom('', 'v1', 'services', 'renew', '__proto__'), text)
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 4 }), (segments) => {
        const path = ['', ...segments].join('/')
        expect(router.find(path)?.target).toBe(forms.find(([form]) => form.test(path))?.[1])
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a query', () => {
  const names = ['version', 'node', '__proto__', 'a b&=ü']

  test('is read as a browser writes it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), text), (given) => {
        const written = new URLSearchParams(Object.entries(given)).toString()
        expect([...readQueryString(written, names)]).toEqual(Object.entries(given))
      }),
    )
  })

  test('of any text is read as a browser reads it, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.stringMatching(/^[a-c=&+%0-9A-F]*$/)), (search) => {
        const read = (): unknown => Object.fromEntries(readQueryString(search, ['a', 'b', 'c']))
        const code = codeOf(read)
        if (code !== 'nothing') expect(code).toBe('ROLLCALL_INVALID_ARGUMENT')
        else expect(read()).toEqual(Object.fromEntries(new URLSearchParams(search)))
      }),
    )
  })

  test('gives the options that it has, and none where it has none', () => {
    const query = readQueryString('node=a&maxStaleMs=1.5&minZoneInstances=-2', [
      'node',
      'maxStaleMs',
      'minZoneInstances',
    ])
    expect(optionsIn(query, ['node', 'maxStaleMs', 'zone'])).toEqual({ node: 'a', maxStaleMs: 1.5 })
    expect(optionsIn(query, ['minZoneInstances'])).toEqual({ minZoneInstances: -2 })
    expect(optionsIn(query, ['zone'])).toBeUndefined()
  })
})
