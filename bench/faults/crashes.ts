import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Cast, Member } from './cast.ts'
import type { Samples } from './table.ts'

/**
 * Providers that die or say goodbye, and start again: killed ones with the identity that they had, closed ones with a new
 * one. Each is a node that nobody knows, or the sixth death would make it flap.
 *
 * @param folder - for identities
 */
export async function crashes(
  cast: Cast,
  samples: Samples,
  { folder, rounds }: { readonly folder: string; readonly rounds: number },
): Promise<void> {
  await cast.come()
  for (let round = 0; round < rounds; round++) {
    const identityFile = join(folder, randomUUID())
    const killed = await cast.enter(await cast.prepare(), { identityFile })
    const next = await cast.prepare()
    await cast.settle(killed)
    const killedAt = await killed.child.kill()
    samples.add('killed', killedAt, await cast.returned([cast.steady]))
    samples.add('killed, told', killedAt, await cast.down(killed, 'refused'))
    cast.checkOthers([killed], 1)
    await restart(cast, samples, 'restarted', killed, () =>
      cast.enter(next, { identityFile, listen: killed.address }),
    )

    const closed = await cast.enter(await cast.prepare())
    const other = await cast.prepare()
    await cast.settle(closed)
    const closedAt = closed.child.signal('SIGTERM')
    samples.add('closed', closedAt, await cast.returned([cast.steady]))
    await cast.down(closed, 'left')
    await closed.child.ended
    cast.checkOthers([closed], 1)
    await restart(cast, samples, 'renewed', closed, () => cast.enter(other, { listen: closed.address }))
  }
  await cast.go()
}

/** The next life of a provider, until that ends as well. */
async function restart(
  cast: Cast,
  samples: Samples,
  row: 'restarted' | 'renewed',
  before: Member,
  enter: () => Promise<Member>,
): Promise<void> {
  cast.forget()
  const after = await enter()
  samples.add(row, after.listeningAt, await cast.returned([cast.steady, after]))
  cast.checkOthers([before], 1)
  if ((after.id === before.id) !== (row === 'restarted')) throw new Error(`${row} as ${after.id}`)
  await cast.dismiss(after)
}
