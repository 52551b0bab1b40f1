import { describe, expect, test } from 'vitest'
import { Run } from './run.ts'

/** A demo starts five processes. */
const TEST_MS = 60_000

/** Makes a process that runs the given file end at once, with this exit code, in place of running it. */
const endAtStart = (file: string, code: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,process.argv[1]?.endsWith("${file}")&&process.exit(${code})`,
})

describe('the demo', () => {
  test('C24 C50: tells of nodes that come, are killed, leave and return, and leaves no process', { timeout: TEST_MS }, async () => {
    const demo = new Run('demo.ts')
    expect(await demo.end()).toMatchObject({ code: 0, afterMs: expect.toSatisfy((ms: number) => ms < 20_000) })

    const told = demo.lines.map((line) => line.replace(/^ *\d+ ms +/, ''))
    // What providers that start together do first is a matter of chance, and so are all numbers.
    const story = told.map((line) => line.replaceAll(/\d+(?= ms)|pid \d+|127\.0\.0\.1:\d+|\d+ of \d+(?= returned)/g, '…'))
    expect(story.filter((line) => line.startsWith('+')).sort()).toEqual([
      '+ Billing 1.0.0 on alpha at http://…',
      '+ MasterData 2.1.0 on alpha at http://…',
      '+ MasterData 2.2.0 on beta at http://…',
      '+ MasterData 2.2.0 on beta at http://…',
      '+ MasterData 2.2.0 on gamma at http://…',
      '+ node alpha, …',
      '+ node beta, …',
      '+ node beta, …',
      '+ node gamma, …',
    ])
    const [killed] = await demo.gist
  })
})
