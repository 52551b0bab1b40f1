import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { HTTP_DEFAULTS, HTTP_SERVER_DEFAULTS } from '../../src/http/index.ts'
import { OPENAPI } from '../../src/http/openapi.ts'

const section = (await readFile('README.md', 'utf8')).split('## HTTP\n')[1]?.split(/^## /m)[0] ?? ''

/** Rows of the table that begins with this head, as cells without their back-ticks. */
const rowsUnder = (head: string): string[][] =>
  (section.split(new RegExp(`^\\| ${head} .*\\n.*\\n`, 'm'))[1]?.split('\n\n')[0] ?? '')
    .split('\n')
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.replaceAll('`', '').trim()),
    )

test('the README lists every route, and no other', () => {
  const routes = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(
    rowsUnder('route')
      .map(([route]) => route?.replace(/ +/, ' '))
      .sort(),
  ).toEqual(routes.sort())
})

test('the README lists every option with its default, and no other', () => {
  const stated = rowsUnder('option').map(([option, value]) => [option, value])
  const defaults = { ...HTTP_DEFAULTS, ...HTTP_SERVER_DEFAULTS }
  expect(Object.fromEntries(stated)).toEqual({
    ...{ token: '', readToken: '', hosts: '', clock: "the system's" },
    ...Object.fromEntries(
      Object.entries(defaults).map(([option, value]) => [
        option,
        typeof value === 'string' ? `'${value}'` : String(value),
      ]),
    ),
  })
})

test('what the README does from a shell is what there is', () => {
  const asked = [...section.matchAll(/^curl (?:-X (\w+)|-\w) +"\$api(\/\S+)"/gm)]
  expect(asked).toHaveLength(7)
  for (const [, method = 'GET', path = ''] of asked) {
    const known = path.replace('mail-1', '{id}').replace('Mail', '{name}')
    expect(OPENAPI.paths[`/v1${known}`]?.[method.toLowerCase() as 'get'], path).toBeDefined()
  }
})
