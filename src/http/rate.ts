import { isIPv6 } from 'node:net'
import type { Clock } from '../tracker/ports.ts'

/** What a remote address has left. */
interface Bucket {
  tokens: number
  /** Ms on the clock, of its last request. */
  at: number
}

/** Addresses that are remembered. The one that has been quiet for longest is forgotten first. */
const MAX_ADDRESSES = 10_000

/** Requests at once, in seconds' worth of the rate. */
const BURST_SECONDS = 2

/** Limits the requests of each remote address: a bucket that fills at the rate, and holds twice as many. */
export class Rate {
  readonly #perSecond: number
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#clock = clock
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts a request. 0: it may pass, else the ms after which one may. */
  take(address: string | undefined): number {
    if (this.#perSecond === Infinity) return 0
    const key = networkOf(address ?? '')
    const now = this.#clock.now()
    const most = Math.max(1, this.#perSecond * BURST_SECONDS)
    const bucket = this.#buckets.get(key) ?? { tokens: most, at: now }
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1_000) * this.#perSecond)
    bucket.at = now
    this.#keep(key, bucket)
    if (bucket.tokens < 1) return ((1 - bucket.tokens) / this.#perSecond) * 1_000
    bucket.tokens--
    return 0
  }

  /** A map keeps the order in which keys were set. */
  #keep(key: string, bucket: Bucket): void {
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size <= MAX_ADDRESSES) return
    const [quietest] = this.#buckets.keys()
    if (quietest !== undefined) this.#buckets.delete(quietest)
  }
}

/** The address, or of IPv6 its first 64 bits: the rest is one customer's to choose. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
