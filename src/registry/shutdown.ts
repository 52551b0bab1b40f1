import { argumentError, checkKeys } from './check.ts'
import { checkDrain, DRAIN_FIELDS, type DrainOptions } from './drain.ts'

export interface ShutdownOptions extends DrainOptions {
  /** Waits for the first of these. Default: none, it begins at once. */
  readonly signals?: readonly NodeJS.Signals[] | undefined
}

/** Throws `ROLLCALL_INVALID_ARGUMENT`. Returns what is for the drain. */
export function checkShutdown(options: ShutdownOptions): DrainOptions {
  checkKeys('The options', options, [...DRAIN_FIELDS, 'signals'])
  const { signals, ...drain } = options
  checkDrain(drain)
  const isList =
    Array.isArray(signals) &&
    signals.length > 0 &&
    signals.every((each) => /^SIG[A-Z\d]+$/.test(String(each)))
  if (signals !== undefined && !isList) {
    throw argumentError('The option signals', signals, "must be names of signals, as ['SIGTERM', 'SIGINT']")
  }
  return drain
}

/**
 * Shuts down at the first of some signals, and then ends the process as that signal would have. Resolves before that, or when
 * `closed` does: closed in another way, there is nothing to wait for.
 */
export function shutDownAt(
  signals: readonly NodeJS.Signals[],
  shutDown: () => Promise<void>,
  closed: Promise<unknown>,
): Promise<void> {
  return new Promise((resolve) => {
    const off = onFirstSignal(signals, (signal) => {
      void shutDown().then(() => {
        resolve()
        dieOf(signal)
      })
    })
    void closed.then(() => {
      off()
      resolve()
    })
  })
}

/**
 * Calls back at the first of some signals, once. From then on this process treats them as if nobody here had listened, so a
 * second one ends it. Returns a function that calls it off.
 */
function onFirstSignal(
  signals: readonly NodeJS.Signals[],
  callback: (signal: NodeJS.Signals) => void,
): () => void {
  const off = (): void => {
    for (const signal of signals) process.off(signal, listener)
  }
  const listener = (signal: NodeJS.Signals): void => {
    off()
    callback(signal)
  }
  for (const signal of signals) process.on(signal, listener)
  return off
}

/** Ends this process as the signal would have done, unless its host listens for the signal: then that is the host's to do. */
function dieOf(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
}
