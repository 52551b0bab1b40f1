import type { Registry } from '../registry/registry.ts'
import type { Explanation, Instance, LookupAnswer, LookupOptions } from '../registry/types.ts'
import type { WatchOptions } from '../registry/watch-types.ts'
import {
  printSnapshot,
  viewAnswer,
  viewDiagnostics,
  viewExplanations,
  viewNodes,
  viewServices,
} from './views.ts'

/** Where a session shows what comes by itself. */
export interface Screen {
  /** In characters. */
  readonly width: number
  print(text: string): void
}

const HELP = `services(), services('billing-1')    who offers what, or what one node offers
lookup('X', '~> 2.1')                what a lookup returns
explain('X', '~> 2.1')               why each instance is returned, or is not
nodes()                              this node, and all that it knows
watch('X')                           a line per change, until Ctrl-C or .stop
diagnostics()                        what this node knows of its own work
registry                             all else that a registry can do
help()                               this text
.exit, Ctrl-D                        leave; the process goes on

What is shown as a table is data: services()[0].version`

/** What can be said in a session of its own, beside plain JavaScript. */
export class Commands {
  readonly #registry: Registry
  readonly #screen: Screen
  readonly #watches = new Set<() => void>()

  constructor(registry: Registry, screen: Screen) {
    this.#registry = registry
    this.#screen = screen
  }

  /** By the names they have in the session. */
  get globals(): Readonly<Record<string, unknown>> {
    const registry = this.#registry
    const screen = this.#screen
    return {
      registry,
      services: (node?: string): readonly Instance[] => viewServices(registry.services(node), screen.width),
      lookup: (name: string, requirement?: string, options?: LookupOptions): LookupAnswer =>
        viewAnswer(registry.lookup(name, requirement, options), screen.width),
      explain: (name: string, requirement?: string, options?: LookupOptions): readonly Explanation[] =>
        viewExplanations(registry.explain(name, requirement, options), screen.width),
      nodes: () => viewNodes(registry.nodes(), screen.width),
      watch: (name: string, requirement?: string, options?: WatchOptions): void =>
        this.#watch(name, requirement, options),
      diagnostics: () => viewDiagnostics(registry.diagnostics()),
      help: (): void => screen.print(HELP),
    }
  }

  /** Ends every watch. False when there was none. */
  stop(): boolean {
    const any = this.#watches.size > 0
    for (const end of this.#watches) end()
    this.#watches.clear()
    return any
  }

  #watch(name: string, requirement?: string, options?: WatchOptions): void {
    const watch = this.#registry.watch(name, requirement, options)
    this.#watches.add(watch.subscribe((snapshot) => this.#screen.print(printSnapshot(snapshot))))
  }
}
