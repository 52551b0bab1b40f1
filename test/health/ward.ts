import { Health, type HealthPorts } from '../../src/health/health.ts'
import type { Check, HealthOptions } from '../../src/health/types.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Clock, Random, Timer } from '../../src/tracker/ports.ts'

/** Virtual time that knows which of its timers are pending. */
export class CountingClock implements Clock {
  readonly time = new VirtualClock()
  pending = 0

  now(): number {
    return this.time.now()
  }

  wallNow(): never {
    throw new Error('health never asks for the wall clock')
  }

  setTimer(callback: () => void, ms: number): Timer {
    this.pending++
    let open = true
    const close = (): void => {
      if (open) this.pending--
      open = false
    }
    const timer = this.time.setTimer(() => {
      close()
      callback()
    }, ms)
    return {
      cancel: () => {
        close()
        timer.cancel()
      },
    }
  }

  advance(ms: number): Promise<void> {
    return this.time.advance(ms)
  }
}

/** Chance that gives these numbers, the last one for ever. */
export function chance(...numbers: number[]): Random {
  let drawn = 0
  return { next: () => numbers[Math.min(drawn++, numbers.length - 1)] ?? 0.5 }
}

/** A check that answers as it is told to, and notes when it was called. */
export function scripted(clock: Clock, answer: unknown = true) {
  const calls: number[] = []
  const script = { answer, calls, check: ((): unknown => (calls.push(clock.now()), script.answer)) as Check }
  return script
}

/** A health on virtual time, without jitter unless `random` brings it, and all that it tells, each with its ms. */
export function ward(
  optionsOf: HealthOptions | ((clock: CountingClock) => HealthOptions),
  others: Partial<HealthPorts> = {},
) {
  const clock = new CountingClock()
  const told: string[] = []
  const runs: string[] = []
  const options = typeof optionsOf === 'function' ? optionsOf(clock) : optionsOf
  const health = new Health(options, {
    clock,
    random: chance(0.5),
    changed: ({ state, reason }) => told.push(`${clock.now()} ${state} ${reason}`),
    gone: ({ probe, result }) => told.push(`${clock.now()} gone by ${probe} ${result}`),
    probed: ({ probe, result, tookMs }) => runs.push(`${clock.now()} ${probe} ${result} ${tookMs}`),
    ...others,
  })
  return { clock, health, told, runs }
}
