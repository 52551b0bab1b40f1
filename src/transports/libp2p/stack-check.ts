import { RollcallError } from '../../errors.ts'
import type { Line } from './adapter.ts'
import type { IdentifyLike, Libp2pNode, NodeLike, PubsubLike } from './libp2p-like.ts'

/** What fits together, in the words of an install command. */
const FITTING = {
  2: 'libp2p 2 goes with @chainsafe/libp2p-gossipsub 14, @chainsafe/libp2p-noise 16, @chainsafe/libp2p-yamux 7, @libp2p/tcp 10 and @libp2p/identify 3',
  3: 'libp2p 3 goes with @libp2p/gossipsub 17, @libp2p/noise 17, @libp2p/yamux 8, @libp2p/tcp 11 and @libp2p/identify 4',
} as const satisfies Record<Line, string>

export interface CheckedStack {
  readonly node: NodeLike
  readonly line: Line
  readonly pubsub: PubsubLike
  readonly identify: IdentifyLike
}

function mismatch(why: string): RollcallError {
  return new RollcallError('ROLLCALL_STACK_MISMATCH', why)
}

function has(thing: unknown, ...methods: readonly string[]): boolean {
  if (typeof thing !== 'object' || thing === null) return false
  return methods.every((method) => typeof (thing as Record<string, unknown>)[method] === 'function')
}

const NODE_METHODS = [
  'start',
  'stop',
  'getMultiaddrs',
  'getConnections',
  'dial',
  'handle',
  'unhandle',
  'addEventListener',
]

/** Only nodes of line 3 have stream middleware. */
function lineOf(node: Libp2pNode): Line {
  return has(node, 'use', 'unuse') ? 3 : 2
}

/** gossipsub 14 lists `multicodecs`, its successor `protocols`. */
function lineOfPubsub(pubsub: object): Line | undefined {
  if ('multicodecs' in pubsub) return 2
  return 'protocols' in pubsub ? 3 : undefined
}

/**
 * Tells whether a node's parts work together. Parts of different lines start and connect, but deliver nothing
 * and say nothing, so this is the only place where it can be noticed.
 *
 * @param service - name of the gossipsub service
 * Throws `ROLLCALL_STACK_MISMATCH`, saying what to install.
 */
export function checkStack(node: Libp2pNode, service: string): CheckedStack {
  if (!has(node, ...NODE_METHODS)) throw mismatch('the first argument is not a libp2p node (libp2p 2 or 3)')
  const line = lineOf(node)
  const services = node.services as Record<string, unknown>
  const pubsub = services[service]
  if (!has(pubsub, 'subscribe', 'publish', 'getSubscribers', 'addEventListener')) {
    throw mismatch(`the node has no gossipsub under services.${service}; ${FITTING[line]}`)
  }
  const pubsubLine = lineOfPubsub(pubsub as object)
  if (pubsubLine !== line) {
    const other =
      pubsubLine === undefined ? 'an unknown pubsub' : `a gossipsub for libp2p ${String(pubsubLine)}`
    throw mismatch(
      `the node is libp2p ${String(line)} with ${other} under services.${service}; ${FITTING[line]}`,
    )
  }
  const policy = (pubsub as PubsubLike).globalSignaturePolicy
  if (policy !== 'StrictSign') {
    throw mismatch(`gossipsub has globalSignaturePolicy ${policy}; rollcall needs 'StrictSign', the default`)
  }
  const identify = Object.values(services).find((candidate) => has(candidate, 'identify'))
  if (identify === undefined) throw mismatch(`the node has no identify service; ${FITTING[line]}`)
  return { node: node as NodeLike, line, pubsub: pubsub as PubsubLike, identify: identify as IdentifyLike }
}
