/**
 * A console into a running process: `openConsole` serves it on a Unix socket, `npx rollcall console` and `attach` join it.
 */

export { attach } from './attach.ts'
export type { AttachEnd, AttachOptions } from './attach.ts'
export { openConsole } from './console.ts'
export type { Console, ConsoleOptions } from './console.ts'
export { listSockets } from './socket-file.ts'
