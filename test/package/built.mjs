// The built package as its users get it: by its own name, through its exports, without any loader.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createRegistry, Monitor, RollcallError } from 'rollcall'
import { openConsole } from 'rollcall/console'
import { serveHttp } from 'rollcall/http'
import { libp2pTransport } from 'rollcall/libp2p'
import { collectMetrics } from 'rollcall/metrics'
import { cluster, simulate } from 'rollcall/testing'

const a = await createRegistry({ name: 'a', flush: 'eager' })
const b = await createRegistry({ name: 'b', transport: await libp2pTransport({ join: a.addresses }) })
const monitor = new Monitor()
a.register({ name: 'S', version: '1.2.0' }, { monitor })
const found = await b.waitFor('S', '~> 1.1', { timeoutMs: 10_000 })
assert.equal(found.node, a.tracker.id)
assert.throws(() => a.register({ name: 'S', version: '1' }), RollcallError)
assert.equal(typeof collectMetrics(a).stop, 'function')
const server = await serveHttp(a, { port: 0 })
const response = await fetch(`${server.url}/v1/lookup/S?version=1.0.0`)
assert.equal((await response.json()).service.version, '1.2.0')
const { path } = await openConsole(b)
const command = ['dist/cli/main.js', 'lookup', 'S', '--json', '--socket', path]
const { stdout } = await promisify(execFile)(process.execPath, command)
assert.equal(JSON.parse(stdout).service.version, '1.2.0')
await Promise.all([a.close(), b.close()])

await simulate({ seed: 1 }, async (net) => {
  const nodes = await cluster(3, { net })
  assert.equal(nodes.length, 3)
})
console.log('the built package works')
