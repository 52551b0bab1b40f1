import { expect, test } from 'vitest'
import { LINGER_MS, Run } from './run.ts'

/** A demo starts five processes, here on a machine that is busy with other tests. */
const OPTIONS = { timeout: 60_000 }

/** What comes after the time that a line begins with. */
const textsOf = (demo: Run): string[] =>
  demo.lines.flatMap((line) => /^ *\d+ ms {2,}(.*)$|^ {4,}(.*)$/.exec(line)?.slice(1).join('') ?? [])

/** The first line that matches each pattern, after the one that matches the pattern before it. */
function inOrder(texts: readonly string[], patterns: readonly RegExp[]): RegExpExecArray[] {
  let next = 0
  return patterns.map((pattern) => {
    const at = texts.findIndex((text, index) => index >= next && pattern.test(text))
    expect(at, `${String(pattern)} after line ${next} of:\n${texts.join('\n')}`).toBeGreaterThanOrEqual(0)
    next = at + 1
    return pattern.exec(texts[at]!)!
  })
}

test('C24 C50 C63: the demo tells how nodes come, are killed, leave and return', OPTIONS, async () => {
  const demo = new Run('demo.ts')
  const { code, afterMs, lingeredMs } = await demo.end()
  expect(code, demo.lines.join('\n')).toBe(0)
  expect(afterMs).toBeLessThan(20_000)
  expect(lingeredMs).toBeLessThan(LINGER_MS)
  expect(demo.lines.filter(({ length }) => length > 100)).toEqual([])

  const texts = textsOf(demo)
  const told = inOrder(texts, [
    /^MasterData '2\.0\.0' +-> +2\.2\.0 on (?:beta|gamma) /,
    /^MasterData '== 2\.1\.0' +-> +2\.1\.0 on alpha /,
    /^MasterData '\^2\.2' +-> +2\.2\.0 on (?:beta|gamma) /,
    /^MasterData '3\.0\.0' +-> +noversion /,
    /^Weather '1\.0\.0' +-> +noservice /,
    /^10 calls, answered 5 by beta, 5 by gamma$/,
    /^gone (?<killedMs>\d+) ms after the kill$/,
    /: (?<misled>\d+) of (?<lookups>\d+) returned beta until then, 0 of 1000 after$/,
    /^10 calls, answered 10 by gamma$/,
    /^gone (?<askedMs>\d+) ms after it was asked$/,
    /^MasterData '\^2\.2' +-> +noversion$/,
    /^MasterData '2\.0\.0' +-> +2\.1\.0 on alpha$/,
    /^\d+ ms until it has registered, \d+ ms more until it is seen here$/,
    /^name +version +state +node +address$/,
    /^Billing +1\.0\.0 +ready +alpha +http:\/\/127\.0\.0\.1:\d+$/,
    /^MasterData +2\.2\.0 +ready +beta +http:\/\/127\.0\.0\.1:\d+$/,
    /^MasterData +2\.1\.0 +ready +alpha +http:\/\/127\.0\.0\.1:\d+$/,
    /^Done\./,
  ])
  const { killedMs, misled, lookups, askedMs } = Object.assign(
    {},
    ...told.map(({ groups }) => groups),
  ) as Record<string, string>
  // Both take some tens of ms on a machine at rest. Who is asked must get the CPU first, to do it.
  expect(Number(killedMs)).toBeLessThan(1_000)
  expect(Number(askedMs)).toBeLessThan(3_000)
  // Two instances take turns, so half of the lookups return the dead one for as long as it is listed.
  expect(Math.abs(Number(lookups) - 2 * Number(misled))).toBeLessThanOrEqual(1)

  // Each is seen to come and go once. Which of those that start together comes first is chance.
  const changes = texts.map((text) => text.replace(/ at http.*$|, pid \d+$/, ''))
  expect(changes.filter((text) => text.startsWith('+')).sort()).toEqual([
    '+ Billing 1.0.0 on alpha',
    '+ MasterData 2.1.0 on alpha',
    '+ MasterData 2.2.0 on beta',
    '+ MasterData 2.2.0 on beta',
    '+ MasterData 2.2.0 on gamma',
    '+ node alpha',
    '+ node beta',
    '+ node beta',
    '+ node gamma',
  ])
  expect(changes.filter((text) => text.startsWith('-'))).toEqual([
    '- MasterData 2.2.0 on beta: refused',
    '- node beta: refused',
    '- MasterData 2.2.0 on gamma: left',
    '- node gamma: left',
  ])
})

test('a process that dies in the middle of the demo fails it, in words', OPTIONS, async () => {
  const demo = new Run('demo.ts')
  const [, pid] = await demo.line(/\+ node alpha, pid (\d+)$/)
  process.kill(Number(pid), 'SIGKILL')
  expect(await demo.end()).toMatchObject({ code: 1 })
  expect(demo.lines.at(-1)).toBe(`The demo failed: alpha (pid ${pid}) ended unasked, by SIGKILL`)
})

test('a process that cannot start fails the demo, in words', OPTIONS, async () => {
  // No question mark in it: Node reads a data: URL up to the first one.
  const endProviders = `process.argv.some(a=>a.endsWith('provider.ts'))&&process.exit(7)`
  const demo = new Run('demo.ts', [], { NODE_OPTIONS: `--import=data:text/javascript,${endProviders}` })
  expect(await demo.end()).toMatchObject({ code: 1 })
  expect(demo.lines.at(-1)).toMatch(
    /^The demo failed: (?:alpha|beta|gamma) \(pid \d+\) ended unasked, by exit code 7$/,
  )
})

test('Ctrl-C ends the demo and all that it has started', OPTIONS, async () => {
  const demo = new Run('demo.ts')
  await demo.line(/\+ node alpha/)
  demo.signalAll('SIGINT')
  expect(await demo.end()).toMatchObject({ code: 130 })
  expect(demo.lines.at(-1)).toBe('The demo failed: interrupted by SIGINT')
})

test('SIGTERM ends the demo, and the demo ends all that it has started', OPTIONS, async () => {
  const demo = new Run('demo.ts')
  await demo.line(/The observer runs/)
  demo.signal('SIGTERM')
  expect(await demo.end()).toMatchObject({ code: 143 })
  expect(demo.lines.at(-1)).toBe('The demo failed: interrupted by SIGTERM')
})

test('of a demo that is killed, no process is left', OPTIONS, async () => {
  const demo = new Run('demo.ts')
  await demo.line(/\+ node alpha/)
  demo.signal('SIGKILL')
  expect(await demo.end()).toMatchObject({ signal: 'SIGKILL' })
})
