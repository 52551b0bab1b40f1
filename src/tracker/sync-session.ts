import { Intake } from '../core/intake.ts'
import type { Entry, Frame, NodeId } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { RollcallError } from '../errors.ts'
import { ChunkAssembler } from '../wire/chunk-assembler.ts'
import type { WireLimits } from '../wire/limits.ts'
import { encodeChunks, encodeHeads, encodeWants } from '../wire/split.ts'
import { decodeSyncMessage, encodeSyncMessage } from '../wire/sync-message.ts'
import type { ChunkMessage, HeadInfo, Left, SyncMessage, Want } from '../wire/sync-message.ts'
import type { Channel } from './ports.ts'

/**
 * Size at which lists and frames are cut, bytes. At 128 KiB encoding or decoding one message takes 2 ms or so, which
 * is all that a sync adds to a turn of the event loop. Less where less is accepted (`maxSyncChunkBytes`).
 */
const CHUNK_BYTES = 128 * 1024

/** Up to this size a message is not worth a turn of its own, bytes: it takes some 50 µs. */
const SMALL_BYTES = 4 * 1024

/** What a sync reads from and writes to: the exchange, with one peer. */
export interface SyncSource {
  /** What this node can tell of. */
  heads(): readonly HeadInfo[]
  /** Takes in what the peer can tell of. Returns what to ask of it, and what it does not know to be over. */
  compare(heads: readonly HeadInfo[]): { readonly wants: readonly Want[]; readonly left: readonly Left[] }
  meetLeft(left: readonly Left[]): void
  /** What the peer lacks of an owner; undefined when this node has nothing to tell. */
  answer(want: Want): Frame<Json> | undefined
  /** A part of a snapshot came: entries that may be shown when it is whole. `first` is the first of all, in every part. */
  coming(part: readonly Entry<Json>[], first: Entry<Json>): void
  /** A whole frame came. */
  learn(owner: NodeId, frame: Frame<Json>): void
  /** Does a turn's worth of what large frames have left to do. True while there is more. */
  settle(): boolean
  /** A message of a later protocol came and was passed over. */
  unknown(error: RollcallError): void
  /** Resolves in a later turn of the event loop, which no other sync shares. */
  turn(): Promise<void>
}

/**
 * One sync over one channel, the same on both sides: heads, then wants, then the frames that were wanted, then
 * done; reading and writing go on at once, so neither side waits for the other to read.
 */
export class SyncSession {
  readonly #channel: Channel
  readonly #source: SyncSource
  readonly #limits: WireLimits
  readonly #maxItems: number
  readonly #cutBytes: number
  readonly #assembler: ChunkAssembler
  readonly #asked = new Set<NodeId>()
  readonly #heads = new Part<HeadInfo>()
  readonly #wants = new Part<Want>()
  /** Of the snapshot that is under way. */
  #intake: Intake<Json> | undefined
  #offered: ReadonlySet<NodeId> = new Set()

  /** @param maxItems - heads and wants accepted from the peer: no more than there may be nodes, the peer among them. */
  constructor(channel: Channel, source: SyncSource, limits: WireLimits, maxItems: number) {
    this.#channel = channel
    this.#source = source
    this.#limits = limits
    this.#maxItems = maxItems
    this.#cutBytes = Math.min(CHUNK_BYTES, limits.maxChunkBytes)
    this.#assembler = new ChunkAssembler(limits)
  }

  /** Resolves when both sides are done. Rejects with what broke it off; the channel is closed either way. */
  async run(): Promise<void> {
    try {
      await Promise.all([this.#write(), this.#read()])
      await this.#channel.close()
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error))
      this.#channel.abort(reason)
      throw reason
    }
  }

  async #write(): Promise<void> {
    const heads = this.#source.heads()
    this.#offered = new Set(heads.map((head) => head.owner))
    for (const bytes of encodeHeads(heads, this.#cutBytes)) await this.#channel.send(bytes)

    const { wants, left } = this.#source.compare(await this.#heads.whole)
    for (const { owner } of wants) this.#asked.add(owner)
    for (const bytes of encodeWants(wants, left, this.#cutBytes)) await this.#channel.send(bytes)

    for (const want of await this.#wants.whole) {
      const frame = this.#offered.has(want.owner) ? this.#source.answer(want) : undefined
      if (frame === undefined || frame.from === frame.to) continue
      for (const bytes of encodeChunks(want.owner, frame, this.#cutBytes)) {
        await this.#channel.send(bytes)
        if (bytes.length > SMALL_BYTES) await this.#source.turn()
      }
    }
    await this.#channel.send(encodeSyncMessage({ kind: 'done' }))
  }

  async #read(): Promise<void> {
    try {
      for await (const bytes of this.#channel.messages) {
        if (bytes.length > SMALL_BYTES) await this.#source.turn()
        const message = this.#decode(bytes)
        if (message === undefined) continue
        if (message.kind === 'done') {
          this.#end()
          return
        }
        await this.#take(message, bytes.length)
      }
      throw new RollcallError('ROLLCALL_SYNC_FAILED', 'the peer closed the channel before it was done')
    } catch (error) {
      this.#heads.fail(error)
      this.#wants.fail(error)
      throw error
    }
  }

  /** Undefined for a kind that only a later protocol knows. */
  #decode(bytes: Uint8Array): SyncMessage | undefined {
    try {
      return decodeSyncMessage(bytes, this.#limits)
    } catch (error) {
      if (!(error instanceof RollcallError) || error.code !== 'ROLLCALL_MESSAGE_UNKNOWN') throw error
      this.#source.unknown(error)
      return undefined
    }
  }

  async #take(message: Exclude<SyncMessage, { kind: 'done' }>, bytes: number): Promise<void> {
    switch (message.kind) {
      case 'heads':
        this.#heads.add(message.heads, message.more, this.#maxItems)
        return
      case 'wants':
        if (!this.#heads.isWhole) throw outOfOrder('wants before heads')
        this.#source.meetLeft(message.left)
        this.#wants.add(message.wants, message.more, this.#maxItems)
        return
      case 'chunk':
        await this.#takeChunk(message, bytes)
    }
  }

  async #takeChunk(chunk: ChunkMessage, bytes: number): Promise<void> {
    if (!this.#wants.isWhole) throw outOfOrder('a frame before wants')
    if (!this.#asked.has(chunk.owner)) throw outOfOrder(`a frame of ${chunk.owner}, which was not asked for`)
    const assembled = this.#assembler.add(chunk, bytes)
    if (chunk.from === 0) this.#prepare(chunk)
    if (assembled === undefined) return
    const { owner, frame } = assembled
    this.#asked.delete(owner)
    const entries = this.#intake?.entries
    this.#intake = undefined
    const isLarge = frame.writes.length > chunk.writes.length
    // All of it is shown in one turn, which need not bear its last chunk as well.
    if (isLarge) await this.#source.turn()
    this.#source.learn(owner, entries === undefined ? frame : { ...frame, entries })
    if (!isLarge) return
    do await this.#source.turn()
    while (this.#source.settle())
  }

  /** Does with a part of a snapshot all that can be done before the whole is there. */
  #prepare({ owner, incarnation, writes }: ChunkMessage): void {
    this.#intake ??= new Intake(owner, incarnation)
    const part = this.#intake.add(writes)
    if (this.#intake.first !== undefined) this.#source.coming(part, this.#intake.first)
  }

  #end(): void {
    if (!this.#wants.isWhole) throw outOfOrder('done before wants')
    if (this.#assembler.isPending) throw outOfOrder('done amid a frame')
  }
}

/** A list that comes in parts. */
class Part<T> {
  readonly #items: T[] = []
  #settle: { resolve: (items: readonly T[]) => void; reject: (error: unknown) => void } | undefined
  /** Resolves once the last part is in. */
  readonly whole: Promise<readonly T[]>
  isWhole = false

  constructor() {
    this.whole = new Promise<readonly T[]>((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // The writer may have failed before it waits for this.
    this.whole.catch(() => undefined)
  }

  add(items: readonly T[], more: boolean, limit: number): void {
    if (this.isWhole) throw outOfOrder('a second list')
    if (items.length === 0 && more) throw outOfOrder('an empty part that is not the last')
    if (this.#items.length + items.length > limit) {
      throw new RollcallError('ROLLCALL_FRAME_LIMIT', `a list of more than ${limit} nodes`)
    }
    for (const item of items) this.#items.push(item)
    if (more) return
    this.isWhole = true
    this.#settle?.resolve(this.#items)
  }

  fail(error: unknown): void {
    this.#settle?.reject(error)
  }
}

const outOfOrder = (what: string): RollcallError =>
  new RollcallError('ROLLCALL_FRAME_INVALID', `in a sync: ${what}`)
