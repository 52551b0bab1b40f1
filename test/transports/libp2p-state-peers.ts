import { generateKeyPair } from '@libp2p/crypto/keys'
import type { KnownPeer } from '../../src/transports/libp2p/state-file.ts'

/** Peers that exist nowhere, at ports of loopback that refuse. */
export async function strangers(count: number, addresses = 1): Promise<KnownPeer[]> {
  const ids = await Promise.all(Array.from({ length: count }, strangerId))
  return ids.map((id, index) => ({
    id,
    addresses: Array.from({ length: addresses }, (_, n) => `/ip4/127.${n}.0.1/tcp/${1 + (index % 9)}`),
  }))
}

async function strangerId(): Promise<string> {
  const { publicKey } = await generateKeyPair('Ed25519')
  return publicKey.toString()
}
