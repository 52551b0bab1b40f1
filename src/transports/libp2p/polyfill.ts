interface Resolvers<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | PromiseLike<T>) => void
  readonly reject: (reason?: unknown) => void
}

function withResolvers<T>(): Resolvers<T> {
  let resolve: Resolvers<T>['resolve'] = () => undefined
  let reject: Resolvers<T>['reject'] = () => undefined
  const promise = new Promise<T>((res, rej) => {
    resolve = res
    reject = rej
  })
  return { promise, resolve, reject }
}

/**
 * Gives Node 20 the `Promise.withResolvers` that both lines of libp2p call when they start; later versions
 * of Node have it and are left alone. A function, not a side effect of an import, so that no bundler drops it.
 */
export function providePromiseWithResolvers(): void {
  const target = Promise as { withResolvers?: unknown }
  target.withResolvers ??= withResolvers
}
