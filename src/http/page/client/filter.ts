/** Whether what is said of a thing has every word of the filter in it, in any case and order. An empty filter keeps all. */
export function matches(filter: string, said: readonly (string | undefined)[]): boolean {
  const words = filter.toLowerCase().split(/\s+/)
  const texts = said.map((text) => text?.toLowerCase() ?? '')
  return words.every((word) => texts.some((text) => text.includes(word)))
}
