import { surfaceError } from '../tracker/surface.ts'
import type { Instance, Logger, RejectedService, ServiceDownReason } from './types.ts'

/** What a registry tells people. A logger that throws harms nobody else: its error surfaces as uncaught. */
export class ServiceLog {
  readonly #logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.#logger = logger
  }

  get silent(): boolean {
    return this.#logger === undefined
  }

  up(instance: Instance): void {
    this.#write('info', `${who(instance)} became available${where(instance)}`)
  }

  down(instance: Instance, reason: ServiceDownReason): void {
    this.#write('info', `${who(instance)} is no longer available${where(instance)}: ${reason}`)
  }

  rejected({ message }: RejectedService): void {
    this.#write('warn', message)
  }

  undrained(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#write('warn', `whether calls were in flight at the end is not known: ${message}`)
  }

  #write(level: keyof Logger, line: string): void {
    try {
      this.#logger?.[level](line)
    } catch (error) {
      surfaceError(error)
    }
  }
}

const who = ({ name, version }: Instance): string => `${name} ${version}`

function where({ node, nodeName, address }: Instance): string {
  const details = [nodeName === '' ? undefined : node, address].filter((detail) => detail !== undefined)
  return ` on ${nodeName || node}${details.length === 0 ? '' : ` (${details.join(', ')})`}`
}
