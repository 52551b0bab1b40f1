import { ChildProcess } from 'node:child_process'
import { Server } from 'node:net'
import { Worker } from 'node:worker_threads'
import { MonitorState } from './monitor-state.ts'

/** The part of node:events that following takes. */
interface EmitterLike {
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** A thing with an end: a monitor's state, a signal, or an emitter of `close` or `exit`. */
export type Followable = MonitorState | AbortSignal | EmitterLike

type OnEnd = (reason: unknown) => void

interface Followers {
  readonly onEnds: Map<symbol, OnEnd>
  readonly stop: () => void
}

/**
 * Whoever follows a thing, by thing. All of them share one set of listeners: with one each, a server with eleven
 * services would warn of a leak. Weak, so that following does not keep a forgotten thing from being collected.
 */
const followersOf = new WeakMap<Followable, Followers>()

export function isFollowable(thing: unknown): thing is Followable {
  if (thing instanceof MonitorState || thing instanceof AbortSignal) return true
  if (typeof thing !== 'object' || thing === null) return false
  return 'on' in thing && typeof thing.on === 'function' && 'off' in thing && typeof thing.off === 'function'
}

/**
 * Calls back once, at the end of a thing, with the reason: that of the monitor or signal, else the name of the
 * event. Returns a function that calls it off.
 *
 * The thing holds `onEnd`; the returned function holds neither, so it may be kept by what must not keep them.
 */
export function follow(thing: Followable, onEnd: OnEnd): () => void {
  let followers = followersOf.get(thing)
  if (followers === undefined) {
    followers = startFollowing(thing)
    followersOf.set(thing, followers)
  }
  const key = Symbol('follower')
  followers.onEnds.set(key, onEnd)
  return unfollower(new WeakRef(thing), key)
}

/** Not a closure within `follow`: closures of one call share what any of them captures. */
function unfollower(weak: WeakRef<Followable>, key: symbol): () => void {
  return () => {
    const thing = weak.deref()
    const followers = thing === undefined ? undefined : followersOf.get(thing)
    if (thing === undefined || followers?.onEnds.delete(key) !== true || followers.onEnds.size > 0) return
    followersOf.delete(thing)
    followers.stop()
  }
}

function startFollowing(thing: Followable): Followers {
  const onEnds = new Map<symbol, OnEnd>()
  const stop = listen(thing, (reason) => {
    followersOf.delete(thing)
    stop()
    for (const onEnd of onEnds.values()) onEnd(reason)
  })
  return { onEnds, stop: () => stop() }
}

function listen(thing: Followable, end: OnEnd): () => void {
  if (thing instanceof MonitorState) return thing.onClose(end)
  if (thing instanceof AbortSignal) {
    const onAbort = (): void => end(thing.reason)
    thing.addEventListener('abort', onAbort)
    return () => thing.removeEventListener('abort', onAbort)
  }
  // A child that could not be spawned emits `close` and no `exit`, a worker only `exit`: the first one counts.
  const onClose = (): void => end('close')
  const onExit = (): void => end('exit')
  thing.on('close', onClose)
  thing.on('exit', onExit)
  return () => {
    thing.off('close', onClose)
    thing.off('exit', onExit)
  }
}

/** The reason a thing has ended for, if its end has passed already; undefined while it lives or has yet to begin. */
export function endOf(thing: Followable): { readonly reason: unknown } | undefined {
  if (thing instanceof MonitorState) return thing.closed ? { reason: thing.reason } : undefined
  if (thing instanceof AbortSignal) return thing.aborted ? { reason: thing.reason } : undefined
  if (thing instanceof ChildProcess) {
    return thing.exitCode !== null || thing.signalCode !== null ? { reason: 'exit' } : undefined
  }
  if (thing instanceof Worker) return thing.threadId === -1 ? { reason: 'exit' } : undefined
  if (thing instanceof Server) return hasListened(thing) && !thing.listening ? { reason: 'close' } : undefined
  return 'destroyed' in thing && thing.destroyed === true ? { reason: 'close' } : undefined
}

/**
 * A server that has closed and one that has not listened yet look the same by the documented interface. Since
 * Node 0.12 `listen` leaves this property behind; the tests follow a closed server, so its loss would be seen.
 */
const hasListened = (server: Server): boolean =>
  '_connectionKey' in server && server._connectionKey !== undefined
