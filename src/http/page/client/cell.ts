/** How a word is coloured. It never says more than the word does. */
export type Tone = 'good' | 'warn' | 'bad' | 'mild'

export interface Tag {
  readonly text: string
  readonly tone: Tone
}

/** What a cell of a table shows. */
export interface Cell {
  readonly text?: string | undefined
  readonly tags?: readonly Tag[]
  /** Small print below. */
  readonly note?: string | undefined
}
