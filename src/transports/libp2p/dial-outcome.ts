/** What a failed dial says of the address. */
export type DialFailure =
  /** Nothing answers there, or not in time. */
  | 'unreachable'
  /** This node itself answers. */
  | 'self'
  /** Another identity than the expected one answers. */
  | 'other-identity'
  /** Something answers that is not a member of this cluster. */
  | 'refused'

const UNREACHABLE_CODES = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const UNREACHABLE_NAMES = new Set(['TimeoutError', 'AbortError', 'NotStartedError'])

interface ErrorLike {
  readonly name?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly errors?: unknown
  readonly cause?: unknown
}

/** The errors at the bottom of one: libp2p nests what happened at each address. */
function leaves(error: unknown, depth = 0): readonly ErrorLike[] {
  if (typeof error !== 'object' || error === null) return []
  const { errors, cause } = error as ErrorLike
  const nested: readonly unknown[] = Array.isArray(errors) ? errors : []
  const inner = [...nested, cause].filter((each) => typeof each === 'object' && each !== null)
  return inner.length === 0 || depth > 5 ? [error] : inner.flatMap((each) => leaves(each, depth + 1))
}

function kindOf({ name, code, message }: ErrorLike): DialFailure {
  const text = String(message)
  if (/dial self/i.test(text)) return 'self'
  // Noise compares the key; encryption errors keep only the message, so the name alone is not enough.
  if (name === 'UnexpectedPeerError' || /expected remote identity/i.test(text)) return 'other-identity'
  return UNREACHABLE_CODES.has(String(code)) || UNREACHABLE_NAMES.has(String(name))
    ? 'unreachable'
    : 'refused'
}

/** Reads a failed dial, of either line. When addresses failed differently, the one that says most wins. */
export function dialFailure(error: unknown): DialFailure {
  const kinds = leaves(error).map(kindOf)
  for (const kind of ['self', 'other-identity', 'refused'] as const) if (kinds.includes(kind)) return kind
  return 'unreachable'
}

/** The innermost messages of a failed dial, for people. */
export function dialMessage(error: unknown): string {
  return [...new Set(leaves(error).map(({ message }) => String(message)))].join('; ')
}
