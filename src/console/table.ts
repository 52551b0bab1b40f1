import { inspect } from 'node:util'

/** A column, and the text of its cell for an item. */
export type Columns<T> = Readonly<Record<string, (item: T) => string>>

/** Below it a column says nothing any more. */
const MIN_CELL_WIDTH = 6
const GAP = '  '

/**
 * One line per item under a line of names, at most `width` characters wide as long as cutting cells does it: the widest
 * first, but the last column never. Columns without a word are left out. Whatever cells hold is shown escaped.
 */
export function printTable<T>(items: readonly T[], columns: Columns<T>, width: number): string {
  const rows = items.map((item) => Object.values(columns).map((cell) => printable(cell(item))))
  const all = [Object.keys(columns), ...rows]
  const kept = Object.keys(columns).flatMap((_, at) => (rows.some((row) => row[at] !== '') ? [at] : []))
  const lines = all.map((row) => kept.map((at) => row[at] ?? ''))
  const widths = fitWidths(
    kept.map((_, at) => Math.max(...lines.map((line) => lengthOf(line[at] ?? '')))),
    width,
  )
  return lines
    .map((line) =>
      line
        .map((cell, at) => fitCell(cell, widths[at]))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/** How wide each column may be. The last is never cut: its width is for others to go by. */
function fitWidths(wanted: readonly number[], width: number): number[] {
  const widths = [...wanted]
  const cuttable = widths.slice(0, -1)
  let excess = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1)) - width
  while (excess > 0) {
    const widest = Math.max(...cuttable)
    if (widest <= MIN_CELL_WIDTH) break
    cuttable[cuttable.indexOf(widest)] = widest - 1
    excess -= 1
  }
  return [...cuttable, ...widths.slice(-1)]
}

function fitCell(cell: string, width = 0): string {
  const length = lengthOf(cell)
  if (length <= width) return cell + ' '.repeat(width - length)
  return `${Array.from(cell)
    .slice(0, width - 1)
    .join('')}…`
}

const lengthOf = (text: string): number => Array.from(text).length

/** The text with whatever would steer a terminal, hide or turn its neighbours written out: `\u{1b}`. */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )

/** A copy of the list or record that a console shows in this way, and that is otherwise as it was. */
export function shownAs<T extends object>(value: T, print: () => string): T {
  const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }) as T
  return Object.defineProperty(copy, inspect.custom, { value: print })
}
