import { LIBRARY_VERSION } from '../version.ts'
import { answers, open, OPEN, path, query, read, refuses, tells, write } from './openapi-parts.ts'
import { flag, listOf, oneOf, record, ref, SCHEMAS, state, text } from './openapi-schemas.ts'
import type { OpenApi } from './openapi-types.ts'

const NAME = path('name', { ...text, minLength: 1 }, 'Of a service.')
const ID = path(
  'id',
  { ...text, pattern: '^[A-Za-z0-9._~-]{1,128}$' },
  'Of a registration, chosen by the client.',
)

const VERSION = query(
  'version',
  "A requirement in Elixir's or npm's grammar. A bare version asks for its major version.",
)

const FILTERS = [
  query('node', 'Only on this node, by id or name.'),
  query('function', 'Only those that offer this function, as name/arity.'),
  query('state', 'Only in this state. Default: ready.', { ...state, enum: [...(state.enum ?? []), 'any'] }),
  query('capability', 'Only those whose capability of this name is ready.'),
  query(
    'prerelease',
    'Whether requirements that name no pre-release admit one.',
    oneOf('include', 'exclude'),
  ),
]

const STALE = [
  query('stale', 'What is answered when nothing would be.', oneOf('fail-closed', 'keep-last')),
  query('maxStaleMs', 'For how long what was stands in.', { type: 'number', minimum: 1 }),
]

const LOOKUP = [
  NAME,
  VERSION,
  ...FILTERS,
  query('zone', 'Prefers instances of this zone.'),
  query('minZoneInstances', 'How many it must have for others to be left out.', {
    type: 'integer',
    minimum: 1,
  }),
  query(
    'balance',
    'How instances take turns.',
    oneOf('round-robin', 'random', 'weighted', 'least-pending', 'hash', 'first'),
  ),
  query('key', 'What the balance hash goes by.'),
  ...STALE,
]

const LAST_EVENT_ID = query(
  'lastEventId',
  'Goes on after this event. The header Last-Event-ID does too, and comes first.',
)

const GONE = refuses('There is no registration of this id, or its lease has run out.')

/** What `rollcall/http` answers, for programs. */
export const OPENAPI: OpenApi = {
  openapi: '3.1.1',
  info: {
    title: 'rollcall',
    version: LIBRARY_VERSION,
    summary: 'Who offers which service in a cluster, as one of its nodes sees it.',
    description:
      'Answers come from the replica of the node that is asked. Every GET may be a HEAD; other methods than those listed are answered ' +
      'by 405 and Allow, other paths by 404, both with a problem.',
  },
  servers: [{ url: '.' }],
  paths: {
    '/v1/services': {
      get: read(
        'services',
        'All instances, in every state.',
        [query('node', 'Only on this node, by id or name.')],
        {
          '200': answers(
            'By name, then the highest version first.',
            record({
              node: record({ id: text, name: text }),
              degraded: flag,
              services: listOf(ref('Instance')),
            }),
          ),
        },
      ),
    },
    '/v1/services/{name}': {
      get: read(
        'service',
        'The instances of a service.',
        [NAME, VERSION, query('zone', 'Only in this zone.'), ...FILTERS],
        {
          '200': answers(
            'The highest version first; none when there are none.',
            record({ service: text, degraded: flag, instances: listOf(ref('Instance')) }),
          ),
        },
      ),
    },
    '/v1/lookup/{name}': {
      get: read('lookup', 'One instance to call, in turn with its like.', LOOKUP, {
        '200': answers('An instance.', ref('Hit')),
        '404': {
          description: 'There is none. The code says why.',
          content: { 'application/problem+json': { schema: ref('Miss') } },
        },
      }),
    },
    '/v1/explain/{name}': {
      get: read('explain', 'Why each instance is or is not returned by a lookup.', LOOKUP, {
        '200': answers(
          'In the order in which a lookup considers them.',
          record({ service: text, explanations: listOf(ref('Explanation')) }),
        ),
      }),
    },
    '/v1/nodes': {
      get: read('nodes', 'The nodes that are known.', [], {
        '200': answers('This one first.', record({ nodes: listOf(ref('Node')) })),
      }),
    },
    '/v1/diagnostics': {
      get: read('diagnostics', 'What the node knows of its own work.', [], {
        '200': answers('Counters are of the time since its start.', ref('Diagnostics')),
      }),
    },
    '/v1/watch/{name}': {
      get: read(
        'watch',
        'The instances of a service, now and at every change.',
        [NAME, VERSION, ...FILTERS, ...STALE, LAST_EVENT_ID],
        {
          '200': tells(
            'Events `snapshot`, with a Snapshot as data. The first is called `reset` where the last id cannot be followed.',
          ),
        },
      ),
    },
    '/v1/events': {
      get: read('events', 'What happens, from now on.', [LAST_EVENT_ID], {
        '200': tells(
          'Events of the registry and its tracker, by their names, with their payloads as data. The first is `begin` for who begins, ' +
            'and `reset` where the last id cannot be followed: then all may have changed.',
        ),
      }),
    },
    '/v1/registrations': {
      get: read('registrations', 'What was registered over HTTP.', [], {
        '200': answers(
          'In the order of their first PUT.',
          record({ registrations: listOf(ref('Registration')) }),
        ),
      }),
    },
    '/v1/registrations/{id}': {
      get: read('registration', 'One registration.', [ID], {
        '200': answers('As it is.', ref('Registration')),
        '404': GONE,
      }),
      put: write(
        'register',
        'Registers a service for as long as its lease, or changes it to exactly this and renews it.',
        [ID],
        { required: true, name: 'RegistrationBody' },
        {
          '200': answers('It was there.', ref('Registration')),
          '201': answers('It is new.', ref('Registration')),
          '409': refuses('The id is that of a registration of another name or version.'),
        },
      ),
      delete: write('unregister', 'Ends a registration.', [ID], undefined, {
        '204': { description: 'It has ended.' },
        '404': GONE,
      }),
    },
    '/v1/registrations/{id}/renew': {
      post: write(
        'renew',
        'Starts the lease anew, and says in which state the service is.',
        [ID],
        { required: false, name: 'RenewalBody' },
        { '200': answers('Renewed.', ref('Registration')), '404': GONE },
      ),
    },
    '/v1/registrations/{id}/drain': {
      post: write(
        'drain',
        'Tells everybody that no new work is to come, and ends the registration after graceMs.',
        [ID],
        { required: false, name: 'DrainBody' },
        { '202': answers('It drains.', ref('Registration')), '404': GONE },
      ),
    },
    '/healthz': {
      get: open('health', 'Whether the process answers, with an open registry.', {
        '200': answers('It does.', record({ status: { const: 'ok' } })),
        '503': answers('The registry is closed or closing.', record({ status: { const: 'closed' } })),
      }),
    },
    '/readyz': {
      get: open('readiness', 'Whether the node is worth asking.', {
        '200': answers('It is.', record({ status: { const: 'ready' } })),
        '503': answers(
          'It is closed, has met nobody yet, or has lost sight of most others.',
          record({ status: { const: 'unready' }, why: oneOf('closed', 'joining', 'isolated') }),
        ),
      }),
    },
    '/openapi.json': {
      get: open('openapi', 'This document.', {
        '200': answers('OpenAPI 3.1.', { type: 'object' }),
        ...OPEN,
      }),
    },
  },
  components: {
    schemas: SCHEMAS,
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  },
}
