/** The latest moment that a `Date` can hold, ms since the epoch. */
const LATEST_MS = 8_640_000_000_000_000

const two = (part: number): string => String(part).padStart(2, '0')

/** A moment in ms since the epoch as `2026-03-01 14:05:09`, in the time zone of the reader; '' for none. */
export function dayAndTime(ms: number): string {
  if (!(ms > 0 && ms <= LATEST_MS)) return ''
  const date = new Date(ms)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${timeOfDay(ms)}`
}

/** As `14:05:09`. */
export function timeOfDay(ms: number): string {
  const date = new Date(ms)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** A length of time as people say it: `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function span(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}
