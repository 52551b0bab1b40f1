import { once } from 'node:events'
import type { Socket } from 'node:net'
import { clearLine, cursorTo } from 'node:readline'
import { start } from 'node:repl'
import type { REPLServer } from 'node:repl'
import { PassThrough } from 'node:stream'
import type { Registry } from '../registry/registry.ts'
import { answerCall, failureOf } from './calls.ts'
import { Commands } from './commands.ts'
import { LineFeed } from './line-feed.ts'
import { CLIENT_KINDS, encodeMessage, MessageReader, OTHER_PROTOCOL } from './message.ts'
import type { Call, ClientMessage, ConsoleMessage, Face } from './message.ts'
import { ScreenStream } from './screen.ts'
import { printable } from './table.ts'

/** What a client may leave unread before it is cut off: it has stopped reading, and memory is finite. In bytes. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** One client: a `repl` with variables of its own, on the registry of all, or one call. Ends with its socket. */
export class Session {
  readonly #socket: Socket
  readonly #registry: Registry
  readonly #reader = new MessageReader<ClientMessage>(CLIENT_KINDS)
  #repl: REPLServer | undefined
  #typed: PassThrough | LineFeed | undefined
  #screen: ScreenStream | undefined
  #commands: Commands | undefined
  /** Aborted when who called is gone. */
  #call: AbortController | undefined
  #over = false

  constructor(socket: Socket, registry: Registry) {
    this.#socket = socket
    this.#registry = registry
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('close', () => this.#finish())
    // It is closed next, which is what counts.
    socket.on('error', () => undefined)
  }

  /** Takes leave of the client with a line that says why. Idempotent. */
  end(text: string): void {
    this.#leave({ kind: 'bye', by: 'console', text })
  }

  #receive(chunk: Buffer): void {
    const messages = this.#reader.read(chunk)
    if (messages === undefined) this.end(OTHER_PROTOCOL)
    for (const message of messages ?? []) this.#take(message)
  }

  #take(message: ClientMessage): void {
    if (this.#over) return
    switch (message.kind) {
      case 'hello':
        if (!this.#begun) this.#start(message)
        return
      case 'call':
        if (!this.#begun) void this.#answer(message)
        return
      case 'input':
        this.#typed?.write(message.text)
        return
      case 'resize':
        this.#screen?.resize(message)
        return
      case 'end':
        this.#typed?.end()
        return
    }
  }

  get #begun(): boolean {
    return this.#repl !== undefined || this.#call !== undefined
  }

  /** Never further ahead of its reader than the socket holds. */
  async #answer({ command, args }: Call): Promise<void> {
    const { signal } = (this.#call = new AbortController())
    try {
      for await (const value of await answerCall(this.#registry, command, args, signal)) {
        this.#send({ kind: 'item', value })
        if (this.#socket.writableNeedDrain) await once(this.#socket, 'drain', { signal })
      }
      this.#leave({ kind: 'done' })
    } catch (error) {
      this.#leave(failureOf(error))
    }
  }

  #start(face: Face): void {
    const screen = new ScreenStream(face, (text, shown) => {
      this.#send({ kind: 'output', text })
      shown()
    })
    const commands = new Commands(this.#registry, {
      get width() {
        return screen.columns
      },
      print: (text) => this.#print(text),
    })
    const keys = new PassThrough()
    const repl = start({
      prompt: face.terminal ? `${printable(this.#registry.nodes()[0]?.name ?? '') || 'rollcall'}> ` : '',
      input: keys,
      output: screen,
      terminal: face.terminal,
      useColors: face.colours,
      useGlobal: false,
      ignoreUndefined: true,
      // It would evaluate each line before it is entered, in a process that has other work.
      preview: false,
    })
    this.#repl = repl
    this.#typed = face.terminal ? keys : new LineFeed(repl)
    this.#screen = screen
    this.#commands = commands
    const equip = (): void => void Object.assign(repl.context, commands.globals)
    equip()
    repl.on('reset', equip)
    repl.on('exit', () => this.#leave({ kind: 'bye', by: 'user', text: '' }))
    repl.defineCommand('stop', {
      help: 'End what watch() began',
      action: () => {
        commands.stop()
        repl.displayPrompt()
      },
    })
    stopAtInterrupt(repl, commands)
  }

  /** Above the line that is being typed. */
  #print(text: string): void {
    if (this.#screen === undefined) return
    if (this.#screen.isTTY) {
      cursorTo(this.#screen, 0)
      clearLine(this.#screen, 0)
    }
    this.#screen.write(`${text}\n`)
    if (this.#screen.isTTY) this.#repl?.displayPrompt(true)
  }

  #send(message: ConsoleMessage): void {
    if (this.#over) return
    this.#socket.write(encodeMessage(message))
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy()
  }

  #leave(bye: ConsoleMessage): void {
    if (this.#over) return
    this.#over = true
    if (this.#socket.writableNeedDrain && bye.kind === 'bye' && bye.by === 'console') this.#socket.destroy()
    else this.#socket.end(encodeMessage(bye), () => this.#socket.destroy())
    this.#finish()
  }

  #finish(): void {
    this.#over = true
    this.#call?.abort()
    this.#commands?.stop()
    this.#repl?.close()
  }
}

/** Ctrl-C ends watches; without any it does what it does in every `repl`. */
function stopAtInterrupt(repl: REPLServer, commands: Commands): void {
  const own = repl.listeners('SIGINT')
  repl.removeAllListeners('SIGINT')
  repl.on('SIGINT', () => {
    if (commands.stop()) repl.displayPrompt(true)
    else for (const listener of own) Reflect.apply(listener, repl, [])
  })
}
