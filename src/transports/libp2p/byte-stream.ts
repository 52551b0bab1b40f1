/** A stream of bytes with back-pressure both ways, the same in both lines. Writes come one at a time. */
export interface ByteStream {
  /** Resolves when the peer's window took the bytes. Rejects when the stream is gone. */
  write(bytes: Uint8Array): Promise<void>
  /** What arrives, pulled. Ends when the peer's side ended or the connection dropped; throws when it was reset. */
  readonly chunks: AsyncIterator<Uint8Array>
  /** Ends our side; what was written still arrives. */
  closeWrite(): Promise<void>
  abort(reason: Error): void
}
