import { setImmediate } from 'node:timers/promises'
import type { Instance, LookupAnswer, Registry } from 'rollcall'
import type { Role } from './processes.ts'

// What the observer asks of its registry. Whatever waits gives up when its signal aborts.

/** What is called, and looked up while nodes come and go. */
const NAME = 'MasterData'
const REQUIREMENT = '^2.2'
export const WANTED = `${NAME} '${REQUIREMENT}'`

/** Where other nodes can join this one. */
export const addressesOf = (registry: Registry): readonly string[] => registry.nodes()[0]?.addresses ?? []

/** `2.1.0 on alpha`, or why there is none. */
export function answerOf(registry: Registry, name: string, requirement: string): string {
  const answer = registry.lookup(name, requirement)
  return answer.ok ? `${answer.service.version} on ${answer.service.nodeName}` : answer.error
}

/** Resolves with the services of a node as soon as all of them are there. */
export function servicesOf(
  registry: Registry,
  { name: node, services }: Role,
  signal: AbortSignal,
): Promise<Instance[]> {
  return Promise.all(
    services.map(({ name, version }) => registry.waitFor(name, `== ${version}`, { node, signal })),
  )
}

/** Makes calls over HTTP, each to what a lookup returns. Resolves with the answers. */
export async function call(registry: Registry, times: number, signal: AbortSignal): Promise<string[]> {
  const answers: string[] = []
  while (answers.length < times) {
    const found = registry.lookup(NAME, REQUIREMENT)
    if (!found.ok) throw new Error(`${WANTED} cannot be called: ${found.error}`)
    const response = await fetch(found.service.address ?? '', { signal })
    answers.push(await response.text())
  }
  return answers
}

export interface Gone {
  /** From before `end` was called until no lookup returns the node. */
  readonly afterMs: number
  /** Lookups in that time, one at every turn of the event loop. */
  readonly lookups: number
  /** Those of them that returned the node. */
  readonly misled: number
}

/** Ends a node, and looks up until the node is not among the answers any more. */
export async function untilGone(
  registry: Registry,
  node: string,
  end: () => void,
  signal: AbortSignal,
): Promise<Gone> {
  const any = registry.select(NAME, REQUIREMENT)
  const thisOne = registry.select(NAME, REQUIREMENT, { node })
  const startedAt = performance.now()
  end()
  let lookups = 0
  let misled = 0
  while (thisOne.next().ok) {
    lookups++
    if (isFrom(any.next(), node)) misled++
    await setImmediate(undefined, { signal })
  }
  return { afterMs: performance.now() - startedAt, lookups, misled }
}

/** How many of so many lookups, one at every turn of the event loop, return a node. */
export async function countAnswers(
  registry: Registry,
  node: string,
  lookups: number,
  signal: AbortSignal,
): Promise<number> {
  const any = registry.select(NAME, REQUIREMENT)
  let count = 0
  for (let done = 0; done < lookups; done++) {
    if (isFrom(any.next(), node)) count++
    await setImmediate(undefined, { signal })
  }
  return count
}

const isFrom = (answer: LookupAnswer, node: string): boolean => answer.ok && answer.service.nodeName === node
