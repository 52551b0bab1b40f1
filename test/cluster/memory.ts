import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Bytes of heap in use after a full collection. */
export async function heapUsed(): Promise<number> {
  // What finalizers and settled promises let go of takes a turn.
  for (let turn = 0; turn < 3; turn++) {
    await new Promise(setImmediate)
    gc()
  }
  return process.memoryUsage().heapUsed
}
