import type { NodeLike } from './libp2p-like.ts'

/** How long connections may take to close in order before they are dropped, and the node to stop. */
const CLOSE_MS = 100
const STOP_MS = 1_000

/** Waits for work, but not longer than `ms`, and whatever comes of it. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work.catch(() => undefined), late])
  clearTimeout(timer)
}

/** Stops a node in bounded time: a frozen peer would otherwise hold it for seconds. */
export async function stopNode(node: NodeLike): Promise<void> {
  if (node.status !== 'started') return
  const connections = node.getConnections()
  await within(CLOSE_MS, Promise.all(connections.map((connection) => connection.close())))
  for (const connection of connections) connection.abort(new Error('the node is stopping'))
  await within(STOP_MS, Promise.resolve(node.stop()))
  // Closing the listener made libp2p plan an update of its own addresses, which would keep the process for a second.
  node.components?.addressManager?._updatePeerStoreAddresses?.stop?.()
}
