/**
 * Calls back at the first of some signals, once. From then on this process treats them as if nobody here had listened, so a
 * second one ends it. Returns a function that calls it off.
 */
export function onFirstSignal(
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
export function dieOf(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
}
