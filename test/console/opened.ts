import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach } from 'vitest'
import { attach } from '../../src/console/attach.ts'
import type { AttachEnd } from '../../src/console/attach.ts'
import type { RegistryOptions } from '../../src/registry/options.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { MemoryNetwork } from '../../src/transports/memory/network.ts'
import { memoryTransport } from '../../src/transports/memory/transport.ts'

const undo: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

/** A node alone, called `billing-1`. */
export async function startRegistry(options: Partial<RegistryOptions> = {}): Promise<Registry> {
  const transport = memoryTransport(new MemoryNetwork(), { address: '/memory/a' })
  const registry = await createRegistry({ transport, name: 'billing-1', flush: 'eager', ...options })
  undo.push(() => registry.close())
  return registry
}

/** A folder of this user alone. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rc-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Attached without a terminal. */
export interface Pipe {
  type(text: string): void
  endInput(): void
  /** All that was shown so far. */
  shown(): string
  readonly end: Promise<AttachEnd>
}

export function pipe(path: string): Pipe {
  const input = new PassThrough()
  const output = new PassThrough()
  let shown = ''
  output.setEncoding('utf8').on('data', (text: string) => (shown += text))
  return {
    type: (text) => void input.write(text),
    endInput: () => void input.end(),
    shown: () => shown,
    end: attach(path, { input, output }),
  }
}

/** What is shown of these lines by a session that ends with them. */
export async function say(path: string, text: string): Promise<string> {
  const client = pipe(path)
  client.type(text)
  client.endInput()
  await client.end
  return client.shown()
}
