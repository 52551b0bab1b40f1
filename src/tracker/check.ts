import { RollcallError } from '../errors.ts'

/** Throws `ROLLCALL_INVALID_OPTION` naming the option, its value and the rule it breaks. */
export function checkOption(holds: boolean, option: string, value: unknown, rule: string): void {
  if (holds) return
  throw new RollcallError('ROLLCALL_INVALID_OPTION', `${option} ${rule}, not ${print(value)}`)
}

/** A value for an error message: short, on one line, whatever it is. */
export function print(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 64 ? `${value.slice(0, 61)}...` : value)
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value)
    case 'bigint':
      return `${String(value)}n`
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object'
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
  }
}
