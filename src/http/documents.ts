import type { Answer } from './answer.ts'
import { OPENAPI } from './openapi.ts'
import type { Routes } from './route.ts'

/** What is the same for everybody, and needs no token. */
export function documentRoutes(): Routes {
  const openapi: Answer = { status: 200, type: 'application/json', text: JSON.stringify(OPENAPI) }
  return { '/openapi.json': { GET: { access: 'open', answer: () => openapi } } }
}
