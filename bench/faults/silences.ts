import { setTimeout } from 'node:timers/promises'
import type { Lab } from '../../test/faults/lab.ts'
import { monotonicNow } from '../../test/processes/served.ts'
import type { Cast, Member } from './cast.ts'
import type { Samples } from './table.ts'

/** Something that makes a provider silent without ending it. Both tell when, monotonic ms. */
export interface Silence {
  readonly called: 'stopped' | 'cut off'
  readonly begin: (victim: Member) => Promise<number>
  readonly end: (victim: Member) => Promise<number>
}

/** The process stands still; its kernel does not. */
export const stop: Silence = {
  called: 'stopped',
  begin: ({ child }) => Promise.resolve(child.signal('SIGSTOP')),
  end: ({ child }) => Promise.resolve(child.signal('SIGCONT')),
}

/** Nothing gets to the host of victims, nor from it; no connection is closed. */
export function pullCable(lab: Lab, victim: number): Silence {
  const others = Array.from({ length: victim - 1 }, (_, index) => index + 1)
  return {
    called: 'cut off',
    async begin() {
      const at = monotonicNow()
      await Promise.all([lab.cut([victim], others), lab.cut(others, [victim])])
      return at
    },
    async end() {
      const at = monotonicNow()
      await lab.heal()
      return at
    },
  }
}

/** How often providers fall silent, and stay so until they are down. */
interface Rounds {
  readonly brief: number
  readonly long: number
}

/** Providers that fall silent and speak again: as soon as lookups avoid them, or once they are down. */
export async function silences(
  cast: Cast,
  samples: Samples,
  kinds: readonly Silence[],
  { brief, long }: Rounds,
): Promise<void> {
  await cast.come()
  for (const kind of kinds) {
    for (let round = 0; round < brief; round++) await silence(cast, samples, kind, 'brief')
    for (let round = 0; round < long; round++) await silence(cast, samples, kind, 'long')
  }
  await cast.go()
}

async function silence(
  cast: Cast,
  samples: Samples,
  { called, begin, end }: Silence,
  lasts: 'brief' | 'long',
): Promise<void> {
  const victim = await cast.enter(await cast.prepare())
  await cast.settle(victim)
  const begunAt = await begin(victim)
  samples.add(`${called}, avoided`, begunAt, await cast.returned([cast.steady]))
  if (lasts === 'long') {
    samples.add(`${called}, down`, begunAt, await cast.down(victim, 'silent'))
    // Nor does anything bring it back before its time.
    await setTimeout(1_000 * Math.random())
  }
  cast.checkOthers([victim], 1)
  const endedAt = await end(victim)
  const row = lasts === 'long' ? (`${called}, back` as const) : (`${called}, trusted` as const)
  samples.add(row, endedAt, await cast.returned([cast.steady, victim]))
  cast.checkOthers([victim], 2)
  await cast.dismiss(victim)
}
