import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const GENERATED = 'src/wire/generated'

const run = promisify(execFile)

async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = await readdir(directory)
  const texts = names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const)
  return Object.fromEntries(await Promise.all(texts))
}

test('the generated code is what the proto file gives', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-generated-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await run(join(ROOT, 'node_modules/.bin/buf'), ['generate', '--output', directory], { cwd: ROOT })
  const generated = await filesIn(join(directory, GENERATED))
  expect(Object.keys(generated)).toEqual(['rollcall.ts'])
  expect(await filesIn(join(ROOT, GENERATED))).toEqual(generated)
})
