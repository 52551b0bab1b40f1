import type { NodeInfo } from '../../../tracker/types.ts'
import { countsOf } from './counts.ts'
import { find, setText } from './dom.ts'
import { KeyedTable } from './keyed-table.ts'
import { nodeKey, nodeLabel } from './node-name.ts'
import { NODE_COLUMNS, nodeCells } from './node-row.ts'
import type { Picture } from './picture.ts'
import { SERVICE_COLUMNS, serviceCells, serviceMatches } from './service-row.ts'
import type { ServiceRow } from './service-row.ts'
import { addShortcuts } from './shortcuts.ts'

/** The nodes, the services that the filter keeps, and how many there are. */
export class Board {
  readonly #filter = find('filter', HTMLInputElement)
  readonly #kept = find('kept', HTMLElement)
  readonly #self = find('self', HTMLElement)
  readonly #services: KeyedTable<ServiceRow>
  readonly #nodes: KeyedTable<NodeInfo>
  #picture: Picture | undefined

  /** `explain`: what a row of a service leads to. */
  constructor(explain: (service: string) => void) {
    this.#services = new KeyedTable({
      body: find('services-body', HTMLTableSectionElement),
      columns: SERVICE_COLUMNS,
      key: ({ instance }) => instance.id,
      cells: serviceCells,
      action: 'Explain who is returned',
      act: ({ instance }) => explain(instance.name),
    })
    this.#nodes = new KeyedTable({
      body: find('nodes-body', HTMLTableSectionElement),
      columns: NODE_COLUMNS,
      key: ({ id }) => id,
      cells: nodeCells,
      action: 'Show its services only',
      act: (node) => this.#keepOnly(nodeKey(node, this.#picture?.nodes ?? [])),
    })
    this.#filter.addEventListener('input', () => this.#showServices())
    addShortcuts(this.#filter, () => this.#showServices())
  }

  show(picture: Picture): void {
    this.#picture = picture
    const { id, name } = picture.self
    setText(this.#self, nodeLabel(id, name))
    this.#showCounts(picture)
    this.#nodes.show(picture.nodes)
    this.#showServices()
  }

  #showCounts({ services, nodes }: Picture): void {
    for (const [what, count] of Object.entries(countsOf(services, nodes)) as [string, number][]) {
      const place = find(`count-${what}`, HTMLElement)
      setText(place, count.toLocaleString('en'))
      place.classList.toggle('none', count === 0)
    }
  }

  #keepOnly(text: string): void {
    this.#filter.value = text
    this.#filter.focus()
    this.#showServices()
  }

  #showServices(): void {
    const all = this.#picture?.services ?? []
    const kept = all.filter((row) => serviceMatches(this.#filter.value, row))
    this.#services.show(kept)
    const count = all.length.toLocaleString('en')
    setText(this.#kept, kept.length === all.length ? `${count} in all` : `${kept.length} of ${count}`)
  }
}
