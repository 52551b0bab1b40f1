import type { FilterOptions, LookupError, LookupOptions } from '../registry/types.ts'
import type { Registry } from '../registry/registry.ts'
import { argumentError } from '../tracker/check.ts'
import { json } from './answer.ts'
import type { Answer } from './answer.ts'
import { problem } from './problem.ts'
import { optionsIn } from './query-string.ts'
import type { Route, Routes } from './route.ts'

/** Which instances may be answered at all. */
export const FILTERS = [
  'node',
  'function',
  'state',
  'capability',
  'prerelease',
] as const satisfies readonly (keyof FilterOptions)[]

const OPTIONS = [
  ...FILTERS,
  'zone',
  'minZoneInstances',
  'balance',
  'key',
  'stale',
  'maxStaleMs',
] as const satisfies readonly (keyof LookupOptions)[]

const LOOKUP = ['version', ...OPTIONS]

/** What a registry knows, as JSON. */
export function readRoutes(registry: Registry): Routes {
  const read = (parameters: readonly string[], answer: Route['answer']): { readonly GET: Route } => ({
    GET: { access: 'read', parameters, answer },
  })
  return {
    '/v1/services': read(['node'], ({ query }) => {
      const { id, name } = registry.tracker
      const services = registry.services(query.get('node'))
      return json({ node: { id, name }, degraded: registry.degraded, services })
    }),
    '/v1/services/:name': read(['version', 'zone', ...FILTERS], ({ parameter, query }) => {
      const zone = query.get('zone')
      if (zone === '') throw argumentError('The parameter zone', zone, 'must not be empty')
      // Each value is checked by the registry, in words for people.
      const options = optionsIn(query, FILTERS) as FilterOptions | undefined
      const found = registry.lookupAll(parameter, query.get('version'), options)
      const instances = zone === undefined ? found : found.filter((instance) => instance.zone === zone)
      return json({ service: parameter, degraded: registry.degraded, instances })
    }),
    '/v1/lookup/:name': read(LOOKUP, ({ parameter, query }) => {
      const options = optionsIn(query, OPTIONS) as LookupOptions | undefined
      const answer = registry.lookup(parameter, query.get('version'), options)
      return answer.ok ? json(answer) : miss(answer.error, answer.degraded)
    }),
    '/v1/explain/:name': read(LOOKUP, ({ parameter, query }) => {
      const options = optionsIn(query, OPTIONS) as LookupOptions | undefined
      const explanations = registry.explain(parameter, query.get('version'), options)
      return json({ service: parameter, explanations })
    }),
    '/v1/nodes': read([], () => json({ nodes: registry.nodes() })),
    '/v1/diagnostics': read([], () => json(registry.diagnostics())),
  }
}

const MISSES: Readonly<Record<LookupError, string>> = {
  noservice: 'There is no instance of that name',
  noversion: 'There are instances, and none of a version that matches',
  nofunction: 'There are instances of a version that matches, and none that offers the function',
  noinstance:
    'There are instances of a version that matches, and none that is in the state, or meets the rest of what is asked',
}

const miss = (error: LookupError, degraded: boolean): Answer =>
  problem(404, error, MISSES[error], { degraded })
