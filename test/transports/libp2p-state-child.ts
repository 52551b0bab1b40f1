import { encodeState, writeState } from '../../src/transports/libp2p/state-file.ts'
import { strangers } from './libp2p-state-peers.ts'

// Writes one state file again and again until it is killed.
const [path = '', size = '1'] = process.argv.slice(2)
const peers = await strangers(Number(size))
for (let n = 0; ; n++) {
  await writeState(path, encodeState('rollcall', peers.slice(n % 2)))
  if (n === 0) process.stdout.write('writing\n')
}
