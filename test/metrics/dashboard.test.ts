import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { METRICS, type MetricKind } from '../../src/metrics/table.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const { panels } = JSON.parse(await readFile('examples/grafana/rollcall.json', 'utf8')) as { panels: Panel[] }
const targets = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))
const kinds: Readonly<Record<string, MetricKind>> = METRICS

/** Every metric in an expression, by its name without the prefix. */
const metricsIn = (expr: string): string[] =>
  [...expr.matchAll(/rollcall_(\w+)/g)].map(([, name]) => name ?? '')

test('every expression names one metric, and all of them exist', () => {
  for (const { title, expr } of targets) {
    const [name = '', ...more] = metricsIn(expr)
    expect(more, title).toEqual([])
    expect(Object.keys(METRICS), title).toContain(name)
  }
})

test('every metric is shown', () => {
  expect(new Set(targets.flatMap(({ expr }) => metricsIn(expr)))).toEqual(new Set(Object.keys(METRICS)))
})

test('counters are shown as rates, gauges as they are', () => {
  for (const { title, expr } of targets) {
    const { type } = kinds[metricsIn(expr)[0] ?? '']!
    expect(expr.includes('rate('), title).toBe(type === 'counter')
  }
})

test('labels that are filtered, grouped or shown are labels of the metric', () => {
  for (const { title, expr, legendFormat } of targets) {
    const { labels } = kinds[metricsIn(expr)[0] ?? '']!
    const named = [
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
      ...[...expr.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label]) => label),
      ...[...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label]) => label),
    ]
    for (const label of named) expect(['instance', ...labels], title).toContain(label)
  }
})

test('panels have numbers of their own, and none lies on another', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
})
