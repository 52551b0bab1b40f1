import { openConsole } from '../console/console.ts'
import { createRegistry } from '../create.ts'
import type { RollcallError } from '../errors.ts'
import type { Registry } from '../registry/registry.ts'
import { readAgentConfig } from './agent-config.ts'
import type { AgentConfig, AgentFlags } from './agent-config.ts'
import { AgentLog } from './agent-log.ts'
import type { Printer } from './printer.ts'
import { firstSignal } from './signals.ts'

/**
 * Runs a node by itself, with the HTTP face, until SIGTERM or SIGINT; then it drains what it offers, and leaves. A second
 * signal ends the process at once. What happens meanwhile is logged on the stream for errors.
 *
 * Rejects as what it is made of, when that cannot start, or cannot go on.
 */
export async function runAgent(
  flags: AgentFlags,
  printer: Printer,
  errors: NodeJS.WritableStream,
): Promise<void> {
  const stop = firstSignal(['SIGTERM', 'SIGINT'])
  const log = new AgentLog(errors, printer.json)
  try {
    const config = await readAgentConfig(flags, process.env)
    const registry = await createRegistry({ ...config.registry, logger: log })
    try {
      tellProblems(registry, log)
      await serve(registry, config, printer, stop.came)
    } finally {
      await registry.close()
    }
  } finally {
    stop.off()
  }
}

/** Resolves when it has been stopped, and has left. */
async function serve(
  registry: Registry,
  config: AgentConfig,
  printer: Printer,
  stopped: Promise<void>,
): Promise<void> {
  const broken = new Promise<RollcallError>((resolve) => registry.tracker.once('error', resolve))
  // Only here: no other command needs it. It closes with the registry, as the console does.
  const { serveHttp } = await import('../http/server.ts')
  const { url } = await serveHttp(registry, config.http)
  const console = config.console && (await openConsole(registry, config.console))
  await tellReady(registry, url, console?.path, printer)
  const error = await Promise.race([stopped, broken])
  if (error !== undefined) throw error
  // No call goes through this process: others have to hear that it drains, and no more.
  if (registry.registrations().length > 0) await registry.shutdown({ until: () => undefined })
}

function tellProblems({ tracker }: Registry, log: AgentLog): void {
  tracker.on('problem', (where, { code, message }) => log.warn(`${where}: ${message}`, { code, where }))
}

/** One line: who it is, where it is joined, and where it is asked. */
async function tellReady(
  registry: Registry,
  url: string,
  path: string | undefined,
  printer: Printer,
): Promise<void> {
  const { id: node, name } = registry.tracker
  const { addresses } = registry
  const console = path === undefined ? '' : `, console at ${path}`
  const text = `ready: ${name} (${node}), joined at ${addresses.join(' or ')}, HTTP at ${url}${console}\n`
  await (printer.json
    ? printer.writeJson({ node, name, addresses, url, console: path })
    : printer.write(text))
}
