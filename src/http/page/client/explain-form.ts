import type { Explanation } from '../../../registry/types.ts'
import type { Api } from './api.ts'
import { element, find, setText, tagElement } from './dom.ts'

/** Asks for a name and a requirement why each instance would or would not be returned, and shows the answers. */
export class ExplainForm {
  readonly #api: Api
  readonly #name = find('explain-name', HTMLInputElement)
  readonly #requirement = find('explain-requirement', HTMLInputElement)
  readonly #summary = find('explain-summary', HTMLElement)
  readonly #answers = find('explain-answers', HTMLUListElement)
  #asked = 0

  constructor(api: Api) {
    this.#api = api
    find('explain', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#ask()
    })
  }

  /** Asks for this name, and leads there. */
  explain(name: string): void {
    this.#name.value = name
    this.#requirement.focus()
    void this.#ask()
  }

  async #ask(): Promise<void> {
    const asked = ++this.#asked
    const name = this.#name.value
    const requirement = this.#requirement.value.trim()
    const query: Record<string, string> = requirement === '' ? {} : { version: requirement }
    let explanations: readonly Explanation[] = []
    let summary: string
    try {
      explanations = await this.#api.explain(name, query)
      summary = summarize(explanations)
    } catch (error) {
      summary = error instanceof Error ? error.message : String(error)
    }
    // An answer that comes after that to a later question is not shown.
    if (asked !== this.#asked) return
    setText(this.#summary, summary)
    this.#answers.replaceChildren(...explanations.map(answer))
  }
}

function summarize(explanations: readonly Explanation[]): string {
  if (explanations.length === 0) return 'No instance of that name is known.'
  const returned = explanations.filter((each) => each.returned).length
  return `${returned} of ${explanations.length} would be returned.`
}

function answer({ returned, reason, text }: Explanation): HTMLElement {
  const item = element('li')
  item.append(tagElement({ text: reason, tone: returned ? 'good' : 'mild' }), element('span', 'text', text))
  return item
}
