import type { ServiceWatch, Snapshot } from '../registry/watch-types.ts'
import type { EventStream } from './event-stream.ts'
import { frame } from './frame.ts'

/** All who ask the same are shown the same object. */
const frames = new WeakMap<Snapshot, Buffer>()

/**
 * Tells what a watch shows as its reader takes it, so that a slow one misses what was between and never the last. Ends with the
 * watch. Returns a function that ends it sooner, after what is being told.
 */
export function tellWatch(watch: ServiceWatch, stream: EventStream): () => void {
  const loop = watch[Symbol.asyncIterator]()
  const stop = (): void => void loop.return?.()
  stream.onClose(stop)
  void tell(loop, stream)
  return stop
}

async function tell(loop: AsyncIterator<Snapshot, undefined>, stream: EventStream): Promise<void> {
  for (;;) {
    const { value } = await loop.next()
    if (value === undefined) break
    await stream.send(frameOf(value))
  }
  stream.end()
}

function frameOf(snapshot: Snapshot): Buffer {
  let bytes = frames.get(snapshot)
  if (bytes === undefined) {
    const { epoch, revision, reset } = snapshot
    bytes = frame(reset ? 'reset' : 'snapshot', { epoch, number: revision }, snapshot)
    frames.set(snapshot, bytes)
  }
  return bytes
}
