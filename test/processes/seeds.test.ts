import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allSee, LINES, offer, start, useProcesses } from './cluster.ts'

useProcesses()

/** Listens on a free port of loopback until the test ends, or `stop` is called. */
async function listen(
  server: Server,
): Promise<{ readonly address: string; readonly stop: () => Promise<void> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = async (): Promise<void> => {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(stop)
  return { address: `127.0.0.1:${port}`, stop }
}

/** A port where nobody listens now. */
async function freePort(): Promise<string> {
  const { address, stop } = await listen(createServer())
  await stop()
  return address
}

const multiaddrOf = (address: string): string => `/ip4/127.0.0.1/tcp/${address.split(':')[1]!}`

describe.each(LINES.slice(0, 2))('$called', ({ lines }) => {
  const [line] = lines

  test(
    'seeds that are silent, answer nonsense, speak another protocol or live in another cluster',
    {
      timeout: 60_000,
    },
    async () => {
      const silent = await listen(createServer())
      const nonsense = await listen(
        createServer((socket) => {
          socket.write(
            Buffer.from('\u0000\u00ff nonsense, and a length of 4 GiB: \u00ff\u00ff\u00ff\u00ff', 'latin1'),
          )
        }),
      )
      const http = await listen(createHttpServer((_, response) => response.end('hello')))
      const stranger = await start({ line, name: 'stranger', mesh: { cluster: 'another' } })
      const nobody = await freePort()
      const join = [silent.address, nonsense.address, http.address, stranger.address, nobody]
      const node = await start({
        line,
        name: 'node',
        join,
        mesh: { dialTimeoutMs: 1_000, memberGraceMs: 1_000 },
      })
      const codes = new Map<string, string | undefined>()
      for (const where of join) {
        const problem = await node.child.seen('problem', (each) => each.node === where)
        codes.set(where, problem.code)
      }
      expect(Object.fromEntries(codes)).toEqual({
        [silent.address]: 'ROLLCALL_PEER_UNREACHABLE',
        [nonsense.address]: 'ROLLCALL_PEER_REFUSED',
        [http.address]: 'ROLLCALL_PEER_REFUSED',
        [stranger.address]: 'ROLLCALL_PEER_REFUSED',
        [nobody]: 'ROLLCALL_PEER_UNREACHABLE',
      })

      await offer(node, 'patient')
      const seed = await start({ line, name: 'seed', listen: multiaddrOf(nobody) })
      await allSee([seed], 'patient', [node])

      // What was no member becomes one: whoever listens there now is welcome.
      await nonsense.stop()
      const late = await start({ line, name: 'late', listen: multiaddrOf(nonsense.address) })
      await allSee([late], 'patient', [node])
      // Each thing that is wrong was said once.
      for (const where of join.slice(0, 4)) {
        const said = node.child.happenings.filter((each) => each.kind === 'problem' && each.node === where)
        expect(said.length, where).toBeLessThanOrEqual(2)
      }
      await node.child.ask('close')
      expect((await node.child.ended).code).toBe(0)
      expect(await stranger.child.ask('offers', 'patient')).toEqual([])
    },
  )
})
