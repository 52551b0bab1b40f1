import { describe, expect, test } from 'vitest'
import {
  allSee,
  cluster,
  LINES,
  offer,
  open,
  pass,
  PERIOD_MS,
  place,
  prepare,
  print,
  start,
  startProcess,
  told,
  useProcesses,
  type Member,
} from './cluster.ts'
import type { Setup } from './node.ts'

useProcesses()

const RESTARTS = 20

/** Starts a successor in a process that has loaded its code already, so that it comes within ms. */
async function succeed(setup: Setup): Promise<Member> {
  const member = await open(startProcess(), setup)
  prepare(1)
  await offer(member, 'restarted')
  return member
}

/** Waits until each observer was told so often of the service. */
async function expectTold(observers: readonly Member[], times: number): Promise<void> {
  for (const observer of observers) {
    await observer.child.seen('service_up', () => told(observer, 'restarted').length >= times)
  }
}

describe.each(LINES.slice(0, 2))('$called', ({ lines }) => {
  const [line] = lines

  test(
    'C45 C63: killed and restarted 20 times with one identity: never a conflict, always seen again',
    {
      timeout: 120_000,
    },
    async () => {
      const observers = await cluster(2, lines)
      const join = [observers[0]!.address]
      const setup: Setup = { line, name: 'restarted', join, identityFile: place('identity') }
      let victim = await succeed(setup)
      await allSee(observers, 'restarted', [victim])
      const { id, address } = victim
      const gaps: number[] = []
      for (let round = 1; round <= RESTARTS; round++) {
        const at = await victim.child.kill()
        victim = await succeed({ ...setup, listen: address })
        expect(victim.id).toBe(id)
        await expectTold(observers, 2 * round + 1)
        for (const observer of observers) gaps.push(told(observer, 'restarted').at(-1)!.at - at)
        expect(victim.child.find('error')).toBeUndefined()
      }
      print(`killed → seen again, ${RESTARTS} times`, gaps)
      await allSee([...observers, victim], 'restarted', [victim])
      await pass(3 * PERIOD_MS)
      expect(await victim.child.ask('closed')).toBe(false)
      // Down of the old before up of the new, each once, every time.
      const expected = Array.from({ length: 2 * RESTARTS + 1 }, (_, index) =>
        index % 2 === 0 ? 'service_up' : 'service_down',
      )
      for (const observer of observers) {
        expect(told(observer, 'restarted').map(({ kind }) => kind)).toEqual(expected)
        const instances = told(observer, 'restarted').map(({ text }) => text)
        for (let index = 1; index < instances.length; index += 2)
          expect(instances[index]).toBe(instances[index - 1])
        expect(new Set(instances).size).toBe(RESTARTS + 1)
      }
    },
  )

  test(
    'a new identity on the same port: the old one down, then the new one up',
    { timeout: 60_000 },
    async () => {
      const observers = await cluster(2, lines)
      const setup: Setup = { line, name: 'restarted', join: [observers[0]!.address] }
      const first = await succeed(setup)
      await allSee(observers, 'restarted', [first])
      await first.child.kill()
      const second = await succeed({ ...setup, listen: first.address })
      expect(second.id).not.toBe(first.id)
      await allSee([...observers, second], 'restarted', [second])
      await pass(3 * PERIOD_MS)
      for (const observer of observers) {
        const seen = told(observer, 'restarted').map(({ kind, node }) => [kind, node])
        expect(seen).toEqual([
          ['service_up', first.id],
          ['service_down', first.id],
          ['service_up', second.id],
        ])
      }
    },
  )

  test('closed and restarted with one identity: left, then up', { timeout: 60_000 }, async () => {
    const observers = await cluster(2, lines)
    const setup: Setup = {
      line,
      name: 'restarted',
      join: [observers[0]!.address],
      identityFile: place('identity'),
    }
    const first = await succeed(setup)
    await allSee(observers, 'restarted', [first])
    await first.child.ask('close')
    await first.child.ended
    const second = await succeed({ ...setup, listen: first.address })
    await allSee([...observers, second], 'restarted', [second])
    await pass(3 * PERIOD_MS)
    for (const observer of observers) {
      const seen = told(observer, 'restarted').map(({ kind, reason }) => [kind, reason])
      expect(seen).toEqual([
        ['service_up', undefined],
        ['service_down', 'left'],
        ['service_up', undefined],
      ])
    }
  })
})

describe.each(LINES.slice(0, 2))('$called', ({ lines }) => {
  const [line] = lines

  test(
    'C40: of two live processes with one identity one yields, loudly, and the other lives on',
    {
      timeout: 60_000,
    },
    async () => {
      const [witness, other] = (await cluster(2, lines)) as [Member, Member]
      const setup: Setup = {
        line,
        name: 'twin',
        join: [witness.address],
        identityFile: place('identity'),
        mesh: { memberGraceMs: 1_000, maxBackoffMs: 1_000 },
      }
      const first = await start(setup)
      await offer(first, 'of-first')
      await allSee([witness, other], 'of-first', [first])
      const second = await start({ ...setup, join: [other.address] })
      await offer(second, 'of-second')
      expect(second.id).toBe(first.id)

      const yielded = await Promise.any(
        [first, second].map(async (twin) => {
          const { code } = await twin.child.seen('error')
          expect(code).toBe('ROLLCALL_IDENTITY_CONFLICT')
          return twin
        }),
      )
      // The one that yields has closed, so its process ends.
      await yielded.child.ended
      const [survivor, kept, gone] =
        yielded === first ? [second, 'of-second', 'of-first'] : [first, 'of-first', 'of-second']
      await allSee([witness, other, survivor], kept, [survivor])
      await allSee([witness, other, survivor], gone, [])
      const marks = [witness, other].map(({ child }) => child.happenings.length)
      await pass(10 * PERIOD_MS)
      for (const [index, { child }] of [witness, other].entries()) {
        const later = child.happenings.slice(marks[index])
        expect(later.filter(({ node }) => node === survivor.id)).toEqual([])
        const changes = child.happenings.filter(
          ({ kind, node }) => kind === 'node_up' && node === survivor.id,
        )
        print(`lives of the identity that ${index === 0 ? 'a witness' : 'another'} saw`, [changes.length])
        expect(changes.length).toBeLessThan(10)
      }
      expect(survivor.child.find('error')).toBeUndefined()
      expect(await survivor.child.ask('closed')).toBe(false)
    },
  )
})
