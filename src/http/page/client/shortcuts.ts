/** `/` leads to the filter, and Escape empties it. */
export function addShortcuts(filter: HTMLInputElement, emptied: () => void): void {
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    filter.focus()
    filter.select()
  })
  filter.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || filter.value === '') return
    event.preventDefault()
    filter.value = ''
    emptied()
  })
}
