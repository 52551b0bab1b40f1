import { rollingRestarts } from '../../test/processes/rolling.ts'
import type { Row } from './report.ts'

const ROUNDS = 10

/** C51: requests that fail while three HTTP servers are restarted in turn, under load through a balancer. */
export async function rolling(): Promise<Row[]> {
  const { requests, failures, restarts } = await rollingRestarts(ROUNDS)
  for (const failure of failures) console.log(failure)
  return [
    {
      what: `requests that failed over ${restarts} restarts of three servers`,
      figure: `${failures.length} of ${requests}`,
      budget: '0',
      kept: failures.length === 0,
    },
  ]
}
