import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { OPENAPI } from '../../src/http/openapi.ts'
import type { Operation, Response } from '../../src/http/openapi-types.ts'

/** An answer, as a client gets it. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

interface Place {
  /** As the document writes it: `/v1/services/{name}`. */
  readonly path: string
  readonly operation: Operation | undefined
}

/** What the document promises, with what it leaves open closed: an answer must have no field that it does not name. */
const closed = close(structuredClone(OPENAPI)) as object

const ajv = new Ajv2020({ strict: false, allErrors: true, schemas: { openapi: closed } })
const validators = new Map<string, ValidateFunction>()

function close(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  for (const inner of Object.values(schema)) close(inner)
  const isRecord = 'type' in schema && schema.type === 'object' && 'properties' in schema
  if (isRecord && !('additionalProperties' in schema)) Object.assign(schema, { additionalProperties: false })
  return schema
}

/** What was asked and answered, as `GET /v1/nodes 200`. */
export const witnessed = new Set<string>()

/** All that the document promises, in the same words. */
export const promised = (): string[] =>
  Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  )

/** Throws where a value is not of this schema of the document. */
export function checkSchema(name: string, value: unknown): void {
  expect(faultsOf(`#/components/schemas/${name}`, value), name).toEqual([])
}

/**
 * Throws where an answer is not what the document promises, or was given to a body that the document does not allow. `method` and
 * `target` as asked.
 */
export function checkContract(method: string, target: string, body: string, answered: Answered): void {
  const { path, operation } = placeOf(method, target)
  const { status } = answered
  const what = `${method} ${target} ${status}`
  checkHeaders(what, method, answered)
  if (operation === undefined) {
    const known = OPENAPI.paths[path] !== undefined
    if (status !== 403 && status !== 429) expect(status, what).toBe(known ? 405 : 404)
    if (method !== 'HEAD') expect(valid('#/components/schemas/Problem', answered), what).toEqual([])
    return
  }
  witnessed.add(`${method === 'HEAD' ? 'GET' : method} ${path} ${status}`)
  const response: Response | undefined = operation.responses[status]
  expect(response, `${what} is not documented: ${answered.text}`).toBeDefined()
  const [type] = Object.keys(response?.content ?? {})
  expect(answered.headers['content-type'], what).toBe(type)
  if (type === undefined || method === 'HEAD') expect(answered.text, what).toBe('')
  else {
    const place = [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      type,
      'schema',
    ]
    expect(valid(`#/${place.map(escape).join('/')}`, answered), `${what}: ${answered.text}`).toEqual([])
  }
  const [asked] = Object.values(operation.requestBody?.content ?? {})
  if (asked !== undefined && body !== '' && status < 300) {
    checkSchema(String(asked.schema.$ref?.split('/').at(-1)), JSON.parse(body))
  }
  for (const name of Object.keys(response?.headers ?? {})) {
    expect(answered.headers[name.toLowerCase()], `${what}: ${name}`).toBeDefined()
  }
}

/** What every answer bears, whatever it is. */
function checkHeaders(what: string, method: string, { status, headers, text }: Answered): void {
  expect(headers, what).toMatchObject({
    'cache-control': expect.stringMatching(/^no-store\b/) as string,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const cors = Object.keys(headers).filter((name) => name.startsWith('access-control-'))
  expect(cors, what).toEqual([])
  if (status === 204 || headers['content-type'] === 'text/event-stream')
    expect(headers['content-length'], what).toBeUndefined()
  else if (method !== 'HEAD') expect(headers['content-length'], what).toBe(String(Buffer.byteLength(text)))
  expect(text, what).not.toMatch(/\n\s+at |node_modules|\/src\/|<html/i)
}

function valid(pointer: string, { text, status }: Answered): unknown[] {
  const body = JSON.parse(text) as { readonly status?: unknown }
  if (typeof body.status === 'number') expect(body.status).toBe(status)
  return faultsOf(pointer, body)
}

function faultsOf(pointer: string, value: unknown): unknown[] {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi${pointer}` })
  validators.set(pointer, validate)
  validate(value)
  return validate.errors ?? []
}

const escape = (step: string): string => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

function placeOf(method: string, target: string): Place {
  const [asked = ''] = target.replace(/^http:\/\/[^/]*/, '').split('?')
  const path = Object.keys(OPENAPI.paths).find((known) => patternOf(known).test(asked)) ?? asked
  const name = (method === 'HEAD' ? 'get' : method.toLowerCase()) as 'get'
  return { path, operation: OPENAPI.paths[path]?.[name] }
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
