import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { LIBRARY_VERSION } from '../../src/version.ts'

test('a node tells others the version of its package', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  expect(LIBRARY_VERSION).toBe(version)
})
