import { call } from '../console/call.ts'
import type { CommandName } from '../console/calls.ts'
import type { LiveEvent } from '../console/live-events.ts'
import { printAnswer, printExplanations, printNodes, printServices, printSnapshot } from '../console/views.ts'
import type { Registry } from '../registry/registry.ts'
import type { Explanation, Instance, LookupAnswer } from '../registry/types.ts'
import type { Snapshot } from '../registry/watch-types.ts'
import { printEvent } from './event-line.ts'
import { EXIT } from './exit.ts'
import type { Exit } from './exit.ts'
import type { Printer } from './printer.ts'
import { firstSignal } from './signals.ts'

/** What is asked of a process. */
export interface Question {
  readonly command: CommandName
  readonly args: Readonly<Record<string, unknown>>
  /** After how many values of `watch` and `events` to leave. */
  readonly count?: number | undefined
}

type Node = ReturnType<Registry['nodes']>[number]

/**
 * Puts a question to the console at a path and shows the answer: what comes by and by as it comes, until there is enough of
 * it or Ctrl-C. Rejects as `call`.
 */
export async function ask(path: string, question: Question, printer: Printer): Promise<Exit> {
  const { command, args } = question
  if (command === 'watch' || command === 'events') return await follow(path, question, printer)
  const values: unknown[] = []
  for await (const value of call(path, command, args)) values.push(value)
  const [first] = values
  switch (command) {
    case 'services':
      return await showList(values as Instance[], printServices, printer)
    case 'nodes':
      return await showList(values as Node[], printNodes, printer)
    case 'explain':
      return await showList(values as Explanation[], printExplanations, printer)
    case 'drain':
      return await showList(values as Instance[], printDrained, printer)
    case 'lookup':
      return await showAnswer(first as LookupAnswer, printer)
    case 'metrics':
      await (printer.json ? printer.writeJson(first) : printer.write(first as string))
      return EXIT.done
  }
}

async function follow(
  path: string,
  { command, args, count = Infinity }: Question,
  printer: Printer,
): Promise<Exit> {
  const over = new AbortController()
  const interrupt = firstSignal(['SIGINT'])
  void interrupt.came.then(() => over.abort())
  try {
    let left = count
    for await (const value of call(path, command, args, over.signal)) {
      if (printer.json) await printer.writeJson(value)
      else if (command === 'watch') await printer.write(`${printSnapshot(value as Snapshot)}\n`)
      else await printer.write(`${printEvent(value as LiveEvent, printer.colours)}\n`)
      left -= 1
      if (left <= 0) break
    }
    return EXIT.done
  } finally {
    interrupt.off()
  }
}

async function showList<T>(
  list: readonly T[],
  print: (list: readonly T[], width: number) => string,
  printer: Printer,
): Promise<Exit> {
  if (printer.json) await printer.writeJson(list)
  else await printer.writeTable(print(list, printer.width))
  return EXIT.done
}

const printDrained = (instances: readonly Instance[], width: number): string =>
  instances.length === 0 ? '(nothing to drain)' : printServices(instances, width)

async function showAnswer(answer: LookupAnswer, printer: Printer): Promise<Exit> {
  const doubt = answer.degraded ? ', and what is known may be old' : ''
  if (printer.json) await printer.writeJson(answer)
  else if (answer.ok) await printer.writeTable(printAnswer(answer, printer.width))
  else printer.remark(`the lookup found nothing: ${answer.error}${doubt}`)
  return answer.ok ? EXIT.done : EXIT.nothing
}
