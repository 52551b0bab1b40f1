import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { JsonObject } from '../../src/index.ts'
import { until } from '../processes/fleet.ts'
import type { Host } from './host.ts'

/** Changes what a host says of its own service. */
export const write = ({ child, instance }: Host, metadata: JsonObject): Promise<void> =>
  child.ask('update', instance, { metadata })

/** Waits until the observers show this, as the present metadata of a host's own service. */
export async function expectWritten(
  observers: readonly Host[],
  host: Host,
  metadata: JsonObject,
  deadlineMs = 20_000,
): Promise<void> {
  for (const { child, name } of observers) {
    let found: unknown
    await until(
      async () => {
        const answer = await child.ask('lookup', host.name)
        found = answer.ok ? answer.service.metadata : answer.error
        return isDeepStrictEqual(found, metadata)
      },
      {
        what: () => `${name} finds ${JSON.stringify(metadata)} of ${host.name}, not ${JSON.stringify(found)}`,
        deadlineMs,
      },
    )
  }
}

/** Waits until these nodes, and no others, are found by the observers as providers of a service. */
export async function expectOffered(
  observers: readonly Host[],
  service: string,
  by: readonly Host[],
): Promise<void> {
  const expected = by.map(({ id }) => id).sort()
  for (const { child, name } of observers) {
    await until(async () => isDeepStrictEqual((await child.ask('offers', service)).sort(), expected), {
      what: `${name} finds ${service} at ${by.map((host) => host.name).join(', ')}`,
    })
  }
}

/** None of these was told that any node or service is gone. */
export function expectNobodyDown(among: readonly Host[]): void {
  for (const { name, child } of among) {
    const gone = child.happenings.filter(({ kind }) => kind === 'node_down' || kind === 'service_down')
    expect(gone, `what ${name} was told`).toEqual([])
  }
}

/** Waits until each of these hosts has a connection with every other. */
export async function meshed(among: readonly Host[], deadlineMs?: number): Promise<void> {
  for (const host of among) {
    for (const other of among) if (other !== host) await linked(host, other, { deadlineMs })
  }
}

/** Waits until none of the ones has a connection with any of the others. */
export async function parted(
  ones: readonly Host[],
  others: readonly Host[],
  deadlineMs?: number,
): Promise<void> {
  for (const one of ones) for (const other of others) await linked(one, other, { wanted: false, deadlineMs })
}

/** Whether the first has the second for a neighbour. */
export const areLinked = async (host: Host, other: Host): Promise<boolean> =>
  ((await host.child.ask('neighbours')) ?? []).includes(other.id)

async function linked(
  host: Host,
  other: Host,
  { wanted = true, deadlineMs = 20_000 }: { wanted?: boolean; deadlineMs?: number | undefined } = {},
): Promise<void> {
  await until(async () => (await areLinked(host, other)) === wanted, {
    what: `${host.name} has ${wanted ? 'the' : 'no longer the'} neighbour ${other.name}`,
    deadlineMs,
  })
}

/** Waits until these hosts show exactly these nodes and what they offer, and all the same of it. */
export async function expectSame(
  observers: readonly Host[],
  shown: readonly Host[] = observers,
  deadlineMs = 20_000,
): Promise<void> {
  let why = ''
  await until(
    async () => {
      const views = await Promise.all(observers.map(({ child }) => child.ask('view')))
      const [view = [], ...others] = views.map((each) => each.sort())
      const up = view.filter((line) => line.startsWith('node ')).map((line) => line.split(' ')[1] ?? '')
      const missing = shown.filter(({ id }) => !up.includes(id)).map(({ name }) => name)
      const differs = others.findIndex((other) => JSON.stringify(other) !== JSON.stringify(view)) + 1
      why =
        differs > 0
          ? difference(observers[0]!.name, view, observers[differs]!.name, others[differs - 1] ?? [])
          : `all lack ${missing.join(', ')}, and show ${view.join('\n')}`
      return differs === 0 && missing.length === 0 && up.length === shown.length
    },
    { what: () => `${observers.map(({ name }) => name).join(', ')} are of one view: ${why}`, deadlineMs },
  )
}

function difference(one: string, view: readonly string[], other: string, view2: readonly string[]): string {
  const only = (name: string, own: readonly string[], not: readonly string[]): string =>
    `only ${name} has:\n${own.filter((line) => !not.includes(line)).join('\n')}`
  return `${only(one, view, view2)}\n${only(other, view2, view)}`
}
