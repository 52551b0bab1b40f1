import { constants } from 'node:os'
import { inspect } from 'node:util'
import { createRegistry, type Registry } from 'rollcall'
import { addressesOf, answerOf, call, farewell, servicesOf } from './demo/observe.ts'
import { Processes, type Role } from './demo/processes.ts'
import { line, ms, scene, tally } from './demo/timeline.ts'

// Three processes offer services, die, leave and return; a fourth, this one, tells what it sees. Run: npm run demo

const ALPHA: Role = {
  name: 'alpha',
  services: [
    { name: 'MasterData', version: '2.1.0' },
    { name: 'Billing', version: '1.0.0' },
  ],
}
const BETA: Role = { name: 'beta', services: [{ name: 'MasterData', version: '2.2.0' }] }
const GAMMA: Role = { name: 'gamma', services: [{ name: 'MasterData', version: '2.2.0' }] }

const CALLS = 10

/** Longest life of this process. It takes a few seconds, most of which Node needs to start five processes. */
const DEMO_MS = 18_000

const processes = new Processes()
const { failed } = processes

async function play(registry: Registry): Promise<void> {
  registry.on('service_up', ({ instance: { name, version, nodeName, address = '' } }) => {
    line(`+ ${name} ${version} on ${nodeName} at ${address}`)
  })
  registry.on('service_down', ({ instance: { name, version, nodeName }, reason }) => {
    line(`- ${name} ${version} on ${nodeName}: ${reason}`)
  })
  registry.tracker.on('node_up', ({ name }) => line(`+ node ${name}, pid ${processes.pid(name) ?? '?'}`))
  registry.tracker.on('node_down', ({ name }, reason) => line(`- node ${name}: ${reason}`))

  await start(registry, [ALPHA, BETA, GAMMA])
  ask(registry)
  await callInTurn(registry)
  await kill(registry, BETA)
  await close(registry, GAMMA)
  await restart(registry, BETA)
  show(registry)
}

async function start(registry: Registry, roles: readonly Role[]): Promise<void> {
  scene(`The observer runs, pid ${process.pid}. Three more processes are started.`)
  for (const role of roles) processes.start(role, addressesOf(registry))
  await processes.step('all services are seen', () =>
    Promise.all(roles.map((role) => servicesOf(registry, role, failed))),
  )
}

function ask(registry: Registry): void {
  scene('Lookups, answered from memory:')
  const questions = [
    ['MasterData', '2.0.0', 'the highest of all 2.x'],
    ['MasterData', '== 2.1.0', 'exactly this version'],
    ['MasterData', '^2.2', 'a range as in npm'],
    ['MasterData', '3.0.0', 'offered, but not in any 3.x'],
    ['Weather', '1.0.0', 'nobody offers it'],
  ] as const
  for (const [name, requirement, remark] of questions) {
    const question = `${name} '${requirement}'`.padEnd(21)
    line(`${question}  ->  ${answerOf(registry, name, requirement).padEnd(14)}  ${remark}`)
  }
}

async function callInTurn(registry: Registry): Promise<void> {
  scene("Calls over HTTP, each to what a lookup of MasterData '^2.2' returns:")
  const answers = await processes.step('calls are answered', () => call(registry, CALLS, failed))
  line(`${CALLS} calls, answered ${tally(answers)}`)
}

async function kill(registry: Registry, { name }: Role): Promise<void> {
  scene(`${name} is killed (SIGKILL), so it cannot say goodbye.`)
  const { goneMs, lookups, misled, lookupsAfter, misledAfter } = await processes.step(`${name} is gone`, () =>
    farewell(registry, name, () => processes.end(name, 'SIGKILL'), failed),
  )
  line(`gone ${ms(goneMs)} after the kill`)
  const before = `${misled} of ${lookups} returned ${name} until then`
  line(`lookups in a loop: ${before}, ${misledAfter} of ${lookupsAfter} after`)
  const answers = await processes.step('calls are answered', () => call(registry, CALLS, failed))
  line(`${CALLS} calls, answered ${tally(answers)}`)
  if (misledAfter > 0) throw new Error(`${name} was gone, and then returned again`)
}

async function close(registry: Registry, { name }: Role): Promise<void> {
  scene(`${name} is asked to end (SIGTERM), so it closes its registry, and then its server.`)
  const { goneMs, exitCode } = await processes.step(`${name} is gone`, () =>
    farewell(registry, name, () => processes.end(name, 'SIGTERM'), failed),
  )
  line(`gone ${ms(goneMs)} after it was asked`)
  for (const requirement of ['^2.2', '2.0.0']) {
    const question = `MasterData '${requirement}'`.padEnd(18)
    line(`${question}  ->  ${answerOf(registry, 'MasterData', requirement)}`)
  }
  if (exitCode !== 0) throw new Error(`${name} ended by ${exitCode ?? 'a signal'}, not by exit code 0`)
}

async function restart(registry: Registry, role: Role): Promise<void> {
  scene(`${role.name} is started again.`)
  const startedAt = Date.now()
  processes.start(role, addressesOf(registry))
  const [service] = await processes.step(`${role.name} is back`, () => servicesOf(registry, role, failed))
  const registeredAt = service?.since ?? startedAt
  const seenMs = Date.now() - registeredAt
  line(`${ms(registeredAt - startedAt)} until it has registered, ${ms(seenMs)} more until it is seen here`)
}

function show(registry: Registry): void {
  scene('The whole registry, as registry.services() prints:')
  console.log(`\n${inspect(registry.services())}`.replaceAll('\n', '\n'.padEnd(14)))
}

async function main(): Promise<number> {
  const late = new Error(`not done after ${DEMO_MS} ms`)
  const deadline = setTimeout(() => processes.fail(late), DEMO_MS - performance.now())
  let exitCode = 1
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      exitCode = 128 + constants.signals[signal]
      processes.fail(new Error(`interrupted by ${signal}`))
    })
  }
  try {
    console.log('Four processes on this machine find each other. One, the observer, tells what it sees.')
    console.log('There is no server: each process holds the whole registry, and a lookup asks nobody else.')
    console.log('+ marks what the observer begins to see, - what it sees no more. Times are since its start.')
    await using registry = await createRegistry({ name: 'observer', flush: 'eager' })
    await play(registry)
  } catch (error) {
    const reason: unknown = failed.aborted ? failed.reason : error
    console.error(`\nThe demo failed: ${reason instanceof Error ? reason.message : String(reason)}`)
    return exitCode
  } finally {
    clearTimeout(deadline)
    await processes.endAll()
  }
  scene('Done. The other processes have ended.')
  return 0
}

process.exitCode = await main()
