import { InvalidArgumentError } from 'commander'
import type { AgentFlags } from './agent-config.ts'
import type { Define } from './questions.ts'

type Options = Readonly<Record<string, unknown>>

/** Flags that are options of `createRegistry`, under the same names. */
const OF_REGISTRY = [
  'name',
  'cluster',
  'zone',
  'profile',
  'listen',
  'advertise',
  'join',
  'identityFile',
  'stateFile',
] as const

interface Flags
  extends Options, Pick<AgentFlags, 'config' | 'secretFile' | 'tokenFile' | 'readTokenFile' | 'console'> {
  readonly httpHost?: string
  readonly httpPort?: number
  readonly page: boolean
}

/** The command that runs a node by itself, as the command line has it. */
export function addAgent(define: Define, run: (flags: AgentFlags) => Promise<void>): void {
  const command = define('agent', 'a node by itself, with HTTP, until SIGTERM')
    .option('--config <file>', 'JSON: options of createRegistry, and in http its own')
    .option('--name <name>', 'the label people read')
    .option('--cluster <name>', 'which cluster. Default rollcall')
    .option('--zone <zone>', 'where it runs')
    .option('--profile <profile>', 'default, local, lan or wan')
    .option('--listen <address>', 'for other nodes. Default 127.0.0.1, any free port')
    .option('--advertise <address>', 'to tell others instead')
    .option('--join <address>', 'of a node to find the cluster by; repeatable', addTo)
    .option('--identity-file <file>', 'keeps who it is over restarts')
    .option('--state-file <file>', 'keeps whom it knew over restarts')
    .option('--secret-file <file>', 'holds the key of the cluster')
    .option('--http-host <host>', 'where HTTP is served. Default 127.0.0.1')
    .option('--http-port <port>', 'default 7780; 0: any that is free', readPort)
    .option('--token-file <file>', 'what writes over HTTP must bear; or ROLLCALL_TOKEN')
    .option('--read-token-file <file>', 'what reads must bear; or ROLLCALL_READ_TOKEN')
    .option('--no-page', 'without the page at /')
    .option('--console [path]', 'with a console, at its default path or at this one')
    .option('--json', 'log lines as JSON')
  command.action(async () => {
    const options = command.opts<Flags>()
    const { config, secretFile, tokenFile, readTokenFile, console, httpHost, httpPort, page } = options
    await run({
      config,
      secretFile,
      tokenFile,
      readTokenFile,
      console,
      registry: Object.fromEntries(OF_REGISTRY.map((name) => [name, options[name]])),
      http: { host: httpHost, port: httpPort, page: page ? undefined : false },
    })
  })
}

const addTo = (text: string, list: readonly string[] = []): readonly string[] => [...list, text]

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('It must be a port, 0 to 65535.')
}
