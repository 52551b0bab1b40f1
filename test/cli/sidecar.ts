import { expect, vi } from 'vitest'
import { PATIENCE, rollcall } from '../console/started.ts'
import type { Run } from '../console/started.ts'

/** What a node by itself says when it is ready. */
export interface Ready {
  readonly node: string
  readonly name: string
  readonly addresses: readonly string[]
  readonly url: string
  readonly console?: string
}

export const TOKEN = 'a-token-of-the-tests'

/** A node by itself in a process of its own, ready. Its token is `TOKEN`. */
export async function startSidecar(
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Run & { readonly ready: Ready }> {
  const run = rollcall(['agent', '--json', '--http-port', '0', '--profile', 'local', ...args], {
    ROLLCALL_TOKEN: TOKEN,
    ...env,
  })
  await vi.waitFor(() => expect(run.out()).toContain('\n'), PATIENCE)
  return { ...run, ready: JSON.parse(run.out()) as Ready }
}
