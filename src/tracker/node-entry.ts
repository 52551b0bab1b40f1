import type { Entry } from '../core/frame.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** The reserved topic in which a node says of itself what others need to know: one entry, its key the node's name. */
export const NODE_TOPIC = '$node'

/** What a node says of itself. */
export interface NodeFacts {
  readonly name: string
  readonly addresses: readonly string[]
  readonly zone: string | undefined
  /** Version of the rollcall library it runs. */
  readonly library: string
}

export const UNKNOWN_FACTS: NodeFacts = Object.freeze({
  name: '',
  addresses: [],
  zone: undefined,
  library: '',
})

/** Addresses of one node that are said and read; more would let one node fill every dial queue. */
const MAX_ADDRESSES = 32

export const factsToMeta = ({ addresses, zone, library }: NodeFacts): JsonObject => ({
  addresses: addresses.slice(0, MAX_ADDRESSES),
  library,
  ...(zone === undefined ? {} : { zone }),
})

/** Reads an entry of the `$node` topic. A field that is not what it should be counts as not said. */
export function readFacts({ key, meta }: Entry<Json>): NodeFacts {
  const said = isObject(meta) ? meta : {}
  const { addresses, zone, library } = said
  return Object.freeze({
    name: key,
    addresses: Object.freeze(
      Array.isArray(addresses) ? addresses.filter(isString).slice(0, MAX_ADDRESSES) : [],
    ),
    zone: isString(zone) ? zone : undefined,
    library: isString(library) ? library : '',
  })
}

const isString = (value: unknown): value is string => typeof value === 'string'

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
