import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'
import type { Access } from './auth.ts'
import type { QueryString } from './query-string.ts'

/** What a route is asked. */
export interface Question {
  /** Of the path, decoded; '' where it has none. */
  readonly parameter: string
  readonly query: QueryString
  /** Reads the JSON of the request. Rejects with `ROLLCALL_HTTP_BODY`. */
  readonly body: () => Promise<unknown>
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What a method does at a path. */
export interface Route {
  readonly access: Access
  /** What its query may have. */
  readonly parameters?: readonly string[]
  /** Answers whatever `hosts` and the rate say, and though the registry is closed: so that a supervisor is always told. */
  readonly always?: boolean
  /** Undefined: it sees to the response itself. Throws or rejects with a `RollcallError`. */
  readonly answer: (question: Question) => Answer | Promise<Answer> | undefined
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

/** By path, in which a segment may be a parameter (`:name`), and method. */
export type Routes = Readonly<Record<string, Readonly<Partial<Record<Method, Route>>>>>
