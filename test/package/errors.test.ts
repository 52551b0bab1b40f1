import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../../src/errors.ts'

test('every code of the table is used, and every code that is used is in it', async () => {
  const files = (await readdir('src', { recursive: true })).filter(
    (file) => file.endsWith('.ts') && file !== 'errors.ts',
  )
  const text = (await Promise.all(files.map((file) => readFile(join('src', file), 'utf8')))).join('\n')
  const used = new Set([...text.matchAll(/'(ROLLCALL_[A-Z_]+)'/g)].map(([, code]) => code))
  used.delete('ROLLCALL_MONITOR_FORGOTTEN') // The code of a process warning, which is no error.
  expect([...used].sort()).toEqual(Object.keys(ERROR_CODES).sort())
})
