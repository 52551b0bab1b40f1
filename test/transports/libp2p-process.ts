import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { NodeId } from '../../src/core/frame.ts'
import type { Libp2pTransportOptions } from '../../src/transports/libp2p/index.ts'

export interface ChildNode {
  readonly id: NodeId
  readonly addresses: readonly string[]
  readonly process: ChildProcess
  /** Lines it says after the first. */
  readonly lines: Interface
  /** Ends the process for good, whatever state it is in. */
  end(): Promise<void>
}

/** A default node in a process of its own. */
export async function spawnNode(options: Libp2pTransportOptions = {}): Promise<ChildNode> {
  const script = fileURLToPath(new URL('./libp2p-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  const [line] = (await once(lines, 'line')) as [string]
  const { id, addresses } = JSON.parse(line) as { id: NodeId; addresses: string[] }
  return {
    id,
    addresses,
    process: child,
    lines,
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}
