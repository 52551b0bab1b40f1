import { setImmediate } from 'node:timers/promises'
import type { Instance, LookupAnswer, Registry } from 'rollcall'
import type { Role } from './processes.ts'

// What the observer asks of its registry. All that waits gives up when its signal aborts.

/** What is called, and looked up while nodes come and go. */
const NAME = 'MasterData'
const REQUIREMENT = '^2.2'

/** Lookups after a node is gone, to see that it stays gone. */
const LOOKUPS_AFTER = 1_000

/** Where other nodes can join this one. */
export const addressesOf = (registry: Registry): readonly string[] => registry.nodes()[0]?.addresses ?? []

/** `2.1.0 on alpha`, or why there is none. */
export function answerOf(registry: Registry, name: string, requirement: string): string {
  const answer = registry.lookup(name, requirement)
  return answer.ok ? `${answer.service.version} on ${answer.service.nodeName}` : answer.error
}

/** Resolves with the services of a node as soon as all of them are there. */
export function servicesOf(registry: Registry, role: Role, signal: AbortSignal): Promise<Instance[]> {
  const options = { node: role.name, signal }
  return Promise.all(
    role.services.map(({ name, version }) => registry.waitFor(name, `== ${version}`, options)),
  )
}

/** Makes calls over HTTP, one after the other, each to what a lookup returns. Resolves with the answers. */
export async function call(registry: Registry, times: number, signal: AbortSignal): Promise<string[]> {
  const answers: string[] = []
  while (answers.length < times) {
    const found = registry.lookup(NAME, REQUIREMENT)
    if (!found.ok) throw new Error(`${NAME} '${REQUIREMENT}' cannot be called: ${found.error}`)
    const response = await fetch(found.service.address ?? '', { signal })
    answers.push(await response.text())
  }
  return answers
}

export interface Farewell {
  /** From before `end` was called to the first lookup on the node that found nothing. */
  readonly goneMs: number
  /** Lookups in that time, one at every turn of the event loop, and those of them that returned the node. */
  readonly lookups: number
  readonly misled: number
  /** The same of lookups after that time. */
  readonly lookupsAfter: number
  readonly misledAfter: number
  /** Of the process; null when a signal ended it. */
  readonly exitCode: number | null
}

/** Ends a node, and looks up in a tight loop: until the node is not returned any more, and on for a while. */
export async function farewell(
  registry: Registry,
  node: string,
  end: () => Promise<number | null>,
  signal: AbortSignal,
): Promise<Farewell> {
  const balanced = registry.select(NAME, REQUIREMENT)
  const onNode = registry.select(NAME, REQUIREMENT, { node })
  const isMisled = (answer: LookupAnswer): boolean => answer.ok && answer.service.nodeName === node
  let lookups = 0
  let misled = 0
  let misledAfter = 0
  const startedAt = performance.now()
  const ended = end()
  while (onNode.next().ok) {
    lookups++
    if (isMisled(balanced.next())) misled++
    await setImmediate(undefined, { signal })
  }
  const goneMs = performance.now() - startedAt
  for (let after = 0; after < LOOKUPS_AFTER; after++) {
    if (isMisled(balanced.next())) misledAfter++
    await setImmediate(undefined, { signal })
  }
  return { goneMs, lookups, misled, lookupsAfter: LOOKUPS_AFTER, misledAfter, exitCode: await ended }
}
