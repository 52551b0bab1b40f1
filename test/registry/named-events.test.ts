import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { RollcallError } from '../../src/errors.ts'
import { NAMED_EVENTS, onNamedEvents, type NamedEvent } from '../../src/registry/named-events.ts'
import type { Registry } from '../../src/registry/registry.ts'

/** What emits in the place of a registry and its tracker. */
function sources() {
  const [services, tracker] = [new EventEmitter(), new EventEmitter()]
  const registry = Object.assign(services, { tracker }) as unknown as Registry
  return { services, tracker, registry }
}

test('each event is told by its name, the parts of its payload by theirs', () => {
  const { services, tracker, registry } = sources()
  const told: [NamedEvent, unknown][] = []
  onNamedEvents(registry, NAMED_EVENTS, (event, payload) => told.push([event, payload]))
  for (const event of NAMED_EVENTS) {
    // Of these two, each hears its own alone.
    services.emit(event, { of: 'registry' })
    tracker.emit(event, 'p1', 'p2', 'p3')
  }
  const one = { of: 'registry' }
  expect(Object.fromEntries(told)).toEqual({
    service_up: one,
    service_down: one,
    service_changed: one,
    service_rejected: one,
    service_stale: one,
    degraded: one,
    restored: one,
    node_up: { node: 'p1' },
    node_down: { node: 'p1', reason: 'p2' },
    node_dead: { node: 'p1', reason: 'p2' },
    node_purged: { node: 'p1' },
    node_suspected: { node: 'p1', why: 'p2' },
    node_flapping: { node: 'p1' },
    node_trusted: { node: 'p1' },
    isolated: { silent: 'p1', known: 'p2' },
    isolation_ended: { silent: 'p1', known: 'p2' },
    name_conflict: { older: 'p1', newer: 'p2' },
    rejected: { from: 'p1', code: 'p2', message: 'p3' },
    problem: { where: 'p1', error: 'p2' },
  })
  expect(told).toHaveLength(NAMED_EVENTS.length)
})

test('an error is told as JSON can carry it', () => {
  const { tracker, registry } = sources()
  const told: unknown[] = []
  onNamedEvents(registry, ['problem'], (_, payload) => told.push(payload))
  tracker.emit('problem', 'somewhere', new RollcallError('ROLLCALL_PEER_UNREACHABLE', 'nobody'))
  expect(told).toEqual([
    { where: 'somewhere', error: { code: 'ROLLCALL_PEER_UNREACHABLE', message: 'nobody' } },
  ])
})

test('only those asked for are told, until it is stopped', () => {
  const { services, tracker, registry } = sources()
  const told: NamedEvent[] = []
  const stop = onNamedEvents(registry, ['service_up', 'node_up'], (event) => told.push(event))
  services.emit('service_up', {})
  services.emit('service_down', {})
  tracker.emit('node_up', {})
  expect(told).toEqual(['service_up', 'node_up'])
  stop()
  expect([...services.eventNames(), ...tracker.eventNames()]).toEqual([])
})
