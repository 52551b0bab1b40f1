import type { Command, Help } from 'commander'
import { EXIT_MEANINGS } from './exit.ts'

type Row = readonly [term: string, text: string]

/** What `--help` says of a command, or of all. Lines are not wrapped: each text fits, as a test shows. */
export function formatHelp(command: Command, helper: Help): string {
  const parts =
    command.parent === null
      ? [
          'Usage: rollcall [--help | --version] <command> [options]',
          command.description(),
          '',
          ...rows(
            'Commands',
            helper
              .visibleCommands(command)
              .map((each) => [helper.subcommandTerm(each).replace(' [options]', ''), each.summary()]),
          ),
          '',
          ...rows('Exit codes', Object.entries(EXIT_MEANINGS)),
        ]
      : [
          `Usage: ${helper.commandUsage(command)}`,
          command.description(),
          '',
          ...rows(
            'Options',
            helper.visibleOptions(command).map((each) => [helper.optionTerm(each), each.description]),
          ),
        ]
  return `${parts.join('\n')}\n`
}

function rows(title: string, list: readonly Row[]): string[] {
  const width = Math.max(...list.map(([term]) => term.length))
  return [`${title}:`, ...list.map(([term, text]) => `  ${term.padEnd(width)}  ${text}`)]
}
