import type { Frame, NodeId, Write } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import { aboveLimit, invalid } from './check.ts'
import type { WireLimits } from './limits.ts'
import type { ChunkMessage } from './sync-message.ts'

/** A frame that came whole, with whose it is. */
export interface AssembledFrame {
  readonly owner: NodeId
  readonly frame: Frame<Json>
}

/**
 * Puts the chunks of one sync stream together into frames, one owner after the other. Nothing of a frame is
 * given out before its last chunk, so a stream that breaks off leaves the replica as it was (J1, J5).
 */
export class ChunkAssembler {
  readonly #limits: WireLimits
  #first: ChunkMessage | undefined
  #writes: Write<Json>[] = []
  #refs = new Set<number>()
  #bytes = 0

  constructor(limits: WireLimits) {
    this.#limits = limits
  }

  /** Whether a frame is begun and not complete: a stream that ends now broke off. */
  get isPending(): boolean {
    return this.#first !== undefined
  }

  /**
   * Takes a decoded chunk and how long its message was. The frame, once its last chunk is in; undefined before.
   * Throws `ROLLCALL_FRAME_INVALID` or `ROLLCALL_FRAME_LIMIT`; what was collected is dropped then.
   */
  add(chunk: ChunkMessage, bytes: number): AssembledFrame | undefined {
    try {
      this.#take(chunk, bytes)
    } catch (error) {
      this.#reset()
      throw error
    }
    if (!chunk.last) return undefined
    const { owner, incarnation, from, to } = chunk
    const frame = { incarnation, from, to, writes: this.#writes }
    this.#reset()
    return { owner, frame }
  }

  #take(chunk: ChunkMessage, bytes: number): void {
    const first = this.#first
    this.#first ??= chunk
    if (first !== undefined && !isSameFrame(first, chunk)) {
      throw invalid(`a chunk of ${chunk.owner} amid the chunks of ${first.owner}`)
    }
    this.#bytes += bytes
    const { maxAssembledBytes, maxFrameWrites } = this.#limits
    if (this.#bytes > maxAssembledBytes) throw aboveLimit(`a frame above ${maxAssembledBytes} bytes`)
    if (this.#writes.length + chunk.writes.length > maxFrameWrites) {
      throw aboveLimit(`a frame of more than ${maxFrameWrites} writes`)
    }
    // An endless row of empty chunks would be neither progress nor an end.
    if (chunk.writes.length === 0 && !chunk.last) throw invalid('an empty chunk that is not the last')

    const begin = chunk.writes[0]
    const before = this.#writes.at(-1)
    if (begin !== undefined && before !== undefined && begin.version <= before.version) {
      throw invalid(`version ${begin.version} after ${before.version} in the next chunk`)
    }
    for (const write of chunk.writes) {
      if (this.#refs.has(write.ref)) throw invalid(`ref ${write.ref} twice in one frame`)
      this.#refs.add(write.ref)
      this.#writes.push(write)
    }
  }

  #reset(): void {
    this.#first = undefined
    this.#writes = []
    this.#refs = new Set()
    this.#bytes = 0
  }
}

const isSameFrame = (a: ChunkMessage, b: ChunkMessage): boolean =>
  a.owner === b.owner && a.incarnation === b.incarnation && a.from === b.from && a.to === b.to
