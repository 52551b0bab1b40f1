import { ref, text } from './openapi-schemas.ts'
import type { Operation, Parameter, Response, Schema } from './openapi-types.ts'

/** An answer in JSON. */
export const answers = (description: string, schema: Schema): Response => ({
  description,
  content: { 'application/json': { schema } },
})

/** Server-sent events. */
export const tells = (description: string): Response => ({
  description,
  content: { 'text/event-stream': { schema: text } },
})

/** A problem. */
export const refuses = (description: string, headers?: Response['headers']): Response => ({
  description,
  ...(headers && { headers }),
  content: { 'application/problem+json': { schema: ref('Problem') } },
})

/** A parameter that may be left out; a text unless it is said otherwise. */
export const query = (name: string, description: string, schema: Schema = text): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
})

/** A parameter that stands in the path. */
export const path = (name: string, schema: Schema, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})

/** What every route may answer that is open to all, */
export const OPEN = {
  '400': refuses('The query, the path or the body breaks a rule. The detail names the value and the rule.'),
  '403': refuses('The header Host is not one of the names of this server, or the token does not allow it.'),
  '429': refuses('This address asks too often.', {
    'Retry-After': { description: 'Seconds.', schema: text },
  }),
  '500': refuses('A fault of rollcall itself.'),
  '503': refuses('The node is closed or closing, or too much is open already.'),
} as const

/** and one that may need a token. */
const GUARDED = {
  ...OPEN,
  '401': refuses('A token is missing or wrong.', {
    'WWW-Authenticate': { description: 'Bearer.', schema: text },
  }),
} as const

const TOKEN = [{ bearer: [] }]
const MAYBE_TOKEN = [{}, { bearer: [] }]

/** What needs a token only where reads do. */
export const read = (
  operationId: string,
  summary: string,
  parameters: readonly Parameter[],
  responses: Operation['responses'],
): Operation => ({
  operationId,
  summary,
  security: MAYBE_TOKEN,
  parameters,
  responses: { ...responses, ...GUARDED },
})

/** What needs the token for writes. `body`: the name of its schema. */
export const write = (
  operationId: string,
  summary: string,
  parameters: readonly Parameter[],
  body: { readonly required: boolean; readonly name: string } | undefined,
  responses: Operation['responses'],
): Operation => ({
  operationId,
  summary,
  security: TOKEN,
  parameters,
  ...(body && {
    requestBody: { required: body.required, content: { 'application/json': { schema: ref(body.name) } } },
  }),
  responses: {
    ...responses,
    ...(body && {
      '413': refuses('The body is too long.'),
      '415': refuses('The body is not JSON in UTF-8, or it is encoded.'),
    }),
    ...GUARDED,
  },
})

/** What nobody needs a token for. */
export const open = (operationId: string, summary: string, responses: Operation['responses']): Operation => ({
  operationId,
  summary,
  security: [],
  responses,
})
