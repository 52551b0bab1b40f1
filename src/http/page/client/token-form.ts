import { find, setText } from './dom.ts'
import { keepToken, readToken } from './token.ts'

/** Asks for the token that reads need here. It is kept for as long as the tab is open. */
export class TokenForm {
  readonly #form = find('token-form', HTMLFormElement)
  readonly #input = find('token', HTMLInputElement)
  readonly #refused = find('token-refused', HTMLElement)

  constructor(given: () => void) {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      keepToken(this.#input.value)
      this.#input.value = ''
      this.#form.hidden = true
      given()
    })
  }

  ask(): void {
    setText(this.#refused, readToken() === undefined ? '' : 'The server refuses that token.')
    this.#form.hidden = false
    this.#input.focus()
  }
}
