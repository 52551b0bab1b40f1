/** What a receiver believes at most. Above a limit the message is dropped whole (`ROLLCALL_FRAME_LIMIT`). */
export interface WireLimits {
  /** One gossip message. A frame above it is not published; others see the gap and sync by stream. */
  readonly maxFrameBytes: number
  /** One message of a sync stream. */
  readonly maxChunkBytes: number
  /** A meta, as JSON in UTF-8. */
  readonly maxMetaBytes: number
  /** Objects and arrays within each other in a meta. */
  readonly maxMetaDepth: number
  /** A topic, and a key, in UTF-8. */
  readonly maxKeyBytes: number
  /** A node id. */
  readonly maxOwnerBytes: number
  /** The promise of an owner. A larger one would keep a dead node up for as long. */
  readonly maxPromiseMs: number
  /** Writes in one frame, all its chunks together. */
  readonly maxFrameWrites: number
  /** Bytes of all chunks of one frame together. */
  readonly maxAssembledBytes: number
}

/**
 * A frame of 256 KiB stays far below the 4 MiB at which gossipsub breaks. The longest PeerId in use (RSA) has
 * 46 characters. A legal owner has at most 10,000 entries of 16 KiB and two names: 170 MB, and a log of as many
 * removals.
 */
export const WIRE_LIMITS = {
  maxFrameBytes: 256 * 1024,
  maxChunkBytes: 1024 * 1024,
  maxMetaBytes: 16 * 1024,
  maxMetaDepth: 64,
  maxKeyBytes: 256,
  maxOwnerBytes: 128,
  maxPromiseMs: 24 * 60 * 60 * 1000,
  maxFrameWrites: 40_000,
  maxAssembledBytes: 256 * 1024 * 1024,
} as const satisfies WireLimits
