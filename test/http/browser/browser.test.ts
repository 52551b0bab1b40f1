import { expect, test } from 'vitest'
import { missing, whyNot } from './browser.ts'

test('this machine has a browser to look at the page with', ({ skip }) => {
  if (missing !== undefined) {
    process.stdout.write(`      the page is not looked at here: ${missing}\n`)
    skip(missing)
  }
  expect(whyNot()).toBeUndefined()
})
