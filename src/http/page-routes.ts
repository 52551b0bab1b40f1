import type { IncomingMessage } from 'node:http'
import type { Answer } from './answer.ts'
import { PAGE_FILES } from './page/page-files.ts'
import type { Routes } from './route.ts'

/** The page may run its own script and read from its own server, and nothing else: whatever names would have it do. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page for people. It needs no token: where reads need one, it asks for it. */
export const pageRoutes = (): Routes =>
  Object.fromEntries(
    Object.entries(PAGE_FILES).map(([path, { type, body }]) => {
      const file: Answer = { status: 200, type, text: body, headers: { 'Content-Security-Policy': POLICY } }
      return [path, { GET: { access: 'open', answer: ({ request }) => withSlash(request) ?? file } }]
    }),
  )

/**
 * Leads to the same address with a slash at its end, where the page is asked for under a path of Express or its like without
 * one: from there its links would lead past that path.
 */
function withSlash(request: IncomingMessage & { readonly originalUrl?: string }): Answer | undefined {
  const [asked = ''] = request.originalUrl?.split('?') ?? []
  if (asked === '' || asked.endsWith('/') || request.url !== '/') return undefined
  return { status: 308, text: '', headers: { Location: `./${asked.slice(asked.lastIndexOf('/') + 1)}/` } }
}
