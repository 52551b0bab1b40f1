import { Api } from './api.ts'
import { Board } from './board.ts'
import { browserClock, browserRandom } from './clock.ts'
import { Connection } from './connection.ts'
import { describeEvent } from './describe-event.ts'
import { find } from './dom.ts'
import { EventList } from './event-list.ts'
import { ExplainForm } from './explain-form.ts'
import { readPicture } from './picture.ts'
import { Refresher } from './refresher.ts'
import { StandIns } from './stand-ins.ts'
import { StatusLine } from './status-line.ts'
import { readToken } from './token.ts'
import { TokenForm } from './token-form.ts'

// An event says that something has changed; what is shown is always read whole, so that it cannot drift.

const api = new Api(readToken)
const explainForm = new ExplainForm(api)
const board = new Board((service) => explainForm.explain(service))
const events = new EventList(find('event-list', HTMLOListElement))
const standIns = new StandIns((name) => api.explain(name, { stale: 'keep-last' }))
const status = new StatusLine()

const refresher = new Refresher({
  async read() {
    // Nobody looks: it is read when somebody does.
    if (document.hidden) return
    const picture = await readPicture(api, standIns)
    board.show(picture)
    status.degraded(picture.degraded)
    status.problem('')
  },
  failed: (error) => status.problem(error instanceof Error ? error.message : String(error)),
  clock: browserClock,
  leastMs: 500,
  mostMs: 10_000,
})

document.addEventListener('visibilitychange', () => refresher.poke())

const connection = new Connection({
  open: (lastId, signal) => api.events(lastId, signal),
  clock: browserClock,
  random: browserRandom,
  opened() {
    status.live()
    refresher.poke()
  },
  event({ name, data }) {
    if (name !== 'begin') {
      const line = describeEvent(name, data)
      events.add(line, browserClock.wallNow())
      if (name === 'service_stale') standIns.suspect(line.who)
    }
    refresher.poke()
  },
  lost: (why) => status.reconnecting(why, browserClock.wallNow()),
  refused() {
    status.wantsToken()
    tokenForm.ask()
  },
})

const tokenForm = new TokenForm(() => connection.start())
connection.start()
