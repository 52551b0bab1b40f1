import { hkdfSync } from 'node:crypto'
import { fromString } from 'uint8arrays/from-string'
import { toString } from 'uint8arrays/to-string'

/**
 * The libp2p pre-shared key (the text of a `swarm.key` file) made of a cluster's secret, for nodes that the
 * caller builds: pass it to `preSharedKey({ psk })` of either line's pnet.
 */
export function swarmKey(secret: string | Uint8Array): Uint8Array {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'rollcall pre-shared key 1', 32))
  return fromString(`/key/swarm/psk/1.0.0/\n/base16/\n${toString(key, 'base16')}`)
}
