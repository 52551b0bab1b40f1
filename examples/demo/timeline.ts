// Prints what happens, each line with the ms since this process was started.

/** A new scene: what is done now. */
export const scene = (title: string): void => console.log(`\n${stamp()}  ${title}`)

/** What is seen of it. */
export const line = (text: string): void => console.log(`${stamp()}    ${text}`)

export const ms = (duration: number): string => `${Math.round(duration)} ms`

/** `5 by beta, 5 by gamma`: how often each name is in the list, by name. */
export function tally(names: readonly string[]): string {
  const unique = [...new Set(names)].sort()
  return unique.map((name) => `${names.filter((each) => each === name).length} by ${name}`).join(', ')
}

const stamp = (): string => ms(performance.now()).padStart(9)
