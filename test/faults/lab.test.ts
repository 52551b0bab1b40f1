import { describe, expect, test } from 'vitest'
import { whyNot } from './lab.ts'
import { missing } from './suite.ts'

describe('the lab', () => {
  test('this machine can have one', ({ skip }) => {
    if (missing !== undefined) {
      process.stdout.write(`      no faults are tried on hosts here: ${missing}\n`)
      skip(missing)
    }
    expect(whyNot()).toBeUndefined()
  })
})
