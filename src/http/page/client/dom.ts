import type { Tag } from './cell.ts'

/** A new element with this text in it: as text, whatever it looks like. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = '',
  text = '',
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.textContent = text
  return made
}

/** The element of the page with this id. Throws when the page lacks it, or has another kind there. */
export function find<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`the page has no ${kind.name} #${id}`)
}

/** Sets a text, unless it is that already: a screen reader says what is set. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text
}

export const tagElement = ({ text, tone }: Tag): HTMLElement => element('span', `tag ${tone}`, text)
