import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { printable, printTable, shownAs } from '../../src/console/table.ts'
import type { Columns } from '../../src/console/table.ts'

const COLUMNS: Columns<{ name: string; text?: string }> = {
  name: ({ name }) => name,
  zone: () => '',
  text: ({ text = '' }) => text,
}

test('a table lines up its columns, and leaves out those without a word', () => {
  const rows = [{ name: 'a', text: 'one' }, { name: 'longer' }]
  expect(printTable(rows, COLUMNS, 100)).toBe('name    text\na       one\nlonger')
})

test('too wide, it cuts the widest columns to fit, the last never', () => {
  const columns = { a: () => 'a'.repeat(60), b: () => 'b'.repeat(30), c: () => 'c'.repeat(20) }
  const [, row] = printTable([{}], columns, 80).split('\n')
  expect(row).toHaveLength(80)
  expect(row).toBe(`${'a'.repeat(27)}…  ${'b'.repeat(27)}…  ${'c'.repeat(20)}`)
  expect(printTable([{}], columns, 10)).toContain(`aaaaa…  bbbbb…  ${'c'.repeat(20)}`)
  expect(printTable([{}], columns, 114)).not.toContain('…')
})

test.each([
  ['\x1b[31mred', '\\u{1b}[31mred'],
  ['a\r\nb\x07\x9b', 'a\\u{d}\\u{a}b\\u{7}\\u{9b}'],
  ['left\u202eright\u200b', 'left\\u{202e}right\\u{200b}'],
  ['line\u2028para\u2029', 'line\\u{2028}para\\u{2029}'],
  ['half \ud800', 'half \\u{d800}'],
  ['Größe 漢字 🚀', 'Größe 漢字 🚀'],
])('what steers a terminal is written out: %j', (text, shown) => {
  expect(printable(text)).toBe(shown)
  expect(printTable([{ name: text }], COLUMNS, 100)).toBe(`name\n${shown}`)
})

test('a list shown as something else is still the list', () => {
  const list = Object.freeze([{ version: '1.0.0' }])
  const shown = shownAs(list, () => 'a table')
  expect(inspect(shown)).toBe('a table')
  expect(inspect({ shown })).toBe('{ shown: a table }')
  expect(shown).toEqual(list)
  expect(shown[0]).toBe(list[0])
  expect(Object.keys(shown)).toEqual(['0'])
  expect(inspect(list)).toBe("[ { version: '1.0.0' } ]")
})
