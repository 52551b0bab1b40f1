import { readQuery } from '../../src/registry/query.ts'
import { REGISTRY_DEFAULTS } from '../../src/registry/options.ts'
import { Requirements } from '../../src/registry/requirement.ts'
import { Watch } from '../../src/registry/watch.ts'
import type { ServiceWatch, WatchOptions } from '../../src/registry/watch-types.ts'
import { Watches } from '../../src/registry/watches.ts'
import type { Diff } from '../../src/tracker/types.ts'
import { Fed } from './replica.ts'

/** The epoch of what is fed by hand. */
export const EPOCH = 'e'

/** A registry without a tracker: fed by hand, and watched. */
export class Watched {
  readonly fed = new Fed()
  readonly watches = new Watches({
    index: this.fed.index,
    clock: this.fed.clock,
    epoch: () => EPOCH,
    silenceOf: () => 0,
  })
  readonly #queries = { ...REGISTRY_DEFAULTS, requirements: new Requirements('semver') }

  watch(name: string, requirement?: string, { signal, since, ...filters }: WatchOptions = {}): ServiceWatch {
    return new Watch(this.watches, readQuery(this.#queries, name, requirement, filters), { signal, since })
  }

  apply(diff: Partial<Diff>): void {
    this.watches.wake(this.fed.apply(diff))
  }
}

/** All that promises which are settled bring about. */
export const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
