/** What a server answered in place of what was asked for. */
export class ReadError extends Error {
  override readonly name = 'ReadError'
  /** Of HTTP. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whether it is for want of the right token. */
export const isUnauthorized = (error: unknown): boolean => error instanceof ReadError && error.status === 401
