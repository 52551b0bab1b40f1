/**
 * Lets an error of a listener surface as Node surfaces it (`uncaughtException`), without harm to the caller at
 * hand: it is thrown from a microtask of its own.
 */
export function surfaceError(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
