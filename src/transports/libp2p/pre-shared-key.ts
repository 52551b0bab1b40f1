import { preSharedKey } from '@libp2p/pnet'
import { swarmKey } from './swarm-key.ts'

type Factory = ReturnType<typeof preSharedKey>
type Protector = ReturnType<Factory>
type Connection = Awaited<ReturnType<Protector['protect']>>

/** What the first bytes of every connection are once they are decrypted with the right key. */
const HELLO = Uint8Array.from(Buffer.from('\x13/multistream/1.0.0\n', 'latin1'))

/** Passes on what arrives as long as it begins as it must; with another key it is noise from the first byte. */
async function* guarded(source: Connection['source'], wrongKey: () => Error): Connection['source'] {
  let seen = 0
  for await (const chunk of source) {
    if (seen < HELLO.length) {
      const bytes = chunk.subarray()
      const length = Math.min(bytes.length, HELLO.length - seen)
      for (let index = 0; index < length; index++) {
        if (bytes[index] !== HELLO[seen + index]) throw wrongKey()
      }
      seen += length
    }
    yield chunk
  }
}

/**
 * libp2p's own protection by a pre-shared key, made to notice a wrong key at once. Without this both sides read
 * noise as a length, and wait for that many bytes until they time out.
 *
 * @param stranger - told the address of whoever connected without the key
 */
export function sharedKey(secret: Uint8Array, stranger: (address: string) => void): Factory {
  const factory = preSharedKey({ psk: swarmKey(secret) })
  return (components) => {
    const protector = factory(components)
    const protect: Protector['protect'] = async (connection, options) => {
      const protectedConnection = await protector.protect(connection, options)
      const source = guarded(protectedConnection.source, () => {
        const error = new Error('the peer has another pre-shared key')
        error.name = 'WrongSecretError'
        stranger(connection.remoteAddr.toString())
        connection.abort(error)
        return error
      })
      return { ...protectedConnection, source }
    }
    return { protect }
  }
}
