import { serveHttp } from '../../../src/http/index.ts'
import { alone } from '../scene.ts'

/** A process that serves until it is told to close its registry, and then does nothing more. */
const registry = await alone()
const { port } = await serveHttp(registry, { port: 0, token: 't' })
process.once('message', () => {
  void registry.close().then(() => {
    process.send?.({ closedAt: Date.now() }, () => process.disconnect())
  })
})
process.send?.(port)
