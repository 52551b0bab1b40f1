import type { Entry } from '../core/frame.ts'
import type { Json } from '../core/json.ts'
import type { SimNode } from './sim-node.ts'

/** What a node shows its readers, one line per fact. */
function viewOf(node: SimNode): Set<string> {
  const { registry, tracker } = node
  const entries = tracker.topics().flatMap((topic) => tracker.list(topic))
  return new Set([
    ...tracker
      .nodes()
      .filter(({ status }) => status === 'up')
      .map(({ id, name, incarnation }) => `node ${id} (${name}) up in incarnation ${incarnation}`),
    ...entries.map(entryLine),
    ...registry
      .services()
      .map(({ name, version, node: owner, state }) => `service ${name} ${version} on ${owner} ${state}`),
  ])
}

const entryLine = ({ node, incarnation, ref, version, topic, key, meta }: Entry<Json>): string =>
  `entry ${node}/${incarnation}/${ref} at ${version}: ${topic} ${key} ${canonical(meta)}`

/** JSON with sorted keys: the order of keys is no difference. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

/**
 * In what these nodes differ for a reader: nodes that are up, visible entries, services. One line per fact that not all
 * of them show, in words. Empty: they agree. Nodes that are not alive have no view and are a mistake of the caller.
 */
export function differences(...nodes: readonly SimNode[]): string[] {
  const views = nodes.map((node) => ({ node, view: viewOf(node) }))
  const facts = new Set(views.flatMap(({ view }) => [...view]))
  return [...facts].sort().flatMap((fact) => {
    const without = views.filter(({ view }) => !view.has(fact)).map(({ node }) => node.name)
    if (without.length === 0) return []
    const having = views.filter(({ view }) => view.has(fact)).map(({ node }) => node.name)
    return [`${fact}: seen by ${having.join(', ')}, not by ${without.join(', ')}`]
  })
}

/** Throws with the seed, every difference and the last events when these nodes do not agree. */
export function expectSame(...nodes: readonly SimNode[]): void {
  const found = differences(...nodes)
  if (found.length === 0) return
  const message = `${nodes.map(({ name }) => name).join(', ')} differ:\n${found.join('\n')}`
  throw nodes[0]?.net.failure(message) ?? new Error(message)
}
