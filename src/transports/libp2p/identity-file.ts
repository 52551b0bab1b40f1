import { randomBytes } from 'node:crypto'
import { link, open, readFile, unlink } from 'node:fs/promises'
import { generateKeyPair, privateKeyFromProtobuf, privateKeyToProtobuf } from '@libp2p/crypto/keys'
import { fromString } from 'uint8arrays/from-string'
import { toString } from 'uint8arrays/to-string'
import { RollcallError } from '../../errors.ts'

type PrivateKey = ReturnType<typeof privateKeyFromProtobuf>

function failed(path: string, what: string, cause: unknown): RollcallError {
  return new RollcallError('ROLLCALL_IDENTITY_FILE', `identity file ${path} ${what}`, { cause })
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

async function read(path: string): Promise<PrivateKey | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw failed(path, 'cannot be read', error)
  }
  const encoded = text.trim()
  try {
    return privateKeyFromProtobuf(fromString(encoded, 'base64pad'))
  } catch (error) {
    throw failed(path, 'does not hold a key; restore it, or remove it to become a new node', error)
  }
}

/**
 * Writes the key beside its place and links it there, so that no reader meets half a file and a file that
 * another process made meanwhile is never replaced.
 *
 * @returns false when there is a file already.
 */
async function write(path: string, key: PrivateKey): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(`${toString(privateKeyToProtobuf(key), 'base64pad')}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw failed(path, 'cannot be written', error)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

/**
 * The key kept at `path`, made and kept there (mode 0600) when there is none.
 * Throws `ROLLCALL_IDENTITY_FILE` for a file that cannot be read, written or understood; never replaces one.
 */
export async function loadIdentity(path: string): Promise<PrivateKey> {
  const found = await read(path)
  if (found !== undefined) return found
  const key = await generateKeyPair('Ed25519')
  if (await write(path, key)) return key
  const other = await read(path)
  if (other === undefined) throw failed(path, 'came and went while it was read', undefined)
  return other
}
