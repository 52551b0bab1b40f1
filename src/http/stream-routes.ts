import type { FilterOptions, StaleOptions } from '../registry/types.ts'
import { COMMON_HEADERS } from './answer.ts'
import { optionsIn } from './query-string.ts'
import { FILTERS } from './reads.ts'
import type { Question, Routes } from './route.ts'
import type { Streams } from './streams.ts'

const OPTIONS = [...FILTERS, 'stale', 'maxStaleMs'] as const

/** What is told for as long as somebody listens. */
export const streamRoutes = (streams: Streams): Routes => ({
  '/v1/watch/:name': {
    GET: {
      access: 'read',
      parameters: ['version', ...OPTIONS, 'lastEventId'],
      answer: ({ parameter, query, request, response }) => {
        const options = optionsIn(query, OPTIONS) as (FilterOptions & StaleOptions) | undefined
        setCommonHeaders(response)
        streams.watch(request, response, parameter, query.get('version'), options ?? {})
        return undefined
      },
    },
  },
  '/v1/events': {
    GET: {
      access: 'read',
      parameters: ['lastEventId'],
      answer: ({ request, response }) => {
        setCommonHeaders(response)
        streams.events(request, response)
        return undefined
      },
    },
  },
})

/** A stream writes its own head over these. */
function setCommonHeaders(response: Question['response']): void {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value)
}
