import type { Cell } from './cell.ts'
import { element, tagElement } from './dom.ts'

export interface KeyedTableParts<Item> {
  readonly body: HTMLTableSectionElement
  /** One for each cell. On a narrow page each cell says its own. */
  readonly columns: readonly string[]
  /** What tells an item from all others, as long as it is shown. */
  readonly key: (item: Item) => string
  /** The first is the name of the row, and its button. */
  readonly cells: (item: Item) => readonly Cell[]
  /** What the button does, in words after the name of the row. */
  readonly action: string
  readonly act: (item: Item) => void
}

interface Row<Item> {
  readonly element: HTMLTableRowElement
  readonly button: HTMLButtonElement
  readonly cells: readonly HTMLTableCellElement[]
  item: Item
  /** What it shows. */
  shown: readonly string[]
}

const PAGE_ROWS = 10

/**
 * A table of things that come, change and go. What stays keeps its row, so that the focus stays where it is. The Tab key
 * finds one button of the table; the arrows, Home, End, Page Up and Page Down lead to the others.
 */
export class KeyedTable<Item> {
  readonly #parts: KeyedTableParts<Item>
  /** In the order in which they are shown. */
  #rows: ReadonlyMap<string, Row<Item>> = new Map()
  /** Place of the row that the Tab key finds. */
  #stop = 0

  constructor(parts: KeyedTableParts<Item>) {
    this.#parts = parts
    parts.body.addEventListener('keydown', (event) => this.#steer(event))
    parts.body.addEventListener('focusin', ({ target }) => {
      const at = this.#buttons().findIndex((button) => button === target)
      if (at >= 0) this.#stopAt(at)
    })
  }

  show(items: readonly Item[]): void {
    const { body, key } = this.#parts
    const stop = this.#buttons()[this.#stop]
    const hadFocus = body.contains(document.activeElement)
    const shown = new Map(items.map((item) => [key(item), item]))
    for (const [each, row] of this.#rows) if (!shown.has(each)) row.element.remove()
    const rows = new Map<string, Row<Item>>()
    let next = body.firstElementChild
    for (const [each, item] of shown) {
      const row = this.#rows.get(each) ?? this.#create(item)
      rows.set(each, row)
      this.#fill(row, item)
      // What is in its place stays untouched.
      if (row.element === next) next = next.nextElementSibling
      else body.insertBefore(row.element, next)
    }
    this.#rows = rows
    const buttons = this.#buttons()
    const at = stop === undefined ? -1 : buttons.indexOf(stop)
    this.#stopAt(at >= 0 ? at : Math.min(this.#stop, Math.max(buttons.length - 1, 0)))
    if (hadFocus && !body.contains(document.activeElement)) {
      buttons[this.#stop]?.focus({ preventScroll: true })
    }
  }

  #create(item: Item): Row<Item> {
    const { columns, action, act } = this.#parts
    const tr = element('tr')
    tr.setAttribute('role', 'row')
    const button = element('button', 'name')
    button.type = 'button'
    button.title = action
    const cells = columns.map((column, at) => {
      const cell = element(at === 0 ? 'th' : 'td')
      cell.setAttribute('role', at === 0 ? 'rowheader' : 'cell')
      cell.dataset['label'] = column
      tr.append(cell)
      return cell
    })
    cells[0]?.append(button)
    const row: Row<Item> = { element: tr, button, cells, item, shown: [] }
    button.addEventListener('click', () => act(row.item))
    return row
  }

  /** Changes what has changed, and nothing else. */
  #fill(row: Row<Item>, item: Item): void {
    const cells = this.#parts.cells(item)
    const shown = cells.map((cell) => JSON.stringify(cell))
    for (const [at, cell] of cells.entries()) {
      const place = row.cells[at]
      if (place === undefined || shown[at] === row.shown[at]) continue
      if (at > 0) place.replaceChildren(...textOf(cell), ...smallPrint(cell))
      else {
        // The button stays where it is: it may have the focus.
        row.button.textContent = cell.text ?? ''
        for (const old of [...place.children].slice(1)) old.remove()
        place.append(...smallPrint(cell))
      }
    }
    row.item = item
    row.shown = shown
  }

  #buttons(): HTMLButtonElement[] {
    return [...this.#rows.values()].map(({ button }) => button)
  }

  #stopAt(at: number): void {
    this.#stop = at
    for (const [place, button] of this.#buttons().entries()) button.tabIndex = place === at ? 0 : -1
  }

  #steer(event: KeyboardEvent): void {
    const step = STEPS.get(event.key)
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const buttons = this.#buttons()
    const to = Math.min(Math.max(this.#stop + step, 0), buttons.length - 1)
    buttons[to]?.focus()
  }
}

const STEPS: ReadonlyMap<string, number> = new Map([
  ['ArrowDown', 1],
  ['ArrowUp', -1],
  ['PageDown', PAGE_ROWS],
  ['PageUp', -PAGE_ROWS],
  ['Home', -Infinity],
  ['End', Infinity],
])

const textOf = ({ text }: Cell): HTMLElement[] => (text ? [element('span', 'text', text)] : [])

const smallPrint = ({ tags = [], note }: Cell): HTMLElement[] => [
  ...tags.map(tagElement),
  ...(note ? [element('span', 'note', note)] : []),
]
