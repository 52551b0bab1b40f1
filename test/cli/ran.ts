import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { run } from '../../src/cli/run.ts'

/** The command, run in this process. */
export interface Ran {
  readonly code: Promise<number>
  /** All that it has written so far. */
  out(): string
  errors(): string
}

/** A terminal that output may go to. */
export interface Terminal {
  readonly columns: number
  readonly colours: boolean
}

export function rollcall(args: readonly string[], terminal?: Terminal): Ran {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const text = { out: '', errors: '' }
  output.setEncoding('utf8').on('data', (chunk: string) => (text.out += chunk))
  errors.setEncoding('utf8').on('data', (chunk: string) => (text.errors += chunk))
  if (terminal !== undefined) {
    Object.assign(output, { isTTY: true, columns: terminal.columns, hasColors: () => terminal.colours })
  }
  return {
    code: run(args, { input, output, errors }),
    out: () => text.out,
    errors: () => text.errors,
  }
}

/** What it came to. */
export async function came(
  args: readonly string[],
  terminal?: Terminal,
): Promise<{ readonly code: number; readonly out: string; readonly errors: string }> {
  const ran = rollcall(args, terminal)
  const code = await ran.code
  return { code, out: ran.out(), errors: ran.errors() }
}

/** Lines as a person sees them. */
export const linesOf = (text: string): string[] => stripVTControlCharacters(text).trimEnd().split('\n')
