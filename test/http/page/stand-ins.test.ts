import { expect, test } from 'vitest'
import { StandIns } from '../../../src/http/page/client/stand-ins.ts'
import type { Explanation } from '../../../src/registry/types.ts'
import { instance } from './made.ts'

const explained = (id: string, reason: Explanation['reason']): Explanation => ({
  instance: instance({ id }),
  node: 'n1',
  returned: reason === 'stale',
  reason,
  text: '',
})

test('those that stand in are asked for again each time, until there are none', async () => {
  const asked: string[] = []
  let answer = [explained('a', 'stale'), explained('b', 'state')]
  const standIns = new StandIns((name) => {
    asked.push(name)
    return Promise.resolve(answer)
  })
  expect(await standIns.read()).toEqual([])
  standIns.suspect('Mail')
  standIns.suspect('Mail')
  expect((await standIns.read()).map(({ id }) => id)).toEqual(['a'])
  expect((await standIns.read()).map(({ id }) => id)).toEqual(['a'])
  answer = [explained('a', 'returned')]
  expect(await standIns.read()).toEqual([])
  expect(await standIns.read()).toEqual([])
  expect(asked).toEqual(['Mail', 'Mail', 'Mail'])
})

test('a name is kept when it cannot be asked for, and when an event tells of it meanwhile', async () => {
  const answers = [
    () => Promise.reject(new Error('gone')),
    () => {
      standIns.suspect('Mail')
      return Promise.resolve([])
    },
    () => Promise.resolve([explained('a', 'stale')]),
  ]
  const standIns = new StandIns(() => answers.shift()!())
  standIns.suspect('Mail')
  await expect(standIns.read()).rejects.toThrow('gone')
  expect(await standIns.read()).toEqual([])
  expect((await standIns.read()).map(({ id }) => id)).toEqual(['a'])
})

test('no more than a hundred names are asked for', async () => {
  let asked = 0
  const standIns = new StandIns(() => {
    asked++
    return Promise.resolve([])
  })
  for (let n = 0; n < 1_000; n++) standIns.suspect(`name ${n}`)
  await standIns.read()
  expect(asked).toBe(100)
})
