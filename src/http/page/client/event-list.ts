import { element, tagElement } from './dom.ts'
import type { EventLine } from './describe-event.ts'
import { timeOfDay } from './moment.ts'

const MOST_LINES = 200

/** The latest events, the newest first. */
export class EventList {
  readonly #list: HTMLOListElement

  constructor(list: HTMLOListElement) {
    this.#list = list
  }

  /** `atMs`: when it came, ms since the epoch. */
  add({ name, tone, who, what }: EventLine, atMs: number): void {
    const line = element('li')
    line.append(
      element('time', '', timeOfDay(atMs)),
      tagElement({ text: name, tone }),
      element('span', 'text who', who),
      element('span', 'text', what),
    )
    this.#list.prepend(line)
    if (this.#list.childElementCount > MOST_LINES) this.#list.lastElementChild?.remove()
  }
}
