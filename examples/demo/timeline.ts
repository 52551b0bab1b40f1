/** Prints what happens, each line with the ms since the demo was started. */

/** A new scene: what is done now. */
export const scene = (title: string): void => console.log(`\n${stamp()}  ${title}`)

/** What came of it. */
export const line = (text: string): void => console.log(`${stamp()}    ${text}`)

/** `5 of beta, 5 of gamma`, in alphabetical order. */
export function tally(answers: readonly string[]): string {
  const names = [...new Set(answers)].sort()
  return names.map((name) => `${answers.filter((answer) => answer === name).length} by ${name}`).join(', ')
}

export const ms = (duration: number): string => `${Math.round(duration)} ms`

const stamp = (): string => `${Math.round(performance.now())} ms`.padStart(9)
