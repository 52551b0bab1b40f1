import fc from 'fast-check'
import { Range, satisfies } from 'semver'
import { describe, expect, test } from 'vitest'
import { Requirements } from '../../src/registry/requirement.ts'
import type { PrereleasePolicy } from '../../src/registry/types.ts'
import { parseVersion } from '../../src/registry/version.ts'

const requirements = new Requirements('semver')

function matches(version: string, requirement: string, prerelease: PrereleasePolicy = 'include'): boolean {
  return requirements.compile(requirement, prerelease).matches(parseVersion(version)!)
}

const number = fc.constantFrom(0, 1, 2, 3, 10)
const prerelease = fc.constantFrom('', '', '', '-0', '-1', '-rc.1', '-rc.2', '-alpha', '-rc.1.x', '-10')
const build = fc.constantFrom('', '', '', '+b1', '+b2.x')
const version = fc
  .tuple(number, number, number, prerelease, build)
  .map(([major, minor, patch, pre, meta]) => `${major}.${minor}.${patch}${pre}${meta}`)
const partial = fc.oneof(
  version,
  fc.tuple(number, number).map(([major, minor]) => `${major}.${minor}`),
  fc.tuple(number, fc.constantFrom('', '.x', '.*', '.x.x')).map(([major, rest]) => `${major}${rest}`),
  fc.tuple(number, number).map(([major, minor]) => `${major}.${minor}.x`),
  fc.constant('*'),
)
const space = fc.constantFrom('', ' ')
const comparator = fc
  .tuple(fc.constantFrom('', '=', '<', '<=', '>', '>=', '^', '~', '^', '~'), space, partial)
  .map(([operator, gap, operand]) => operator + gap + operand)
const terms = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(comparator, { minLength: 1, maxLength: 3 }).map((list) => list.join(' ')),
  },
  { weight: 1, arbitrary: fc.tuple(partial, partial).map(([low, high]) => `${low} - ${high}`) },
)
const range = fc
  .array(terms, { minLength: 1, maxLength: 3 })
  .map((list) => list.join(' || '))
  // A version alone is not npm's to read here.
  .filter((text) => parseVersion(text.trim()) === undefined)

describe('npm ranges', () => {
  test('C70: 100,000 random versions and ranges, both policies, equal to node-semver', () => {
    let matched = 0
    fc.assert(
      fc.property(version, range, fc.boolean(), (v, r, includePrerelease) => {
        let expected: boolean | 'unreadable' = 'unreadable'
        try {
          new Range(r)
          expected = satisfies(v, r, { includePrerelease })
        } catch {
          // `Range` throws for what is no range.
        }
        let actual: boolean | 'unreadable'
        try {
          actual = matches(v, r, includePrerelease ? 'include' : 'exclude')
        } catch (error) {
          expect(error).toMatchObject({ code: 'ROLLCALL_INVALID_REQUIREMENT' })
          actual = 'unreadable'
        }
        if (actual === true) matched++
        expect(actual).toBe(expected)
      }),
      { numRuns: 100_000 },
    )
    // So that the test cannot pass by never matching anything.
    expect(matched).toBeGreaterThan(10_000)
  }, 120_000)

  test.each([
    ['2.1.7', '2.1', true],
    ['2.0.0', '2.1', false],
    ['2.2.0', '2.1', false],
    ['2.9.9', '2', true],
    ['2.1.0', 'v2.1.0', true],
    ['2.1.1', 'v2.1.0', false],
    ['2.1.0+b', '=2.1.0', true],
    ['3.0.0-rc.1', '^2.1.0', false],
    ['3.0.0-rc.1', '<3', false],
    ['3.0.0-rc.1', '<3.0.0', true],
    ['1.0.0-rc.1', '*', true],
    ['1.0.0-rc.1', '', true],
    ['2.1.0', '2.0.0 || 2.1.0', true],
    ['2.1.1', '2.0.0 || 2.1.0', false],
    ['2.3.9', '2.1.0 - 2.3', true],
  ])('%s meets %j: %s', (v, r, expected) => expect(matches(v, r)).toBe(expected))
})

describe('Elixir requirements', () => {
  // Elixir's documentation of `Version`, and of `Version.match?` with its default `allow_pre: true`.
  test.each([
    ['2.0.0', '== 2.0.0', true],
    ['2.0.1', '== 2.0.0', false],
    ['2.0.0+build', '== 2.0.0', true],
    ['2.0.0', '== 2.0.0+other', true],
    ['2.1.0', '==2.1.0', true],
    ['2.0.0', '!= 2.0.0', false],
    ['2.0.1', '!=2.0.0', true],
    ['2.0.0', '> 1.0.0', true],
    ['2.0.0', '> 2.0.0', false],
    ['2.0.0', '>= 2.0.0', true],
    ['2.0.0-rc.1', '>= 2.0.0', false],
    ['2.0.0-rc.1', '>= 2.0.0-0', true],
    ['2.0.0', '< 2.0.0', false],
    ['2.0.0-rc.1', '< 2.0.0', true],
    ['2.0.0', '<= 2.0.0', true],
    ['2.1.0', '~> 2.0', true],
    ['2.0.0', '~> 2.0', true],
    ['3.0.0', '~> 2.0', false],
    ['1.9.9', '~> 2.0', false],
    ['2.0.5', '~> 2.0.0', true],
    ['2.1.0', '~> 2.0.0', false],
    ['2.1.3', '~> 2.1.2', true],
    ['2.1.1', '~> 2.1.2', false],
    ['2.2.0', '~> 2.1.2', false],
    ['2.9.0', '~> 2.1', true],
    ['2.0.9', '~> 2.1', false],
    ['2.1.6-dev', '~> 2.1.2', true],
    ['2.2.0-dev', '~> 2.1-dev', true],
    ['2.1.0-dev', '~> 2.1-dev', true],
    ['2.1.0-dev', '~> 2.1', false],
    ['2.1.6-dev', '~> 2.1.2-dev', true],
    ['2.2.0-dev', '>= 2.1.0', true],
    ['2.2.6-dev', '>= 2.1.0-dev', true],
    ['2.1.3-dev', '~> 2.1.3-dev', true],
    // Never a pre-release of the upper bound.
    ['3.0.0-rc.1', '~> 2.0', false],
    ['3.0.0-0', '~> 2.0', false],
    ['2.2.0-rc.1', '~> 2.1.3', false],
    ['2.2.0-rc.1', '~> 2.1.3-dev', false],
    ['2.1.3', '~>2.1.2', true],
    ['2.9.0', '~>2.1', true],
    // `and`, `or`: no precedence, from the right.
    ['2.5.0', '>= 2.1.0 and < 3.0.0', true],
    ['3.0.0', '>= 2.1.0 and < 3.0.0', false],
    ['2.0.0', '>= 2.1.0 and < 3.0.0', false],
    ['2.5.0', '>=2.1.0 and <3.0.0', true],
    ['1.0.0', '1.0.0 or ~> 2.0', true],
    ['1.0.1', '1.0.0 or ~> 2.0', false],
    ['2.7.0', '1.0.0 or ~> 2.0', true],
    ['3.5.0', '>= 1.0.0 and < 2.0.0 or >= 3.0.0 and < 4.0.0', true],
    ['2.5.0', '>= 1.0.0 and < 2.0.0 or >= 3.0.0 and < 4.0.0', false],
    ['3.0.0', '< 1.0.0 and != 0.5.0 or == 3.0.0', false],
    ['0.4.0', '< 1.0.0 and != 0.5.0 or == 3.0.0', true],
    ['5.0.0', '== 5.0.0 or > 1.0.0 and < 2.0.0', true],
    ['0.9.0', '  ~>   0.1  ', true],
    ['1.0.0', '~> 0.1', false],
    // By number, not by text; and a number is below a word.
    ['1.10.0', '> 1.9.0', true],
    ['1.0.0-10', '> 1.0.0-2', true],
    ['1.0.0-beta', '> 1.0.0-10', true],
    ['1.0.0-rc.1.1', '> 1.0.0-rc.1', true],
  ])('%s meets %j: %s', (v, r, expected) => expect(matches(v, r)).toBe(expected))

  test.each([
    ['2.1.6-dev', '~> 2.1.2', false],
    ['2.2.0-dev', '>= 2.1.0', false],
    ['2.1.6', '~> 2.1.2', true],
    ['2.1.0-rc.2', '~> 2.1-rc.1', true],
    ['2.2.0-rc.2', '~> 2.1-rc.1', false],
    ['2.1.0-rc.2', '>= 2.1.0-rc.1 and < 3.0.0', true],
    ['2.1.0-rc.2', '== 2.1.0-rc.2', true],
    ['2.1.0-rc.2', '!= 2.1.0-rc.1', false],
    ['2.1.0-rc.2', '~> 1.0 or == 2.1.0-rc.2', true],
  ])("npm's rule when pre-releases are excluded: %s meets %j: %s", (v, r, expected) =>
    expect(matches(v, r, 'exclude')).toBe(expected),
  )

  test.each([
    '~> 2',
    '~> 2.x',
    '~> 2.1.x',
    '~>',
    '~> 02.1',
    '>= 2.1 and < 3',
    '== == 2.0.0',
    '== 2',
    '>= 2.0.0 and',
    '>= 2.0.0 or ',
    'and 2.0.0',
    '2.0.0 and and 3.0.0',
    '2.0.0and 3.0.0',
    '! 2.0.0',
    '== 01.0.0',
    'latest',
    '^',
    '^2.1.0 and < 3.0.0',
    '~> 9007199254740991.0',
    '>1.2.3.4',
  ])('%j cannot be read', (text) =>
    expect(() => requirements.compile(text, 'include')).toThrow(
      expect.objectContaining({
        code: 'ROLLCALL_INVALID_REQUIREMENT',
        message: expect.stringContaining(JSON.stringify(text)) as string,
      }),
    ),
  )
})

describe('a bare version', () => {
  test.each([
    ['2.0.0', '2.1.0', true],
    ['2.9.9', '2.1.0', true],
    ['2.9.9', ' 2.1.0 ', true],
    ['2.9.9', '2.1.0+build', true],
    ['3.0.0', '2.1.0', false],
    ['3.0.0-rc.1', '2.1.0', false],
    ['1.9.9', '2.1.0', false],
    ['2.5.0-rc.1', '2.1.0', true],
    ['0.9.0', '0.1.0', true],
    ['1.0.0', '0.1.0', false],
    ['3.0.0-rc.1', '3.0.0-rc.1', true],
    ['3.0.0-rc.2', '3.0.0-rc.1', true],
    ['3.0.0-rc.0', '3.0.0-rc.1', false],
    ['3.5.0', '3.0.0-rc.1', true],
    ['9007199254740991.0.0', '9007199254740991.1.0', true],
  ])('%s meets %j: %s', (v, r, expected) => expect(matches(v, r)).toBe(expected))

  test.each([
    ['2.5.0-rc.1', '2.1.0', false],
    ['2.1.0-rc.1', '2.1.0-rc.1', true],
    ['2.2.0-rc.1', '2.1.0-rc.1', false],
    ['2.0.0', '2.1.0-rc.1', true],
  ])('pre-releases excluded: %s meets %j: %s', (v, r, expected) =>
    expect(matches(v, r, 'exclude')).toBe(expected),
  )

  test('means the compat requirement, and only when alone', () => {
    const strict = new Requirements('>= 1.0.0 and < 1.5.0')
    const meets = (v: string, r: string): boolean => strict.compile(r, 'include').matches(parseVersion(v)!)
    expect(meets('1.2.0', '9.9.9')).toBe(true)
    expect(meets('1.5.0', '1.5.0')).toBe(false)
    expect(meets('1.5.0', '== 1.5.0')).toBe(true)
    expect(meets('2.0.0', '2.0.0 || 3.0.0')).toBe(true)
  })

  test.each(['2.1.0', ' 2.1.0', 'nonsense', '~> 2', undefined, 7, 'x'.repeat(300)])(
    'compat %j is refused',
    (compat) =>
      expect(() => new Requirements(compat as string)).toThrow(
        expect.objectContaining({ code: 'ROLLCALL_INVALID_OPTION' }),
      ),
  )
})

test('a requirement above 256 bytes is refused, by bytes', () => {
  const limit: unknown = expect.objectContaining({ code: 'ROLLCALL_LIMIT_EXCEEDED' })
  expect(() => requirements.compile('>'.repeat(257), 'include')).toThrow(limit)
  expect(() => requirements.compile('é'.repeat(129), 'include')).toThrow(limit)
  expect(() => requirements.compile('é'.repeat(128), 'include')).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
  )
  expect(requirements.compile(`>=1.0.0${' '.repeat(249)}`, 'include').matches(parseVersion('1.0.0')!)).toBe(
    true,
  )
  expect(() => requirements.compile(5 as unknown as string, 'include')).toThrow(
    expect.objectContaining({ code: 'ROLLCALL_INVALID_REQUIREMENT' }),
  )
})

test('a requirement is compiled once, per policy', () => {
  const own = new Requirements('semver')
  const compiled = own.compile('~> 2.0', 'include')
  expect(own.compile('~> 2.0', 'include')).toBe(compiled)
  expect(own.compile('~> 2.0', 'exclude')).not.toBe(compiled)
})

test.each([
  'v2.1.0',
  '=2.1.0',
  ' 2.1.0',
  '2.1.0 ',
  '2.1',
  '2',
  '',
  '02.1.0',
  '2.1.0-01',
  '1.2.3.4',
  '1.2.3-',
])('%j is no version', (text) => expect(parseVersion(text)).toBeUndefined())
