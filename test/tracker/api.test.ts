import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json.ts'
import { RollcallError } from '../../src/errors.ts'
import { Monitor, monitorState } from '../../src/tracker/monitor.ts'
import type { Tracker } from '../../src/tracker/tracker.ts'
import { encodeBeat } from '../../src/wire/gossip.ts'
import { codeOf } from '../wire/codes.ts'
import { lone, type Lone } from './stub-transport.ts'
import { nextUncaught } from './uncaught.ts'

const PERIOD_MS = 1_500

/** All that a failed call must leave as it was. */
function stateOf({ tracker, transport }: Lone) {
  return {
    entries: tracker.topics().flatMap((topic) => tracker.list(topic)),
    nodes: tracker.nodes(),
    published: transport.published.length,
  }
}

/** One open monitor with one entry, one closed monitor, and what a call may do to them. */
async function prepared(options: Parameters<typeof lone>[0] = {}) {
  const node = await lone({ flush: 'eager', ...options })
  const monitor = new Monitor()
  const closed = new Monitor()
  const ref = node.tracker.track(monitor, 'topic', 'key', { n: 1 })
  closed.close()
  await node.clock.advance(PERIOD_MS)
  const diffs: unknown[] = []
  node.tracker.on('diff', (diff) => diffs.push(diff))
  return { ...node, monitor, closed, ref, diffs }
}

type Prepared = Awaited<ReturnType<typeof prepared>>

/** Runs a call that must fail with a code, and shows that it changed nothing: not now, not on the wire, not later. */
async function expectRefused(
  node: Prepared,
  code: string,
  call: (tracker: Tracker) => unknown,
): Promise<void> {
  const { tracker, monitor, clock, transport, ref, diffs } = node
  const before = stateOf(node)
  expect(codeOf(() => call(tracker))).toBe(code)
  expect(stateOf(node)).toEqual(before)
  expect(diffs).toEqual([])
  // Eager: a write would have made a beat by now.
  await clock.advance(100)
  expect(transport.published).toHaveLength(before.published)
  // The ledger holds what it held, and no version was used up.
  expect(codeOf(() => tracker.track(monitor, 'topic', 'key', 1))).toBe('ROLLCALL_ALREADY_TRACKED')
  expect(tracker.update(monitor, 'topic', 'key', 2)).toBe(ref)
  expect(tracker.getByKey('topic', 'key')[0]?.version).toBe(ref + 1)
  tracker.untrack(monitor)
  expect(tracker.topics()).toEqual(['$node'])
  expect(monitorState(monitor).isObserved).toBe(false)
}

const NO_MONITORS: readonly unknown[] = [
  undefined,
  null,
  1,
  'monitor',
  {},
  [],
  () => 1,
  new AbortController(),
]
const NO_STRINGS: readonly unknown[] = [
  undefined,
  null,
  1,
  true,
  1n,
  {},
  ['topic'],
  Symbol('topic'),
  () => 'topic',
]
const NO_NAMES = [...NO_STRINGS, '', 'a\u0000', '\ud800']
const NO_METAS: readonly unknown[] = [
  undefined,
  1n,
  NaN,
  Symbol('x'),
  new Date(),
  new Map(),
  [undefined],
  { a: () => 1 },
]
const TOO_LONG = 'x'.repeat(257)

const titled = (values: readonly unknown[]) =>
  values.map((value, index): readonly [string, unknown] => [
    `${index}: ${typeof value === 'string' ? JSON.stringify(value) : Object.prototype.toString.call(value)}`,
    value,
  ])

describe.each(['track', 'update'] as const)('%s', (method) => {
  const act = (tracker: Tracker, monitor: unknown, topic: unknown, key: unknown, meta: unknown): number =>
    tracker[method](monitor as Monitor, topic as string, key as string, meta as Json)

  test.each(titled(NO_MONITORS))('refuses what is no monitor, %s', async (_, monitor) => {
    await expectRefused(await prepared(), 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      act(tracker, monitor, 'topic', 'other', 1),
    )
  })

  test.each(titled(NO_NAMES))('refuses what is no name, %s', async (_, name) => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      act(tracker, node.monitor, name, 'key', 1),
    )
    const other = await prepared()
    await expectRefused(other, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      act(tracker, other.monitor, 'topic', name, 1),
    )
  })

  test.each([
    ['topic', TOO_LONG, 'key'],
    ['key', 'topic', TOO_LONG],
    ['topic of two-byte characters', 'ä'.repeat(129), 'key'],
  ])('refuses a too long %s', async (_, topic, key) => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_LIMIT_EXCEEDED', (tracker) =>
      act(tracker, node.monitor, topic, key, 1),
    )
  })

  test('refuses the reserved topic', async () => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      act(tracker, node.monitor, '$node', tracker.name, { addresses: [] }),
    )
  })

  test.each(titled(NO_METAS))('refuses what is no JSON, %s', async (_, meta) => {
    const key = method === 'track' ? 'other' : 'key'
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_META', (tracker) =>
      act(tracker, node.monitor, 'topic', key, meta),
    )
  })

  test('refuses a meta above its limit', async () => {
    const key = method === 'track' ? 'other' : 'key'
    const node = await prepared({ maxMetaBytes: 100 })
    await expectRefused(node, 'ROLLCALL_LIMIT_EXCEEDED', (tracker) =>
      act(tracker, node.monitor, 'topic', key, 'x'.repeat(99)),
    )
    const other = await prepared({ maxMetaBytes: 100 })
    expect(() => act(other.tracker, other.monitor, 'topic', key, 'x'.repeat(98))).not.toThrow()
  })

  test('refuses when the meta throws while it is read, and throws what it threw', async () => {
    const key = method === 'track' ? 'other' : 'key'
    const node = await prepared()
    const failure = new RollcallError('ROLLCALL_WAIT_TIMEOUT', 'of a getter')
    const meta = {
      get a(): number {
        throw failure
      },
    }
    await expectRefused(node, failure.code, (tracker) => act(tracker, node.monitor, 'topic', key, meta))
  })

  test('refuses a closed monitor', async () => {
    const node = await prepared()
    const code = method === 'track' ? 'ROLLCALL_MONITOR_CLOSED' : 'ROLLCALL_NOT_TRACKED'
    await expectRefused(node, code, (tracker) => act(tracker, node.closed, 'topic', 'key', 1))
  })

  test('the reserved prefix and other topics with a dollar are ordinary', async () => {
    const { tracker, monitor } = await prepared()
    for (const topic of ['$', '$nodes', ' $node', '$NODE', '__proto__']) {
      tracker.track(monitor, topic, 'key', 1)
      if (method === 'update') tracker.update(monitor, topic, 'key', 2)
      expect(tracker.list(topic)).toHaveLength(1)
    }
  })
})

describe('track', () => {
  test('N17: the same monitor, topic and key twice is refused', async () => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_ALREADY_TRACKED', (tracker) =>
      tracker.track(node.monitor, 'topic', 'key', { n: 2 }),
    )
  })

  test('maxEntriesPerNode: refused above it, and a place that comes free is taken', async () => {
    const node = await prepared({ maxEntriesPerNode: 2 })
    const { tracker, monitor } = node
    tracker.track(monitor, 'topic', 'second', 1)
    expect(codeOf(() => tracker.track(monitor, 'topic', 'third', 1))).toBe('ROLLCALL_LIMIT_EXCEEDED')
    expect(codeOf(() => tracker.track(new Monitor(), 'topic', 'third', 1))).toBe('ROLLCALL_LIMIT_EXCEEDED')
    expect(tracker.list('topic')).toHaveLength(2)
    expect(tracker.update(monitor, 'topic', 'second', 2)).toBeGreaterThan(0)
    tracker.untrack(monitor, 'topic', 'second')
    expect(codeOf(() => tracker.track(monitor, 'topic', 'third', 1))).toBe('nothing')
    monitor.close()
    const other = new Monitor()
    tracker.track(other, 'topic', 'one', 1)
    tracker.track(other, 'topic', 'two', 1)
    expect(codeOf(() => tracker.track(other, 'topic', 'three', 1))).toBe('ROLLCALL_LIMIT_EXCEEDED')
  })

  test('a meta that tracks the same while it is read does not track it twice', async () => {
    const { tracker, monitor } = await prepared()
    const meta = {
      get a(): number {
        return tracker.track(monitor, 'topic', 'twice', 'inner')
      },
    }
    expect(codeOf(() => tracker.track(monitor, 'topic', 'twice', meta))).toBe('ROLLCALL_ALREADY_TRACKED')
    expect(tracker.getByKey('topic', 'twice').map((entry) => entry.meta)).toEqual(['inner'])
    tracker.untrack(monitor)
    expect(tracker.list('topic')).toEqual([])
  })

  test('a meta that closes the monitor while it is read is not tracked', async () => {
    const { tracker, monitor, diffs } = await prepared()
    const meta = {
      get a(): number {
        monitor.close()
        return 1
      },
    }
    expect(codeOf(() => tracker.track(monitor, 'topic', 'late', meta))).toBe('ROLLCALL_MONITOR_CLOSED')
    expect(tracker.list('topic')).toEqual([])
    expect(diffs).toHaveLength(1)
  })

  test('a meta that closes the tracker while it is read is not tracked', async () => {
    const { tracker, monitor, transport } = await prepared()
    const meta = {
      get a(): number {
        void tracker.close()
        return 1
      },
    }
    expect(codeOf(() => tracker.track(monitor, 'topic', 'late', meta))).toBe('ROLLCALL_CLOSED')
    await tracker.close()
    expect(transport.beats.at(-1)).toMatchObject({ left: true, to: 2 })
    expect(monitorState(monitor).isObserved).toBe(false)
  })

  test('metas are copied: neither the caller nor a reader changes what is tracked', async () => {
    const { tracker, monitor } = await prepared()
    const meta = { list: [1] }
    tracker.track(monitor, 'topic', 'copy', meta)
    meta.list.push(2)
    const [entry] = tracker.getByKey('topic', 'copy')
    expect(entry?.meta).toEqual({ list: [1] })
    expect(() => (entry?.meta as { list: number[] }).list.push(3)).toThrow(TypeError)
    tracker.list('topic').length = 0
    expect(tracker.list('topic')).toHaveLength(2)
  })
})

describe('update', () => {
  test('N16: what is not tracked is refused', async () => {
    for (const [topic, key] of [
      ['topic', 'other'],
      ['other', 'key'],
      ['key', 'topic'],
    ] as const) {
      const node = await prepared()
      await expectRefused(node, 'ROLLCALL_NOT_TRACKED', (tracker) =>
        tracker.update(node.monitor, topic, key, 1),
      )
    }
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_NOT_TRACKED', (tracker) =>
      tracker.update(new Monitor(), 'topic', 'key', 1),
    )
  })

  test('N16: the function is not called for what is not tracked', async () => {
    const { tracker, monitor } = await prepared()
    let calls = 0
    expect(codeOf(() => tracker.update(monitor, 'topic', 'other', () => ++calls))).toBe(
      'ROLLCALL_NOT_TRACKED',
    )
    expect(calls).toBe(0)
  })

  test('a function that throws changes nothing, and its error is what is thrown', async () => {
    const node = await prepared()
    const failure = new RollcallError('ROLLCALL_WAIT_TIMEOUT', 'mine')
    await expectRefused(node, failure.code, (tracker) =>
      tracker.update(node.monitor, 'topic', 'key', () => {
        throw failure
      }),
    )
  })

  test.each(titled(NO_METAS))('a function that returns no JSON changes nothing, %s', async (_, meta) => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_META', (tracker) =>
      tracker.update(node.monitor, 'topic', 'key', () => meta as Json),
    )
  })

  test('an async function changes nothing', async () => {
    const node = await prepared()
    const asynchronous = async (): Promise<number> => Promise.resolve(1)
    await expectRefused(node, 'ROLLCALL_INVALID_META', (tracker) =>
      tracker.update(node.monitor, 'topic', 'key', asynchronous as unknown as () => Json),
    )
  })

  test('a function that cannot change the meta it is given in place', async () => {
    const { tracker, monitor } = await prepared()
    expect(() =>
      tracker.update(monitor, 'topic', 'key', (meta) => Object.assign(meta as object, { n: 2 })),
    ).toThrow(TypeError)
    expect(tracker.getByKey('topic', 'key')[0]?.meta).toEqual({ n: 1 })
  })

  test('a function that ends the entry: nothing to update is left', async () => {
    for (const end of ['untrack', 'close', 'closeTracker'] as const) {
      const { tracker, monitor } = await prepared()
      const code = codeOf(() =>
        tracker.update(monitor, 'topic', 'key', () => {
          if (end === 'untrack') tracker.untrack(monitor)
          else if (end === 'close') monitor.close()
          else void tracker.close()
          return 2
        }),
      )
      expect(code).toBe(end === 'closeTracker' ? 'ROLLCALL_CLOSED' : 'ROLLCALL_NOT_TRACKED')
      if (end !== 'closeTracker') expect(tracker.list('topic')).toEqual([])
    }
  })

  test('a function that updates the same entry: the outer meta is the last', async () => {
    const { tracker, monitor, diffs } = await prepared()
    tracker.update(monitor, 'topic', 'key', () => {
      tracker.update(monitor, 'topic', 'key', 'inner')
      return 'outer'
    })
    expect(tracker.list('topic').map((entry) => entry.meta)).toEqual(['outer'])
    expect(diffs).toHaveLength(2)
  })
})

describe('untrack', () => {
  test.each(titled(NO_MONITORS))('refuses what is no monitor, %s', async (_, monitor) => {
    await expectRefused(await prepared(), 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      tracker.untrack(monitor as Monitor),
    )
  })

  test.each(titled(NO_NAMES.filter((name) => name !== undefined)))(
    'refuses what is no name, and removes nothing, %s',
    async (_, name) => {
      const node = await prepared()
      await expectRefused(node, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
        tracker.untrack(node.monitor, name as string),
      )
      const other = await prepared()
      await expectRefused(other, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
        tracker.untrack(other.monitor, 'topic', name as string),
      )
    },
  )

  test('refuses a too long name', async () => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_LIMIT_EXCEEDED', (tracker) => tracker.untrack(node.monitor, TOO_LONG))
    const other = await prepared()
    await expectRefused(other, 'ROLLCALL_LIMIT_EXCEEDED', (tracker) =>
      tracker.untrack(other.monitor, 'topic', TOO_LONG),
    )
  })

  test('refuses a key without its topic, rather than removing all', async () => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      tracker.untrack(node.monitor, undefined, 'key'),
    )
  })

  test('N11: of what is not tracked is nothing', async () => {
    for (const untrack of [
      ({ tracker, monitor }: Prepared) => tracker.untrack(monitor, 'topic', 'other'),
      ({ tracker, monitor }: Prepared) => tracker.untrack(monitor, 'other'),
      ({ tracker, closed }: Prepared) => tracker.untrack(closed),
      ({ tracker }: Prepared) => tracker.untrack(new Monitor(), 'topic', 'key'),
      // What a node says of itself is tied to no monitor.
      ({ tracker, monitor }: Prepared) => tracker.untrack(monitor, '$node', tracker.name),
    ]) {
      const node = await prepared()
      await expectRefused(node, 'nothing', () => untrack(node))
    }
  })
})

describe('reads', () => {
  test.each(titled(NO_STRINGS))('refuse what is no string, %s', async (_, name) => {
    const node = await prepared()
    await expectRefused(node, 'ROLLCALL_INVALID_ARGUMENT', (tracker) => tracker.list(name as string))
    const other = await prepared()
    await expectRefused(other, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      tracker.getByKey(name as string, 'key'),
    )
    const third = await prepared()
    await expectRefused(third, 'ROLLCALL_INVALID_ARGUMENT', (tracker) =>
      tracker.getByKey('topic', name as string),
    )
  })

  test('S13: find nothing under a string that is no name, or is unknown', async () => {
    const { tracker } = await prepared()
    for (const name of ['', 'unknown', TOO_LONG, '\ud800', '__proto__', 'constructor']) {
      expect(tracker.list(name)).toEqual([])
      expect(tracker.getByKey(name, 'key')).toEqual([])
      expect(tracker.getByKey('topic', name)).toEqual([])
    }
  })
})

describe('a closed tracker', () => {
  test('refuses track and update, whoever else is wrong, and lets untrack and reads pass', async () => {
    const { tracker, monitor, closed, transport } = await prepared()
    const closing = tracker.close()
    expect(tracker.closed).toBe(true)
    expect(tracker.close()).toBe(closing)
    await closing
    const published = transport.published.length
    expect(codeOf(() => tracker.track(monitor, 'topic', 'other', 1))).toBe('ROLLCALL_CLOSED')
    expect(codeOf(() => tracker.track(closed, 'topic', 'other', 1))).toBe('ROLLCALL_CLOSED')
    expect(codeOf(() => tracker.update(monitor, 'topic', 'key', 1))).toBe('ROLLCALL_CLOSED')
    let calls = 0
    expect(codeOf(() => tracker.update(monitor, 'topic', 'key', () => ++calls))).toBe('ROLLCALL_CLOSED')
    expect(calls).toBe(0)
    expect(codeOf(() => tracker.untrack(monitor))).toBe('nothing')
    expect(codeOf(() => tracker.list('topic'))).toBe('nothing')
    monitor.close()
    await tracker.close()
    expect(transport.published).toHaveLength(published)
    expect(transport.calls.filter((call) => call === 'stop')).toHaveLength(1)
  })

  test('lets go of its monitors', async () => {
    const { tracker, monitor } = await prepared()
    expect(monitorState(monitor).isObserved).toBe(true)
    await tracker.close()
    expect(monitorState(monitor).isObserved).toBe(false)
  })

  test('says nothing after its goodbye, neither to listeners nor to the network', async () => {
    const { tracker, transport, clock, diffs } = await prepared()
    await tracker.close()
    const said = transport.published.length
    const beat = { incarnation: 5, from: 0, to: 0, writes: [], beat: 1, promiseMs: 100, left: false }
    expect(transport.events?.gossip('other', 'other', encodeBeat(beat, 1_000) ?? Uint8Array.of())).toBe(true)
    const problems: unknown[] = []
    tracker.on('problem', (where) => problems.push(where))
    transport.events?.problem('seed', new RollcallError('ROLLCALL_PEER_UNREACHABLE'))
    transport.events?.connected('other')
    transport.events?.refused('other')
    await clock.advance(100_000)
    expect(transport.published).toHaveLength(said)
    expect(diffs).toEqual([])
    expect(tracker.nodes()).toHaveLength(1)
    expect(problems).toEqual([])
  })

  test('a goodbye that nobody takes ends after leaveTimeoutMs', async () => {
    const { tracker, transport, clock } = await prepared({ leaveTimeoutMs: 200 })
    transport.publish = () => new Promise(() => undefined)
    let closed = false
    void tracker.close().then(() => (closed = true))
    await clock.advance(199)
    expect(closed).toBe(false)
    await clock.advance(2)
    expect(closed).toBe(true)
    expect(transport.calls.at(-1)).toBe('stop')
  })
})

describe('events', () => {
  test('nobody but the tracker fires its events', async () => {
    const { tracker } = await prepared()
    expect(codeOf(() => tracker.emit('diff' as never))).toBe('ROLLCALL_INVALID_ARGUMENT')
  })

  test('N20 N21 (ours): a listener that throws harms neither the call, nor the others, nor the tracker', async () => {
    const { tracker, monitor, clock, transport, diffs } = await prepared()
    const failure = new Error('of a listener')
    tracker.once('diff', () => {
      throw failure
    })
    let later = 0
    tracker.on('diff', () => later++)
    const uncaught = nextUncaught()
    const ref = tracker.track(monitor, 'topic', 'other', 1)
    expect(await uncaught).toBe(failure)
    expect([later, diffs.length, tracker.getByKey('topic', 'other')[0]?.ref]).toEqual([1, 1, ref])
    const before = transport.published.length
    await clock.advance(30_000)
    expect(transport.published.length).toBeGreaterThan(before)
  })

  test('a listener that tracks, untracks and updates: facts go out in their order, after the state', async () => {
    const { tracker, monitor } = await prepared()
    const seen: unknown[] = []
    tracker.on('diff', ({ joins: [join], updates: [update] }) => {
      if (join?.key === 'first') {
        tracker.track(monitor, 'topic', 'second', 1)
        tracker.update(monitor, 'topic', 'first', 2)
      }
      if (update?.entry.key === 'first') tracker.untrack(monitor, 'topic', 'first')
    })
    tracker.on('diff', ({ joins, leaves, updates }) =>
      seen.push([joins, leaves, updates.map(({ entry }) => entry)].map((list) => list.map(({ key }) => key))),
    )
    tracker.track(monitor, 'topic', 'first', 1)
    expect(seen).toEqual([
      [['first'], [], []],
      [['second'], [], []],
      [[], [], ['first']],
      [[], ['first'], []],
    ])
    expect(tracker.list('topic').map(({ key }) => key)).toEqual(['key', 'second'])
  })
})
