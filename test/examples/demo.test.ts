import { expect, test } from 'vitest'
import { Run } from './run.ts'

/** A demo starts five processes, on a machine that is busy with other tests. */
const TEST_MS = 60_000

/** What comes after the time that a line begins with. */
const textsOf = (demo: Run): string[] => demo.lines.map((line) => line.replace(/^ *\d+ ms +/, ''))

/** The lines that match, in the order in which they must be there. */
function story(demo: Run, patterns: readonly RegExp[]): RegExpExecArray[] {
  const texts = textsOf(demo)
  let next = 0
  return patterns.map((pattern) => {
    const at = texts.findIndex((text, index) => index >= next && pattern.test(text))
    expect(at, `${String(pattern)} from line ${next} on:\n${demo.lines.join('\n')}`).toBeGreaterThanOrEqual(0)
    next = at + 1
    return pattern.exec(texts[at]!)!
  })
}

test(
  'C24 C50: nodes come, are killed, leave and return; the demo tells it, and leaves no process',
  { timeout: TEST_MS },
  async () => {
    const demo = new Run('demo.ts')
    const { code, afterMs } = await demo.end()
    expect(code, demo.lines.join('\n')).toBe(0)
    expect(afterMs).toBeLessThan(20_000)
    expect(Math.max(...demo.lines.map(({ length }) => length))).toBeLessThanOrEqual(100)

    const told = story(demo, [
      /^MasterData '2\.0\.0' +-> +2\.2\.0 on (?:beta|gamma) /,
      /^MasterData '== 2\.1\.0' +-> +2\.1\.0 on alpha /,
      /^MasterData '\^2\.2' +-> +2\.2\.0 on (?:beta|gamma) /,
      /^MasterData '3\.0\.0' +-> +noversion /,
      /^Weather '1\.0\.0' +-> +noservice /,
      /^10 calls, answered 5 by beta, 5 by gamma$/,
      /^gone (?<ms>\d+) ms after the kill$/,
      /: (?<misled>\d+) of (?<lookups>\d+) returned it until then, 0 of 1000 since$/,
      /^10 calls, answered 10 by gamma$/,
      /^gone (?<ms>\d+) ms after it was asked$/,
      /^MasterData '\^2\.2' +-> +noversion$/,
      /^MasterData '2\.0\.0' +-> +2\.1\.0 on alpha$/,
      /^its process needed \d+ ms to start; seen here \d+ ms after it registered$/,
      /^name +version +state +node +address$/,
      /^Billing +1\.0\.0 +ready +alpha +http:\/\/127\.0\.0\.1:\d+$/,
      /^MasterData +2\.2\.0 +ready +beta +http:\/\/127\.0\.0\.1:\d+$/,
      /^MasterData +2\.1\.0 +ready +alpha +http:\/\/127\.0\.0\.1:\d+$/,
      /^Done\./,
    ])
    const goneMs = told.flatMap(({ groups }) => (groups?.['ms'] === undefined ? [] : [Number(groups['ms'])]))
    expect(goneMs).toHaveLength(2)
    // Some tens of ms on a machine at rest.
    expect(Math.max(...goneMs)).toBeLessThan(1_000)
    // Two instances take turns, so half of the lookups find the dead one for as long as it is listed.
    const { misled, lookups } = told.find(({ groups }) => groups?.['misled'] !== undefined)!.groups!
    expect(Math.abs(Number(lookups) - 2 * Number(misled))).toBeLessThanOrEqual(1)
  },
)

test('C63: the demo sees everything come and go once', { timeout: TEST_MS }, async () => {
  const demo = new Run('demo.ts')
  expect(await demo.end()).toMatchObject({ code: 0 })
  const texts = textsOf(demo).map((text) => text.replace(/:\/\/127.*|, pid \d+/, ''))
  // Which of those that start together comes first is chance.
  expect(texts.filter((text) => text.startsWith('+ ')).sort()).toEqual([
    '+ Billing 1.0.0 on alpha at http',
    '+ MasterData 2.1.0 on alpha at http',
    '+ MasterData 2.2.0 on beta at http',
    '+ MasterData 2.2.0 on beta at http',
    '+ MasterData 2.2.0 on gamma at http',
    '+ node alpha',
    '+ node beta',
    '+ node beta',
    '+ node gamma',
  ])
  expect(texts.filter((text) => text.startsWith('- '))).toEqual([
    '- MasterData 2.2.0 on beta: refused',
    '- node beta: refused',
    '- MasterData 2.2.0 on gamma: left',
    '- node gamma: left',
  ])
})

test('a process that dies in the middle of it fails the demo, in words', { timeout: TEST_MS }, async () => {
  const demo = new Run('demo.ts')
  const [, pid] = await demo.line(/\+ node alpha, pid (\d+)/)
  process.kill(Number(pid), 'SIGKILL')
  expect(await demo.end()).toMatchObject({ code: 1 })
  expect(demo.lines.at(-1)).toBe(`The demo failed: alpha (pid ${pid}) ended unasked, by SIGKILL`)
})

test('a process that cannot start fails the demo, in words', { timeout: TEST_MS }, async () => {
  const onlyDemo = 'process.argv[1].endsWith("provider.ts")&&process.exit(7)'
  const demo = new Run('demo.ts', [], { NODE_OPTIONS: `--import=data:text/javascript,${onlyDemo}` })
  expect(await demo.end()).toMatchObject({ code: 1 })
  expect(demo.lines.at(-1)).toMatch(
    /^The demo failed: (?:alpha|beta|gamma) \(pid \d+\) ended unasked, by exit code 7$/,
  )
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends the demo and all that it has started', { timeout: TEST_MS }, async (signal, code) => {
  const demo = new Run('demo.ts')
  await demo.line(/\+ node alpha/)
  demo.signalAll(signal)
  expect(await demo.end()).toMatchObject({ code })
  expect(demo.lines.at(-1)).toBe(`The demo failed: interrupted by ${signal}`)
})

test('a demo that is killed leaves no process', { timeout: TEST_MS }, async () => {
  const demo = new Run('demo.ts')
  await demo.line(/\+ node alpha/)
  demo.signal('SIGKILL')
  expect(await demo.end()).toMatchObject({ signal: 'SIGKILL' })
})
