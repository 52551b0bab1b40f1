import { once } from 'node:events'
import { createTracker, Monitor, type Tracker } from 'rollcall'

// Who is in which room of a chat that runs on three servers? A presence is a topic (the room), a key (who), a meta
// (what to know of them) and a monitor, whose life is the life of the presence. Here the servers share a process.

const paris = await createTracker({ name: 'paris', flush: 'eager' })
const join = paris.nodes()[0]?.addresses ?? []
const oslo = await createTracker({ name: 'oslo', flush: 'eager', join })
const rome = await createTracker({ name: 'rome', flush: 'eager', join })

// All servers see the same. Paris tells.
paris.on('diff', ({ joins, updates, leaves, reason }) => {
  for (const { topic, key, meta } of joins) print(topic, `+ ${key}, ${JSON.stringify(meta)}`)
  for (const { entry } of updates) print(entry.topic, `~ ${entry.key}, ${JSON.stringify(entry.meta)}`)
  for (const { topic, key } of leaves)
    print(topic, reason === undefined ? `- ${key}` : `- ${key}, the server ${reason}`)
})

// In a real server: Monitor.of(socket), so that whoever hangs up has left.
const ada = new Monitor()
oslo.track(ada, 'room:lobby', 'ada', { status: 'here' })
oslo.track(ada, 'room:kitchen', 'ada', { status: 'here' })
await until(paris, () => who('room:kitchen') === 'ada' && who('room:lobby') === 'ada')

// Who has no connection, but asks now and then, lives on a lease: every request renews it.
const grace = Monitor.lease(1_000)
const requests = setInterval(() => grace.renew(), 200)
oslo.track(grace, 'room:lobby', 'grace', { status: 'here' })
const linus = new Monitor()
rome.track(linus, 'room:lobby', 'linus', { status: 'here' })
await until(paris, () => who('room:lobby') === 'ada, grace, linus')
console.log(`In the lobby: ${who('room:lobby')}. In the kitchen: ${who('room:kitchen')}.`)

oslo.update(ada, 'room:lobby', 'ada', { status: 'away' })
clearInterval(requests)
await until(paris, () => who('room:lobby') === 'ada, linus')

// One close, and she has left every room, in one message.
ada.close()
await until(paris, () => who('room:lobby') === 'linus')

// With a server goes everybody on it. One that is killed has not said so, and is found out in some ms.
await rome.close()
await until(paris, () => who('room:lobby') === '')
await Promise.all([oslo.close(), paris.close()])

/** Those in a room, as Paris sees it. No question goes over the network. */
function who(room: string): string {
  const names = paris.list(room).map(({ key }) => key)
  return names.sort().join(', ')
}

function print(topic: string, text: string): void {
  if (topic.startsWith('room:')) console.log(`${topic.slice(5).padEnd(8)} ${text}`)
}

/** Resolves as soon as it is so, and rejects when it is not within ten seconds. */
async function until(tracker: Tracker, isSo: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(10_000)
  while (!isSo()) await once(tracker, 'diff', { signal })
}
