import type { Random } from '../tracker/ports.ts'
import type { CallBook } from './balance/call-book.ts'
import { isRecord } from './check.ts'
import { GenerationCache } from './generation-cache.ts'
import { instanceId } from './instance.ts'
import type { LookupTally } from './lookup-tally.ts'
import { LOOKUP_DEFAULTS, LOOKUP_FIELDS, readQuery } from './query.ts'
import type { Query, QueryContext } from './query.ts'
import { Selector } from './selector.ts'
import type { ServiceChange } from './service-changes.ts'
import type { ServiceIndex } from './service-index.ts'
import type { LookupAnswer, LookupOptions } from './types.ts'

/** Requirements per service, and sets of options per requirement, whose answers are kept. More are made anew. */
const MAX_REQUIREMENTS = 64
const MAX_OPTIONS = 16

/** The selectors of one service. */
interface Prepared {
  /** The last one asked for without options. Most services are asked for in one way only, and this costs no second map. */
  plain: Selector | undefined
  readonly byRequirement: GenerationCache<string | undefined, Selector[]>
}

/** Keeps a selector for every lookup that callers repeat, so that `lookup` costs little more than `next`. */
export class SelectorPool {
  readonly #index: ServiceIndex
  readonly #random: Random
  readonly #calls: CallBook
  readonly #tally: LookupTally
  readonly #context: QueryContext
  readonly #byName = new Map<string, Prepared>()

  constructor(
    index: ServiceIndex,
    context: QueryContext,
    random: Random,
    calls: CallBook,
    tally: LookupTally,
  ) {
    this.#index = index
    this.#context = context
    this.#random = random
    this.#calls = calls
    this.#tally = tally
  }

  /** Services with a selector. */
  get size(): number {
    return this.#byName.size
  }

  /** Throws as `readQuery`, also for a service that does not exist. */
  lookup(name: string, requirement: string | undefined, options: LookupOptions | undefined): LookupAnswer {
    const prepared = this.#byName.get(name)
    const plain = prepared?.plain
    if (plain !== undefined && options === undefined && plain.query.text === requirement) return plain.next()

    const selector = this.#find(prepared, requirement, options) ?? this.#prepare(name, requirement, options)
    if (prepared !== undefined && options === undefined) prepared.plain = selector
    return selector.next(options?.key)
  }

  select(name: string, requirement: string | undefined, options: LookupOptions | undefined): Selector {
    return this.#make(readQuery(this.#context, name, requirement, options))
  }

  /** Forgets the instances that are gone, and the services that have none any more. */
  forget(changes: readonly ServiceChange[]): void {
    for (const { kind, entry } of changes) {
      if (kind !== 'down') continue
      if (this.#calls.size > 0) this.#calls.forget(instanceId(entry))
      if (this.#index.get(entry.key) === undefined) this.#byName.delete(entry.key)
    }
  }

  #make(query: Query): Selector {
    return new Selector(query, this.#index, this.#random, this.#calls, this.#tally)
  }

  #find(
    prepared: Prepared | undefined,
    requirement: string | undefined,
    options: LookupOptions | undefined,
  ): Selector | undefined {
    if (prepared === undefined || !isKnown(options)) return undefined
    for (const selector of prepared.byRequirement.get(requirement) ?? NOBODY) {
      if (asksFor(selector.query, options, this.#context)) return selector
    }
    return undefined
  }

  #prepare(name: string, requirement: string | undefined, options: LookupOptions | undefined): Selector {
    // Shared by lookups of every key.
    const selector = this.#make({ ...readQuery(this.#context, name, requirement, options), key: undefined })
    // A name that does not exist is not remembered: callers can ask for any number of those.
    if (this.#index.get(name) === undefined) return selector
    let prepared = this.#byName.get(name)
    if (prepared === undefined) {
      prepared = { plain: undefined, byRequirement: new GenerationCache(MAX_REQUIREMENTS) }
      this.#byName.set(name, prepared)
    }
    const selectors = prepared.byRequirement.get(requirement)
    if (selectors === undefined || selectors.length >= MAX_OPTIONS) {
      prepared.byRequirement.set(requirement, [selector])
    } else selectors.push(selector)
    return selector
  }
}

const NOBODY: readonly Selector[] = []
const NO_OPTIONS: LookupOptions = Object.freeze({})

/** Whether options, as given, mean a query that was made of the same name and requirement. Allocates nothing. */
function asksFor(query: Query, options: LookupOptions = NO_OPTIONS, context: QueryContext): boolean {
  return (
    query.node === options.node &&
    query.zone === options.zone &&
    query.function === options.function &&
    query.state === (options.state ?? LOOKUP_DEFAULTS.state) &&
    query.capability === options.capability &&
    query.minZoneInstances === (options.minZoneInstances ?? LOOKUP_DEFAULTS.minZoneInstances) &&
    query.prerelease === (options.prerelease ?? context.prerelease) &&
    query.balance === (options.balance ?? LOOKUP_DEFAULTS.balance) &&
    query.stale === (options.stale ?? context.stale) &&
    keepsFor(query, options.maxStaleMs, context)
  )
}

const keepsFor = ({ stale, maxStaleMs }: Query, asked: number | undefined, context: QueryContext): boolean =>
  stale === 'keep-last' ? maxStaleMs === (asked ?? context.maxStaleMs) : asked === undefined

/** A misspelt option must fail every time, not only the first. */
function isKnown(options: LookupOptions | undefined): boolean {
  if (options === undefined) return true
  if (!isRecord(options)) return false
  for (const key in options) {
    if (!(LOOKUP_FIELDS as readonly string[]).includes(key)) return false
  }
  return true
}
