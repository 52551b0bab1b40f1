import type { Instance, JsonObject } from '../../src/index.ts'

// What the driver and its processes tell each other, in plain data.

/** One thing that a process does to what it offers. Keys and monitors are numbers of the driver's. */
export type Write =
  | {
      readonly kind: 'register'
      readonly key: number
      readonly name: string
      readonly version: string
      readonly metadata: JsonObject
      readonly monitor: number | undefined
    }
  | { readonly kind: 'update'; readonly key: number; readonly metadata: JsonObject }
  | { readonly kind: 'unregister'; readonly key: number }
  | { readonly kind: 'close monitor'; readonly monitor: number }
  | { readonly kind: 'end all' }

/** An instance in a line, as every reader must see it. */
export const lineOf = ({
  id,
  name,
  version,
  node,
  state,
  metadata,
}: Pick<Instance, 'id' | 'name' | 'version' | 'node' | 'state' | 'metadata'>): string =>
  `${id} ${name} ${version} on ${node}, ${state}, ${JSON.stringify(metadata)}`

/** What a process sees, in short. */
export interface View {
  readonly id: string
  readonly incarnation: number
  readonly neighbours: number
  /** Of all lines of `services()`, sorted. */
  readonly digest: string
  readonly nodes: readonly {
    readonly id: string
    readonly incarnation: number
    readonly status: 'up' | 'down'
    readonly suspect: string | undefined
  }[]
  /** Messages and services of others that were no such thing. */
  readonly rejected: number
  /** What must not have happened, in words. */
  readonly faults: readonly string[]
}

/** Something that readers were told of an instance. */
export interface Told {
  readonly event: 'up' | 'changed' | 'down'
  readonly id: string
  readonly name: string
}

/** What a process uses at rest. */
export interface Sample {
  readonly neighbours: number
  readonly heapBytes: number
  /** Live objects, by class. */
  readonly objects: Readonly<Record<string, number>>
  /** What keeps the process running, by kind: the least that was seen in a second. The sockets of connections excepted. */
  readonly resources: Readonly<Record<string, number>>
  /** Of the registry, the tracker and the process, by event. */
  readonly listeners: Readonly<Record<string, number>>
  /** Of libp2p. Two nodes that dial each other at once may keep both. */
  readonly connections: number
  /** Of libp2p, by protocol: the least that was seen in a second. */
  readonly streams: Readonly<Record<string, number>>
}

/** Since the start of a process. */
export interface Counts {
  readonly events: Readonly<Record<string, number>>
  readonly published: number
  readonly heard: number
  readonly syncs: number
  readonly worstLagMs: number
}

/** A second or more of nothing but lookups. */
export interface Reading {
  readonly lookups: number
  readonly medianUs: number
  readonly p99Us: number
  /** Changes of others meanwhile. */
  readonly changes: number
  /** Longest time between two of its beats, while it had something to say in each period. */
  readonly longestBeatMs: number
  /** The same without the time in which the process was ready to run and the machine ran others. */
  readonly longestOwnBeatMs: number
}
