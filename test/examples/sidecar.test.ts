import { expect, onTestFinished, test, vi } from 'vitest'
import { createRegistry, type Registry } from '../../src/index.ts'
import { startSidecar, TOKEN } from '../cli/sidecar.ts'
import { lacks, start } from '../console/started.ts'
import type { Run } from '../console/started.ts'

const LEASE_MS = 1_000

/** The script beside its node, and a Node process of the same cluster that wants it: here, this one. */
async function scene(): Promise<{ script: Run; registry: Registry; downs: string[] }> {
  const { ready } = await startSidecar(['--name', 'side'])
  const registry = await createRegistry({ name: 'caller', profile: 'local', join: ready.addresses })
  onTestFinished(() => registry.close())
  const downs: string[] = []
  registry.on('service_down', ({ instance: { name }, reason }) => downs.push(`${name} ${reason}`))
  const env = { ROLLCALL_URL: ready.url, ROLLCALL_TOKEN: TOKEN, LEASE_MS: String(LEASE_MS) }
  const script = start('examples/sidecar.sh', [], env)
  const { address, nodeName, metadata } = await registry.waitFor('Clock', '1.0.0', { timeoutMs: 10_000 })
  expect([address, nodeName, metadata]).toEqual(['127.0.0.1:3700', 'side', { pid: script.child.pid }])
  return { script, registry, downs }
}

const noCurl = lacks('curl', 'the service in shell is not run')

test.skipIf(noCurl)(
  'a service in shell registers, renews, is looked up from Node, dies, and expires',
  async () => {
    const { script, registry, downs } = await scene()
    await new Promise((done) => setTimeout(done, 3 * LEASE_MS))
    expect([registry.lookup('Clock').ok, downs]).toEqual([true, []])
    script.child.kill('SIGKILL')
    await vi.waitFor(() => expect(downs).toEqual(['Clock expired']), { timeout: 5 * LEASE_MS })
    expect(registry.lookup('Clock')).toMatchObject({ ok: false, error: 'noservice' })
    expect(script.errors()).toBe('')
  },
)

test.skipIf(noCurl)('told to stop, it says that it is gone', async () => {
  const { script, downs } = await scene()
  script.child.kill('SIGTERM')
  expect(await script.code).toBe(0)
  await vi.waitFor(() => expect(downs).toEqual(['Clock unregistered']), { timeout: 5_000 })
})
