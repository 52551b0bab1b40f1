/** The first of some signals. */
export interface FirstSignal {
  readonly came: Promise<void>
  /** Listens no more. Idempotent. */
  off(): void
}

/** Listens for some signals until the first. A second one does what it does to a process that listens for none. */
export function firstSignal(signals: readonly NodeJS.Signals[]): FirstSignal {
  let resolve: () => void
  const came = new Promise<void>((done) => (resolve = done))
  const off = (): void => {
    for (const signal of signals) process.off(signal, listener)
  }
  const listener = (): void => {
    off()
    resolve()
  }
  for (const signal of signals) process.on(signal, listener)
  return { came, off }
}
