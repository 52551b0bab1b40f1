/** Every code this package reports. Codes are stable between major versions, messages are not. */
export const ERROR_CODES = {
  ROLLCALL_INVALID_OPTION: 'An option has the wrong type, range or relation to another option.',
  ROLLCALL_INVALID_ARGUMENT: 'An argument has the wrong type or range.',
  ROLLCALL_INVALID_META: 'A meta is not plain JSON, so it would not arrive as it was given.',
  ROLLCALL_INVALID_VERSION: 'A version is not a semantic version (major.minor.patch).',
  ROLLCALL_INVALID_REQUIREMENT: 'A version requirement cannot be read in either grammar.',
  ROLLCALL_INVALID_ADDRESS: 'An address to listen on, advertise or join cannot be read.',
  ROLLCALL_LIMIT_EXCEEDED: 'A size or a count is above its limit.',
  ROLLCALL_ALREADY_TRACKED: 'The monitor already tracks this topic and key.',
  ROLLCALL_NOT_TRACKED: 'The monitor does not track this topic and key.',
  ROLLCALL_MONITOR_CLOSED: 'The monitor is closed, so nothing can be tied to its life.',
  ROLLCALL_CLOSED: 'The node is closed or closing.',
  ROLLCALL_WAIT_TIMEOUT: 'No matching instance appeared in time.',
  ROLLCALL_START_FAILED: 'The node could not start, for example because its address is in use.',
  ROLLCALL_STACK_MISMATCH: 'The libp2p node is assembled from parts that do not work together.',
  ROLLCALL_IDENTITY_FILE: 'The identity file cannot be read, written or understood.',
  ROLLCALL_STATE_FILE:
    'The state file cannot be read, written or understood. Reported, never thrown: the node does without.',
  ROLLCALL_IDENTITY_CONFLICT: 'Another live process uses the identity of this node.',
  ROLLCALL_PEER_UNREACHABLE: 'A peer cannot be reached now. Reported or used internally, retried for ever.',
  ROLLCALL_PEER_REFUSED: 'What answered is not a member of this cluster. Reported, never thrown.',
  ROLLCALL_FRAME_INVALID: 'A peer sent bytes that are not a frame. Reported, never thrown.',
  ROLLCALL_FRAME_LIMIT: 'A peer sent a frame above a limit. Reported, never thrown.',
  ROLLCALL_MESSAGE_UNKNOWN: 'A peer sent a message kind of a later protocol. Reported, never thrown.',
  ROLLCALL_PROTOCOL_MISMATCH: 'A peer speaks an incompatible protocol version. Reported, never thrown.',
  ROLLCALL_SYNC_FAILED: 'A sync with a peer broke off. Reported, never thrown, tried again.',
  ROLLCALL_SERVICE_INVALID: 'A peer published a service that is not one. Reported, never thrown.',
  ROLLCALL_CONSOLE_PATH:
    'The path of a console is too long, has no folder, or leads to something else than a socket.',
  ROLLCALL_CONSOLE_UNTRUSTED: 'The socket of a console, or its folder, is in the hands of other users.',
  ROLLCALL_CONSOLE_IN_USE: 'Another console answers at this path.',
  ROLLCALL_CONSOLE_ABSENT: 'No console answers at this path.',
  ROLLCALL_CONSOLE_PROTOCOL: 'What answers at this path is no console, or that of another version.',
  ROLLCALL_CONSOLE_ENDED: 'The process ended, or its console closed, before all had been said.',
  ROLLCALL_CONSOLE_FAILED: 'A command failed in the process that ran it, by a fault of its own.',
  ROLLCALL_CONFIG_FILE: 'A file with options, a secret or a token cannot be read or understood.',
  ROLLCALL_METRICS_ABSENT: 'prom-client, which metrics need, is not installed where the process runs.',
  ROLLCALL_HTTP_NOT_FOUND: 'HTTP: there is nothing at this path.',
  ROLLCALL_HTTP_METHOD: 'HTTP: the path does not take this method.',
  ROLLCALL_HTTP_UNAUTHORIZED: 'HTTP: a bearer token is missing or wrong.',
  ROLLCALL_HTTP_FORBIDDEN: 'HTTP: the header Host, or what the token is for, does not allow it.',
  ROLLCALL_HTTP_BODY: 'HTTP: the body is too long, of another type, or cannot be read.',
  ROLLCALL_HTTP_RATE: 'HTTP: one address asked too often.',
  ROLLCALL_HTTP_BUSY: 'HTTP: too many streams or registrations are open.',
  ROLLCALL_HTTP_CONFLICT: 'HTTP: the id is that of another registration.',
  ROLLCALL_HTTP_FAILED: 'HTTP: a fault of rollcall itself. Thrown as uncaught in its process.',
} as const

export type RollcallErrorCode = keyof typeof ERROR_CODES

/** The one error class of this package. Branch on `code`; the message is for people. */
export class RollcallError extends Error {
  override readonly name = 'RollcallError'
  readonly code: RollcallErrorCode

  constructor(code: RollcallErrorCode, message: string = ERROR_CODES[code], options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
