import { RollcallError } from '../../src/errors.ts'

/** What a child can be asked for, by name. Arguments and answers are plain data. */
// eslint's `any` rule leaves `never[]` as the type that every parameter list extends.
export type Commands = Readonly<Record<string, (...args: never[]) => unknown>>

/** A question to a child. */
export interface Ask {
  readonly ask: number
  readonly name: string
  readonly args: readonly unknown[]
}

/** Something that happened in a child. */
export interface Happening {
  /** Monotonic ms, the same clock in every process of the machine. */
  readonly at: number
  readonly kind: string
  readonly node?: string
  readonly incarnation?: number
  /** Of a service or a node. */
  readonly name?: string
  readonly reason?: string
  readonly code?: string
  readonly text?: string
}

/** What a child says: the answer to a question, why there is none, or what happened. */
export type Said =
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly failure: string }
  | Happening

/** CLOCK_MONOTONIC, ms: times of different processes can be compared. */
export const monotonicNow = (): number => Number(process.hrtime.bigint()) / 1e6

const say = (said: Said): void => {
  if (process.connected) process.send?.(said)
}

export function tell(kind: string, what: Omit<Happening, 'at' | 'kind'> = {}): void {
  say({ at: monotonicNow(), kind, ...what })
}

/** From now on only what the child does itself keeps it alive, as without a parent. */
export function standAlone(): void {
  process.channel?.unref()
}

/** Answers the parent until one of the two ends. An orphan ends by itself. */
export function serve(commands: Commands): void {
  process.on('message', (message) => void answer(commands, message as Ask))
  process.on('disconnect', () => process.exit(3))
}

async function answer(commands: Commands, { ask, name, args }: Ask): Promise<void> {
  try {
    const command = commands[name] as ((...args: readonly unknown[]) => unknown) | undefined
    if (command === undefined) throw new Error(`no such command: ${name}`)
    say({ answer: ask, value: await command(...args) })
  } catch (error) {
    const code = error instanceof RollcallError ? `${error.code}: ` : ''
    say({ answer: ask, failure: `${code}${error instanceof Error ? error.message : String(error)}` })
  }
}
