import { inspect } from 'node:util'
import { createRegistry, type Registry } from 'rollcall'
import { addressesOf, answerOf, call, countAnswers, servicesOf, untilGone, WANTED } from './demo/observe.ts'
import { Processes, type Role } from './demo/processes.ts'
import { line, ms, scene, tally } from './demo/timeline.ts'

// Three processes offer services, die, leave and return; a fourth, this one, tells what it sees: npm run demo

const ALPHA: Role = {
  name: 'alpha',
  services: [
    { name: 'MasterData', version: '2.1.0' },
    { name: 'Billing', version: '1.0.0' },
  ],
}
const BETA: Role = { name: 'beta', services: [{ name: 'MasterData', version: '2.2.0' }] }
const GAMMA: Role = { name: 'gamma', services: [{ name: 'MasterData', version: '2.2.0' }] }

/** All of it takes a few seconds, most of which Node needs to start five processes. */
const DEMO_MS = 18_000

const CALLS = 10

/** Lookups after a node was killed, to see that it stays gone. */
const LOOKUPS_AFTER = 1_000

const processes = new Processes()
const { failed } = processes

async function play(registry: Registry): Promise<void> {
  registry.on('service_up', ({ instance }) => {
    line(`+ ${instance.name} ${instance.version} on ${instance.nodeName}, ${instance.address ?? ''}`)
  })
  registry.on('service_down', ({ instance, reason }) => {
    line(`- ${instance.name} ${instance.version} on ${instance.nodeName}: ${reason}`)
  })
  registry.tracker.on('node_up', ({ name }) =>
    line(`+ node ${name}, pid ${processes.pid(name) ?? 'unknown'}`),
  )
  registry.tracker.on('node_down', ({ name }, reason) => line(`- node ${name}: ${reason}`))

  await start(registry, [ALPHA, BETA, GAMMA])
  ask(registry)
  await callInTurn(registry)
  await kill(registry, BETA)
  await close(registry, GAMMA)
  await restart(registry, BETA)
  scene('The whole registry, as registry.services() has it now:')
  console.log(`\n${inspect(registry.services())}\n`.replaceAll(/^(?=.)/gm, '  '))
}

async function start(registry: Registry, roles: readonly Role[]): Promise<void> {
  scene(`The observer is up, pid ${process.pid}. Three processes are started.`)
  for (const role of roles) processes.start(role, addressesOf(registry))
  await processes.step('all services are up', () =>
    Promise.all(roles.map((role) => servicesOf(registry, role, failed))),
  )
}

function ask(registry: Registry): void {
  scene('Lookups, answered at once and from memory:')
  const questions = [
    ['MasterData', '2.0.0', 'a bare version means its major; the highest is taken'],
    ['MasterData', '== 2.1.0', 'this one and no other'],
    ['MasterData', '^2.2', 'a range as npm has them'],
    ['MasterData', '3.0.0', 'it is offered, but in no 3.x'],
    ['Weather', '1.0.0', 'nobody offers it'],
  ] as const
  for (const [name, requirement, remark] of questions) {
    const question = `${name} '${requirement}'`.padEnd(21)
    line(`${question}  ->  ${answerOf(registry, name, requirement).padEnd(14)}  ${remark}`)
  }
}

async function callInTurn(registry: Registry): Promise<void> {
  scene(`${CALLS} calls over HTTP, each to what a lookup of ${WANTED} returns:`)
  const answers = await processes.step('calls are answered', () => call(registry, CALLS, failed))
  line(`answered by ${tally(answers)}`)
}

async function kill(registry: Registry, { name }: Role): Promise<void> {
  scene(`${name} is killed (SIGKILL), so it cannot say goodbye.`)
  const end = (): void => processes.signal(name, 'SIGKILL')
  const gone = await processes.step(`${name} is gone`, () => untilGone(registry, name, end, failed))
  const later = await countAnswers(registry, name, LOOKUPS_AFTER, failed)
  line(`${name} was listed for ${ms(gone.afterMs)} more. A tight loop of lookups was sent to it`)
  line(`${gone.misled} times of ${gone.lookups} meanwhile, and ${later} times of ${LOOKUPS_AFTER} since.`)
  const answers = await processes.step('calls are answered', () => call(registry, CALLS, failed))
  line(`The next ${CALLS} calls are answered by ${tally(answers)}`)
  if (later > 0) throw new Error(`${name} was dead and gone, and yet returned by ${later} lookups`)
}

async function close(registry: Registry, { name }: Role): Promise<void> {
  scene(`${name} is asked to end (SIGTERM), so it closes its registry before its server.`)
  const end = (): void => processes.signal(name, 'SIGTERM')
  const gone = await processes.step(`${name} is gone`, () => untilGone(registry, name, end, failed))
  line(`${name} was listed for ${ms(gone.afterMs)} more`)
  line(`${WANTED}  ->  ${answerOf(registry, 'MasterData', '^2.2')}`)
  line(`MasterData '2.0.0'  ->  ${answerOf(registry, 'MasterData', '2.0.0')}`)
  const code = await processes.step(`${name} ends`, () => processes.ended(name))
  if (code !== 0) throw new Error(`${name} was asked to end, and ended with ${code ?? 'a signal'}`)
}

async function restart(registry: Registry, role: Role): Promise<void> {
  scene(`${role.name} is started again.`)
  const startedAt = Date.now()
  processes.start(role, addressesOf(registry))
  const [service] = await processes.step(`${role.name} is back`, () => servicesOf(registry, role, failed))
  const registeredAt = service?.since ?? startedAt
  line(
    `${role.name} is back: ${ms(registeredAt - startedAt)} to start its process, ${ms(Date.now() - registeredAt)} to be seen here`,
  )
}

const deadline = setTimeout(
  () => processes.fail(new Error(`the demo did not end within ${DEMO_MS} ms`)),
  DEMO_MS,
)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => processes.fail(new Error(signal)))

try {
  console.log(
    'Four processes on this machine find each other; one of them, the observer, tells what it sees.',
  )
  console.log('There is no server: each holds the whole registry, and a lookup asks nobody else.')
  await using registry = await createRegistry({ name: 'observer', flush: 'eager' })
  await play(registry)
  scene('The end.')
} catch (error) {
  const reason: unknown = failed.aborted ? failed.reason : error
  console.error(`\nThe demo failed: ${reason instanceof Error ? reason.message : String(reason)}`)
  process.exitCode = 1
} finally {
  clearTimeout(deadline)
  await processes.endAll()
}
