import { readFile } from 'node:fs/promises'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config'
import { expect, test } from 'vitest'

test('layers import downwards only, without cycles', { timeout: 60_000 }, async () => {
  const options = await extractDepcruiseOptions('./.dependency-cruiser.cjs')
  const { output } = await cruise(['src'], options, undefined, {
    tsConfig: extractTSConfig('./tsconfig.json'),
  })
  const { modules, summary } = output as ICruiseResult
  expect(modules.length).toBeGreaterThan(50)
  expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)).toEqual([])
})

test('core is pure: it names no clock, timer, chance, process or console', async () => {
  const { modules } = (await cruise(['src/core'])).output as ICruiseResult
  for (const { source } of modules.filter((module) => module.source.startsWith('src/core/'))) {
    const code = (await readFile(source, 'utf8')).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '')
    const impure =
      /\b(Date|performance|setTimeout|setInterval|setImmediate|queueMicrotask|Math\.random|process|console|crypto)\b/
    expect(code.match(impure)?.[0], source).toBeUndefined()
  }
})
