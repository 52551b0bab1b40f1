import { createRegistry } from 'rollcall'
const t0 = Date.now()
const boot = performance.now()
const a = await createRegistry({ name: 'a', flush: 'eager' })
const b = await createRegistry({ name: 'b', flush: 'eager', join: a.nodes()[0]!.addresses })
await b.close()
await a.close()
console.log('boot', boot|0, 'closed', Date.now() - t0, process.getActiveResourcesInfo())
process.on('exit', () => console.log('exit', Date.now() - t0))
