// Made by `npm run generate` of the files beside. Change those.

/** What the page consists of, by path: the type of the content, and the content itself. */
export const PAGE_FILES: Readonly<
  Record<'/' | '/page.css' | '/page.js', { readonly type: string; readonly body: string }>
> = {
  '/': {
    type: 'text/html; charset=utf-8',
    body: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>rollcall</title>
    <link
      rel="icon"
      href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='%230b5cad'/%3E%3Cpath d='M4.5 8.2l2.4 2.4 4.6-5' fill='none' stroke='%23fff' stroke-width='1.8'/%3E%3C/svg%3E"
    />
    <link rel="stylesheet" href="page.css" />
    <script type="module" src="page.js"></script>
  </head>
  <body>
    <a class="skip" href="#services">Skip to the services</a>

    <header>
      <div class="title">
        <h1>rollcall</h1>
        <p class="self">as seen by <span id="self" class="text">…</span></p>
        <p class="state" aria-live="polite">
          <span id="status">Connecting</span> <span id="status-why"></span>
        </p>
      </div>
      <nav aria-label="Parts of the page">
        <a href="#nodes">Nodes</a>
        <a href="#services">Services</a>
        <a href="#explain">Explain</a>
        <a href="#events">Events</a>
      </nav>
    </header>

    <main>
      <noscript><p class="banner">This page needs JavaScript.</p></noscript>
      <p id="degraded" class="banner" role="status" hidden>
        Degraded: the node that answers is isolated or frozen, so what it says of others may be old.
      </p>
      <p id="problem" class="banner" role="status"></p>
      <form id="token-form" class="banner" hidden>
        <label for="token">Token for reading</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          pattern="[!-~]+"
          title="Letters, digits and signs, without spaces"
        />
        <button type="submit">Read with it</button>
        <span id="token-refused" role="alert"></span>
      </form>

      <dl class="counts">
        <div>
          <dt>Services</dt>
          <dd id="count-services" class="none">–</dd>
        </div>
        <div>
          <dt>Ready</dt>
          <dd id="count-ready" class="none">–</dd>
        </div>
        <div class="warn">
          <dt>Not ready</dt>
          <dd id="count-notReady" class="none">–</dd>
        </div>
        <div>
          <dt>Nodes up</dt>
          <dd id="count-up" class="none">–</dd>
        </div>
        <div class="warn">
          <dt>Nodes doubted</dt>
          <dd id="count-doubted" class="none">–</dd>
        </div>
        <div class="bad">
          <dt>Nodes down</dt>
          <dd id="count-down" class="none">–</dd>
        </div>
      </dl>

      <div class="parts">
        <section id="nodes" aria-labelledby="nodes-title" tabindex="-1">
          <h2 id="nodes-title">Nodes</h2>
          <table role="table" aria-labelledby="nodes-title">
            <thead role="rowgroup">
              <tr role="row">
                <th role="columnheader" scope="col">Node</th>
                <th role="columnheader" scope="col">Status</th>
                <th role="columnheader" scope="col">Last heard</th>
                <th role="columnheader" scope="col">Zone</th>
                <th role="columnheader" scope="col">Entries</th>
                <th role="columnheader" scope="col">Addresses</th>
                <th role="columnheader" scope="col">Library</th>
              </tr>
            </thead>
            <tbody id="nodes-body" role="rowgroup"></tbody>
          </table>
        </section>

        <section id="services" aria-labelledby="services-title" tabindex="-1">
          <div class="heading">
            <h2 id="services-title">Services</h2>
            <p id="kept" role="status"></p>
            <div class="filter" role="search">
              <label for="filter">Filter</label>
              <input
                id="filter"
                type="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="name, node, version, state"
                aria-keyshortcuts="/"
              />
              <kbd aria-hidden="true">/</kbd>
            </div>
          </div>
          <table role="table" aria-labelledby="services-title">
            <thead role="rowgroup">
              <tr role="row">
                <th role="columnheader" scope="col">Service</th>
                <th role="columnheader" scope="col">Version</th>
                <th role="columnheader" scope="col">State</th>
                <th role="columnheader" scope="col">Node</th>
                <th role="columnheader" scope="col">Address</th>
                <th role="columnheader" scope="col">Zone</th>
                <th role="columnheader" scope="col">Since</th>
              </tr>
            </thead>
            <tbody id="services-body" role="rowgroup"></tbody>
          </table>
        </section>

        <div class="side">
          <section aria-labelledby="explain-title">
            <h2 id="explain-title">Explain</h2>
            <form id="explain" tabindex="-1" aria-labelledby="explain-title">
              <label for="explain-name">Service</label>
              <input id="explain-name" type="text" required autocomplete="off" spellcheck="false" />
              <label for="explain-requirement">Requirement</label>
              <input
                id="explain-requirement"
                type="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="any version, or ~> 2.1"
              />
              <button type="submit">Explain</button>
            </form>
            <p id="explain-summary" role="status"></p>
            <ul id="explain-answers"></ul>
          </section>

          <section id="events" aria-labelledby="events-title" tabindex="-1">
            <h2 id="events-title">Events</h2>
            <ol id="event-list" reversed aria-labelledby="events-title" tabindex="0"></ol>
          </section>
        </div>
      </div>
    </main>
  </body>
</html>
`,
  },
  '/page.css': {
    type: 'text/css; charset=utf-8',
    body: `:root {
  color-scheme: light dark;
  --ground: #f4f6f8;
  --surface: #ffffff;
  --line: #d5dbe2;
  --edge: #7c8794;
  --text: #1a2028;
  --soft: #535e6b;
  --link: #0b5cad;
  --good: #0f6636;
  --good-ground: #e1f4e8;
  --warn: #744800;
  --warn-ground: #fdf0d3;
  --bad: #a01c1a;
  --bad-ground: #fde6e5;
  --mild: #434d59;
  --mild-ground: #e8ecf0;
  font:
    15px/1.45 system-ui,
    sans-serif;
}

@media (prefers-color-scheme: dark) {
  :root {
    --ground: #11151a;
    --surface: #1a2027;
    --line: #323b46;
    --edge: #7d8996;
    --text: #e6eaef;
    --soft: #a5b0bd;
    --link: #84bdff;
    --good: #86dba8;
    --good-ground: #143322;
    --warn: #f2c572;
    --warn-ground: #382a0e;
    --bad: #ffa39d;
    --bad-ground: #431a1a;
    --mild: #bac4cf;
    --mild-ground: #2b333d;
  }
}

*,
*::before,
*::after {
  box-sizing: border-box;
}

[hidden] {
  display: none !important;
}

body {
  margin: 0 auto;
  padding: 1rem 1.25rem 2rem;
  max-width: 110rem;
  background: var(--ground);
  color: var(--text);
}

h1,
h2,
p,
dl,
dd,
ol,
ul {
  margin: 0;
  padding: 0;
}

h1 {
  font-size: 1.4rem;
}

h2 {
  font-size: 1.05rem;
}

a {
  color: var(--link);
}

:focus-visible {
  outline: 3px solid var(--link);
  outline-offset: 2px;
  border-radius: 2px;
}

section:focus,
form:focus {
  outline: none;
}

section,
form {
  scroll-margin-top: 0.75rem;
}

.skip {
  position: absolute;
  left: -100vw;
}

.skip:focus {
  left: 1rem;
  top: 0.5rem;
  padding: 0.5rem 1rem;
  background: var(--surface);
  z-index: 2;
}

/* What others have named may run in any direction and have no place to break. */
.text,
.note,
.name,
.tag {
  unicode-bidi: isolate;
  overflow-wrap: anywhere;
}

input,
button {
  font: inherit;
  color: inherit;
  background: var(--surface);
  border: 1px solid var(--edge);
  border-radius: 0.3rem;
  padding: 0.35rem 0.6rem;
  min-width: 0;
}

input::placeholder {
  color: var(--soft);
  opacity: 1;
}

button {
  cursor: pointer;
}

button.name {
  padding: 0;
  border: 0;
  background: none;
  color: var(--link);
  text-align: start;
  font-weight: 600;
}

button.name:hover {
  text-decoration: underline;
}

kbd {
  padding: 0 0.4rem;
  border: 1px solid var(--edge);
  border-radius: 0.3rem;
  color: var(--soft);
  font-family: inherit;
}

/* The head of the page */

header,
.title,
nav {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0.25rem 1rem;
}

header {
  justify-content: space-between;
}

.self,
#status-why {
  color: var(--soft);
}

#status::before {
  content: '';
  display: inline-block;
  width: 0.6rem;
  height: 0.6rem;
  margin-inline-end: 0.4rem;
  border-radius: 50%;
  background: var(--edge);
}

#status[data-kind='live']::before {
  background: var(--good);
}

#status[data-kind='lost'] {
  color: var(--bad);
  font-weight: 600;
}

#status[data-kind='lost']::before {
  background: var(--bad);
}

.banner {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0.5rem;
  margin-top: 0.75rem;
  padding: 0.6rem 0.9rem;
  border-radius: 0.4rem;
  background: var(--warn-ground);
  color: var(--warn);
}

.banner:empty {
  display: none;
}

.banner input,
.banner button {
  color: var(--text);
}

.counts {
  display: flex;
  flex-wrap: wrap;
  gap: 0.6rem;
  margin: 0.9rem 0;
}

.counts > div {
  flex: 1 1 6.5rem;
  display: flex;
  flex-direction: column-reverse;
  justify-content: flex-end;
  padding: 0.5rem 0.9rem;
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 0.4rem;
}

.counts dt {
  color: var(--soft);
}

.counts dd {
  font-size: 1.5rem;
  font-weight: 600;
  line-height: 1.2;
  font-variant-numeric: tabular-nums;
}

.counts .warn dd:not(.none) {
  color: var(--warn);
}

.counts .bad dd:not(.none) {
  color: var(--bad);
}

/* The parts of the page */

.parts {
  display: grid;
  grid-template-columns: minmax(0, 1fr) minmax(18rem, 22rem);
  gap: 1rem;
  align-items: start;
}

section {
  min-width: 0;
  padding: 0.9rem 1rem;
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 0.4rem;
}

#nodes {
  grid-column: 1 / -1;
}

.side {
  display: grid;
  gap: 1rem;
  position: sticky;
  top: 1rem;
  min-width: 0;
}

.heading {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0.4rem 0.9rem;
}

.heading p {
  color: var(--soft);
}

.filter {
  display: flex;
  align-items: baseline;
  gap: 0.5rem;
  margin-inline-start: auto;
}

.filter input {
  width: 17rem;
}

table {
  width: 100%;
  table-layout: fixed;
  margin-top: 0.5rem;
  border-collapse: collapse;
}

th,
td {
  padding: 0.4rem 0.8rem 0.4rem 0;
  border-bottom: 1px solid var(--line);
  text-align: start;
  vertical-align: top;
  font-weight: normal;
  font-variant-numeric: tabular-nums;
}

tr:last-child > * {
  border-bottom: 0;
}

thead th {
  color: var(--soft);
  font-size: 0.87rem;
  white-space: nowrap;
  border-bottom: 1px solid var(--line) !important;
}

td .text {
  white-space: pre-line;
}

#services th:nth-child(2) {
  width: 10%;
}

#services th:nth-child(3),
#services th:nth-child(6) {
  width: 12%;
}

#services th:nth-child(4) {
  width: 13%;
}

#services th:nth-child(5) {
  width: 21%;
}

#services th:nth-child(7) {
  width: 5.8rem;
}

#nodes th:nth-child(2) {
  width: 10rem;
}

#nodes th:nth-child(3),
#nodes th:nth-child(4) {
  width: 8.2rem;
}

#services td:nth-child(7) {
  padding-inline-end: 0;
  font-size: 0.87rem;
}

#nodes th:nth-child(5),
#nodes th:nth-child(7) {
  width: 5.5rem;
}

#nodes th:nth-child(6) {
  width: 28%;
}

.tag {
  display: inline-block;
  margin-inline-end: 0.35rem;
  padding: 0 0.45rem;
  border-radius: 0.7rem;
  font-size: 0.87rem;
}

.text + .tag {
  margin-inline-start: 0.4rem;
}

.tag.good {
  color: var(--good);
  background: var(--good-ground);
}

.tag.warn {
  color: var(--warn);
  background: var(--warn-ground);
}

.tag.bad {
  color: var(--bad);
  background: var(--bad-ground);
}

.tag.mild {
  color: var(--mild);
  background: var(--mild-ground);
}

.note {
  display: block;
  color: var(--soft);
  font-size: 0.8rem;
}

#explain {
  display: grid;
  grid-template-columns: auto minmax(0, 1fr);
  align-items: baseline;
  gap: 0.4rem 0.7rem;
  margin-top: 0.5rem;
}

#explain button {
  grid-column: 2;
  justify-self: start;
}

#explain-summary {
  margin-top: 0.6rem;
  font-weight: 600;
}

#explain-answers {
  max-height: 40vh;
  overflow-y: auto;
  list-style: none;
}

#explain-answers li {
  padding: 0.35rem 0;
  border-bottom: 1px solid var(--line);
}

#event-list {
  max-height: 45vh;
  overflow-y: auto;
  margin-top: 0.5rem;
  list-style: none;
}

#event-list:empty::before {
  content: 'None since the page was opened.';
  color: var(--soft);
}

#event-list li {
  padding: 0.3rem 0;
  border-bottom: 1px solid var(--line);
}

#event-list time {
  margin-inline-end: 0.5rem;
  color: var(--soft);
  font-variant-numeric: tabular-nums;
}

.who {
  margin-inline-end: 0.4rem;
  font-weight: 600;
}

@media (max-width: 64rem) {
  .parts {
    grid-template-columns: minmax(0, 1fr);
  }

  .side {
    position: static;
  }
}

/* On a narrow page each row is a card, and each cell says what it is. */
@media (max-width: 46rem) {
  body {
    padding: 0.75rem;
  }

  .counts > div {
    flex-basis: 28%;
    padding: 0.4rem 0.6rem;
  }

  .filter,
  .filter input {
    width: 100%;
  }

  .filter kbd,
  thead {
    display: none;
  }

  table,
  tbody,
  tr,
  th,
  td {
    display: block;
  }

  tr {
    padding: 0.5rem 0;
    border-bottom: 1px solid var(--line);
  }

  tr:last-child {
    border-bottom: 0;
  }

  th,
  td {
    padding: 0.1rem 0;
    border: 0;
  }

  td {
    display: grid;
    grid-template-columns: 6rem minmax(0, 1fr);
    gap: 0 0.5rem;
    align-items: baseline;
    justify-items: start;
  }

  td:empty {
    display: none;
  }

  td::before {
    content: attr(data-label);
    grid-row: span 3;
    color: var(--soft);
    font-size: 0.87rem;
  }

  .text + .tag {
    margin-inline-start: 0;
  }
}
`,
  },
  '/page.js': {
    type: 'text/javascript; charset=utf-8',
    body: `// src/http/page/client/read-error.ts
var ReadError = class extends Error {
  name = "ReadError";
  /** Of HTTP. */
  status;
  constructor(status2, message) {
    super(message);
    this.status = status2;
  }
};
var isUnauthorized = (error) => error instanceof ReadError && error.status === 401;

// src/http/page/client/api.ts
var READ_TIMEOUT_MS = 1e4;
var Api = class {
  #token;
  constructor(token) {
    this.#token = token;
  }
  services() {
    return this.#read("services");
  }
  async nodes() {
    return (await this.#read("nodes")).nodes;
  }
  /** Why each instance of a service would or would not be returned; \`query\` as of a lookup. */
  async explain(name, query) {
    const search = new URLSearchParams(query).toString();
    const path = \`explain/\${pathSegment(name)}\${search && \`?\${search}\`}\`;
    return (await this.#read(path)).explanations;
  }
  /** The stream of events after the one with this id; '' for from now on. */
  async events(lastId, signal) {
    const headers = { accept: "text/event-stream", ...lastId && { "last-event-id": lastId } };
    const { body } = await this.#ask("events", headers, signal);
    if (body === null) throw new ReadError(200, "the stream of events has no body");
    return body;
  }
  async #read(path) {
    const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
    const response = await this.#ask(path, { accept: "application/json" }, signal);
    return await response.json();
  }
  async #ask(path, headers, signal) {
    const token = this.#token();
    const authorization = token === void 0 ? {} : { authorization: \`Bearer \${token}\` };
    const response = await fetch(\`v1/\${path}\`, {
      headers: { ...headers, ...authorization },
      cache: "no-store",
      signal
    });
    if (!response.ok) throw await readError(response);
    return response;
  }
};
async function readError(response) {
  const problem = await response.json().catch(() => ({}));
  const { status: status2 } = response;
  return new ReadError(
    status2,
    typeof problem.detail === "string" ? problem.detail : \`the server answered \${status2}\`
  );
}
function pathSegment(name) {
  if (name === "." || name === "..") throw new ReadError(0, \`a browser cannot ask for the name \${name}\`);
  return encodeURIComponent(name);
}

// src/http/page/client/moment.ts
var LATEST_MS = 864e13;
var two = (part) => String(part).padStart(2, "0");
function dayAndTime(ms) {
  if (!(ms > 0 && ms <= LATEST_MS)) return "";
  const date = new Date(ms);
  const day = \`\${date.getFullYear()}-\${two(date.getMonth() + 1)}-\${two(date.getDate())}\`;
  return \`\${day} \${timeOfDay(ms)}\`;
}
function timeOfDay(ms) {
  const date = new Date(ms);
  return \`\${two(date.getHours())}:\${two(date.getMinutes())}:\${two(date.getSeconds())}\`;
}
function span(ms) {
  const seconds = ms / 1e3;
  if (seconds < 10) return \`\${seconds.toFixed(1)} s\`;
  if (seconds < 120) return \`\${Math.round(seconds)} s\`;
  if (seconds < 7200) return \`\${Math.round(seconds / 60)} min\`;
  if (seconds < 172800) return \`\${Math.round(seconds / 3600)} h\`;
  return \`\${Math.round(seconds / 86400)} d\`;
}

// src/http/page/client/node-name.ts
var nodeLabel = (id, name) => name || \`…\${id.slice(-8)}\`;
var nodeKey = ({ id, name }, nodes) => name !== "" && nodes.every((other) => other.id === id || other.name !== name) ? name : id;

// src/http/page/client/node-row.ts
var NODE_COLUMNS = [
  "Node",
  "Status",
  "Last heard",
  "Zone",
  "Entries",
  "Addresses",
  "Library"
];
function nodeCells(node) {
  const { id, name, self, silentMs, zone, entries, addresses, library } = node;
  return [
    { text: nodeLabel(id, name), note: id },
    { tags: statusTags(node), note: node.reason },
    { text: self ? "this node" : \`\${span(silentMs)} ago\` },
    { text: zone },
    { text: String(entries) },
    // Which node they lead to is said already.
    { text: addresses.map((address) => address.replace(\`/p2p/\${id}\`, "")).join("\\n") },
    { text: library }
  ];
}
function statusTags({ status: status2, suspect, flapping }) {
  if (status2 === "down") return [{ text: "down", tone: "bad" }];
  const tags = [{ text: "up", tone: "good" }];
  if (suspect !== void 0) tags.push({ text: suspect, tone: "warn" });
  if (flapping) tags.push({ text: "flapping", tone: "warn" });
  return tags;
}
var isDoubted = ({ status: status2, suspect, flapping }) => status2 === "up" && (suspect !== void 0 || flapping);

// src/http/page/client/counts.ts
function countsOf(rows, nodes) {
  const instances = rows.filter(({ doubt }) => doubt !== "down").map(({ instance }) => instance);
  const ready = instances.filter(({ state }) => state === "ready").length;
  const up = nodes.filter(({ status: status2 }) => status2 === "up").length;
  return {
    services: new Set(instances.map(({ name }) => name)).size,
    ready,
    notReady: instances.length - ready,
    up,
    doubted: nodes.filter(isDoubted).length,
    down: nodes.length - up
  };
}

// src/http/page/client/dom.ts
function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.textContent = text;
  return made;
}
function find(id, kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(\`the page has no \${kind.name} #\${id}\`);
}
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
var tagElement = ({ text, tone }) => element("span", \`tag \${tone}\`, text);

// src/http/page/client/keyed-table.ts
var PAGE_ROWS = 10;
var KeyedTable = class {
  #parts;
  /** In the order in which they are shown. */
  #rows = /* @__PURE__ */ new Map();
  /** Place of the row that the Tab key finds. */
  #stop = 0;
  constructor(parts) {
    this.#parts = parts;
    parts.body.addEventListener("keydown", (event) => this.#steer(event));
    parts.body.addEventListener("focusin", ({ target }) => {
      const at = this.#buttons().findIndex((button) => button === target);
      if (at >= 0) this.#stopAt(at);
    });
  }
  show(items) {
    const { body, key } = this.#parts;
    const stop = this.#buttons()[this.#stop];
    const hadFocus = body.contains(document.activeElement);
    const shown = new Map(items.map((item) => [key(item), item]));
    for (const [each, row] of this.#rows) if (!shown.has(each)) row.element.remove();
    const rows = /* @__PURE__ */ new Map();
    let next = body.firstElementChild;
    for (const [each, item] of shown) {
      const row = this.#rows.get(each) ?? this.#create(item);
      rows.set(each, row);
      this.#fill(row, item);
      if (row.element === next) next = next.nextElementSibling;
      else body.insertBefore(row.element, next);
    }
    this.#rows = rows;
    const buttons = this.#buttons();
    const at = stop === void 0 ? -1 : buttons.indexOf(stop);
    this.#stopAt(at >= 0 ? at : Math.min(this.#stop, Math.max(buttons.length - 1, 0)));
    if (hadFocus && !body.contains(document.activeElement)) {
      buttons[this.#stop]?.focus({ preventScroll: true });
    }
  }
  #create(item) {
    const { columns, action, act } = this.#parts;
    const tr = element("tr");
    tr.setAttribute("role", "row");
    const button = element("button", "name");
    button.type = "button";
    button.title = action;
    const cells = columns.map((column, at) => {
      const cell = element(at === 0 ? "th" : "td");
      cell.setAttribute("role", at === 0 ? "rowheader" : "cell");
      cell.dataset["label"] = column;
      tr.append(cell);
      return cell;
    });
    cells[0]?.append(button);
    const row = { element: tr, button, cells, item, shown: [] };
    button.addEventListener("click", () => act(row.item));
    return row;
  }
  /** Changes what has changed, and nothing else. */
  #fill(row, item) {
    const cells = this.#parts.cells(item);
    const shown = cells.map((cell) => JSON.stringify(cell));
    for (const [at, cell] of cells.entries()) {
      const place = row.cells[at];
      if (place === void 0 || shown[at] === row.shown[at]) continue;
      if (at > 0) place.replaceChildren(...textOf(cell), ...smallPrint(cell));
      else {
        row.button.textContent = cell.text ?? "";
        for (const old of [...place.children].slice(1)) old.remove();
        place.append(...smallPrint(cell));
      }
    }
    row.item = item;
    row.shown = shown;
  }
  #buttons() {
    return [...this.#rows.values()].map(({ button }) => button);
  }
  #stopAt(at) {
    this.#stop = at;
    for (const [place, button] of this.#buttons().entries()) button.tabIndex = place === at ? 0 : -1;
  }
  #steer(event) {
    const step = STEPS.get(event.key);
    if (step === void 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const buttons = this.#buttons();
    const to = Math.min(Math.max(this.#stop + step, 0), buttons.length - 1);
    buttons[to]?.focus();
  }
};
var STEPS = /* @__PURE__ */ new Map([
  ["ArrowDown", 1],
  ["ArrowUp", -1],
  ["PageDown", PAGE_ROWS],
  ["PageUp", -PAGE_ROWS],
  ["Home", -Infinity],
  ["End", Infinity]
]);
var textOf = ({ text }) => text ? [element("span", "text", text)] : [];
var smallPrint = ({ tags = [], note }) => [
  ...tags.map(tagElement),
  ...note ? [element("span", "note", note)] : []
];

// src/http/page/client/filter.ts
function matches(filter, said) {
  const words = filter.toLowerCase().split(/\\s+/);
  const texts = said.map((text) => text?.toLowerCase() ?? "");
  return words.every((word) => texts.some((text) => text.includes(word)));
}

// src/http/page/client/service-row.ts
function serviceRows(instances, standIns2, nodes) {
  const stale = new Set(standIns2.map(({ id }) => id));
  const seen = new Set(instances.map(({ id }) => id));
  const hidden = standIns2.filter(({ id }) => !seen.has(id));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return [...instances, ...hidden].sort((a, b) => compare(a.name, b.name)).map((instance) => ({
    instance,
    stale: stale.has(instance.id),
    doubt: doubtOf(byId.get(instance.node))
  }));
}
var SERVICE_COLUMNS = ["Service", "Version", "State", "Node", "Address", "Zone", "Since"];
function serviceCells({ instance, stale, doubt }) {
  const { name, version, state, reason, node, nodeName, address, zone, since } = instance;
  const tags = [{ text: state, tone: STATE_TONES.get(state) ?? "warn" }];
  if (stale) tags.push({ text: "stale", tone: "bad" });
  return [
    { text: name },
    { text: version },
    { tags, note: reason === state ? void 0 : reason },
    {
      text: nodeLabel(node, nodeName),
      tags: doubt === void 0 ? [] : [{ text: doubt, tone: doubt === "down" ? "bad" : "warn" }]
    },
    { text: address },
    { text: zone },
    { text: dayAndTime(since) }
  ];
}
function serviceMatches(filter, { instance, stale, doubt }) {
  const { name, version, state, node, nodeName, address, zone } = instance;
  return matches(filter, [name, version, state, node, nodeName, address, zone, stale ? "stale" : "", doubt]);
}
var STATE_TONES = /* @__PURE__ */ new Map([
  ["ready", "good"],
  ["starting", "mild"],
  ["draining", "mild"]
]);
var compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;
function doubtOf(node) {
  if (node?.status !== "up") return node?.status;
  return node.suspect ?? (node.flapping ? "flapping" : void 0);
}

// src/http/page/client/shortcuts.ts
function addShortcuts(filter, emptied) {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    filter.focus();
    filter.select();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || filter.value === "") return;
    event.preventDefault();
    filter.value = "";
    emptied();
  });
}

// src/http/page/client/board.ts
var Board = class {
  #filter = find("filter", HTMLInputElement);
  #kept = find("kept", HTMLElement);
  #self = find("self", HTMLElement);
  #services;
  #nodes;
  #picture;
  /** \`explain\`: what a row of a service leads to. */
  constructor(explain) {
    this.#services = new KeyedTable({
      body: find("services-body", HTMLTableSectionElement),
      columns: SERVICE_COLUMNS,
      key: ({ instance }) => instance.id,
      cells: serviceCells,
      action: "Explain who is returned",
      act: ({ instance }) => explain(instance.name)
    });
    this.#nodes = new KeyedTable({
      body: find("nodes-body", HTMLTableSectionElement),
      columns: NODE_COLUMNS,
      key: ({ id }) => id,
      cells: nodeCells,
      action: "Show its services only",
      act: (node) => this.#keepOnly(nodeKey(node, this.#picture?.nodes ?? []))
    });
    this.#filter.addEventListener("input", () => this.#showServices());
    addShortcuts(this.#filter, () => this.#showServices());
  }
  show(picture) {
    this.#picture = picture;
    const { id, name } = picture.self;
    setText(this.#self, nodeLabel(id, name));
    this.#showCounts(picture);
    this.#nodes.show(picture.nodes);
    this.#showServices();
  }
  #showCounts({ services, nodes }) {
    for (const [what, count] of Object.entries(countsOf(services, nodes))) {
      const place = find(\`count-\${what}\`, HTMLElement);
      setText(place, count.toLocaleString("en"));
      place.classList.toggle("none", count === 0);
    }
  }
  #keepOnly(text) {
    this.#filter.value = text;
    this.#filter.focus();
    this.#showServices();
  }
  #showServices() {
    const all = this.#picture?.services ?? [];
    const kept = all.filter((row) => serviceMatches(this.#filter.value, row));
    this.#services.show(kept);
    const count = all.length.toLocaleString("en");
    setText(this.#kept, kept.length === all.length ? \`\${count} in all\` : \`\${kept.length} of \${count}\`);
  }
};

// src/http/page/client/clock.ts
var browserClock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer(callback, ms) {
    const timeout = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timeout) };
  }
};
var browserRandom = { next: () => Math.random() };

// src/http/page/client/backoff.ts
var FIRST_MS = 1e3;
var LONGEST_MS = 15e3;
var backoffMs = (failures, chance) => Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * (1 - chance / 2);

// src/http/page/client/event-parser.ts
var LINE_END = /\\r\\n|\\n|\\r(?!$)/;
var EventParser = class {
  #rest = "";
  #name = "";
  #data = [];
  #id = "";
  /** The events that this piece completes. */
  push(text) {
    const lines = (this.#rest + text).split(LINE_END);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#take(line) ?? []);
  }
  #take(line) {
    if (line === "") return this.#complete();
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\\0")) this.#id = value;
    return void 0;
  }
  #complete() {
    const event = { name: this.#name || "message", data: this.#data.join("\\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#name = "";
    this.#data = [];
    return isEmpty ? void 0 : event;
  }
};

// src/http/page/client/connection.ts
var SILENCE_MS = 6e4;
var Connection = class {
  #parts;
  #lastId = "";
  #failures = 0;
  #running = false;
  constructor(parts) {
    this.#parts = parts;
  }
  /** Idempotent. */
  start() {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }
  async #run() {
    const { clock, random, lost, refused } = this.#parts;
    for (; ; ) {
      try {
        await this.#follow();
        lost("the server ended the stream");
      } catch (error) {
        if (isUnauthorized(error)) break;
        lost(error instanceof Error ? error.message : String(error));
      }
      this.#failures++;
      const waitMs = backoffMs(this.#failures, random.next());
      await new Promise((resolve) => clock.setTimer(resolve, waitMs));
    }
    this.#running = false;
    refused();
  }
  /** Resolves when the stream ends. */
  async #follow() {
    const { open, clock, opened, event } = this.#parts;
    const attempt = new AbortController();
    const watchdog = () => clock.setTimer(() => attempt.abort(new Error("the server fell silent")), SILENCE_MS);
    let silence = watchdog();
    try {
      const reader = (await open(this.#lastId, attempt.signal)).getReader();
      this.#failures = 0;
      opened();
      const parser = new EventParser();
      const decoder = new TextDecoder();
      for (; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        silence.cancel();
        silence = watchdog();
        for (const each of parser.push(decoder.decode(value, { stream: true }))) {
          this.#lastId = each.id;
          event(each);
        }
      }
    } finally {
      silence.cancel();
      attempt.abort();
    }
  }
};

// src/http/page/client/describe-event.ts
function describeEvent(name, data) {
  const payload = JSON.parse(data);
  return { name, tone: TONES.get(name) ?? "mild", who: whoOf(payload), what: whatOf(name, payload) };
}
var TONES = /* @__PURE__ */ new Map([
  ["service_up", "good"],
  ["service_down", "bad"],
  ["service_stale", "bad"],
  ["node_up", "good"],
  ["node_trusted", "good"],
  ["node_down", "bad"],
  ["node_dead", "bad"],
  ["node_suspected", "warn"],
  ["node_flapping", "warn"],
  ["degraded", "warn"],
  ["isolated", "warn"],
  ["restored", "good"],
  ["isolation_ended", "good"]
]);
function whoOf({ instance, node, name }) {
  if (instance !== void 0) return \`\${instance.name} \${instance.version}\`;
  if (node !== void 0) return nodeLabel(node.id, node.name);
  return name ?? "";
}
function whatOf(name, { instance, previous, reason, why, silent, known }) {
  if (name === "reset") return "some events may be missing before this one";
  if (name === "service_stale") return "is answered by what was";
  if (silent !== void 0 && known !== void 0) return \`\${silent} of \${known} nodes are silent\`;
  const place = instance === void 0 ? "" : \`on \${nodeLabel(instance.node, instance.nodeName)}\`;
  if (instance !== void 0 && previous !== void 0) return \`\${place}: \${changes(instance, previous)}\`;
  const more = reason ?? why ?? (name === "service_up" ? instance?.state : void 0);
  return [place, more].filter(Boolean).join(", ");
}
function changes(now, before) {
  const changed = Object.keys({ ...before, ...now }).filter(
    (field) => JSON.stringify(now[field]) !== JSON.stringify(before[field])
  );
  const said = changed.map((field) => {
    const [was, is] = [short(before[field]), short(now[field])];
    return was === void 0 || is === void 0 ? field : \`\${field} \${was} → \${is}\`;
  });
  return said.join(", ");
}
function short(value) {
  if (value === void 0) return "none";
  return typeof value === "string" || typeof value === "number" ? String(value) : void 0;
}

// src/http/page/client/event-list.ts
var MOST_LINES = 200;
var EventList = class {
  #list;
  constructor(list) {
    this.#list = list;
  }
  /** \`atMs\`: when it came, ms since the epoch. */
  add({ name, tone, who, what }, atMs) {
    const line = element("li");
    line.append(
      element("time", "", timeOfDay(atMs)),
      tagElement({ text: name, tone }),
      element("span", "text who", who),
      element("span", "text", what)
    );
    this.#list.prepend(line);
    if (this.#list.childElementCount > MOST_LINES) this.#list.lastElementChild?.remove();
  }
};

// src/http/page/client/explain-form.ts
var ExplainForm = class {
  #api;
  #name = find("explain-name", HTMLInputElement);
  #requirement = find("explain-requirement", HTMLInputElement);
  #summary = find("explain-summary", HTMLElement);
  #answers = find("explain-answers", HTMLUListElement);
  #asked = 0;
  constructor(api2) {
    this.#api = api2;
    find("explain", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#ask();
    });
  }
  /** Asks for this name, and leads there. */
  explain(name) {
    this.#name.value = name;
    this.#requirement.focus();
    void this.#ask();
  }
  async #ask() {
    const asked = ++this.#asked;
    const name = this.#name.value;
    const requirement = this.#requirement.value.trim();
    const query = requirement === "" ? {} : { version: requirement };
    let explanations = [];
    let summary;
    try {
      explanations = await this.#api.explain(name, query);
      summary = summarize(explanations);
    } catch (error) {
      summary = error instanceof Error ? error.message : String(error);
    }
    if (asked !== this.#asked) return;
    setText(this.#summary, summary);
    this.#answers.replaceChildren(...explanations.map(answer));
  }
};
function summarize(explanations) {
  if (explanations.length === 0) return "No instance of that name is known.";
  const returned = explanations.filter((each) => each.returned).length;
  return \`\${returned} of \${explanations.length} would be returned.\`;
}
function answer({ returned, reason, text }) {
  const item = element("li");
  item.append(tagElement({ text: reason, tone: returned ? "good" : "mild" }), element("span", "text", text));
  return item;
}

// src/http/page/client/picture.ts
async function readPicture(api2, standIns2) {
  const [{ node, degraded, services }, nodes, stale] = await Promise.all([
    api2.services(),
    api2.nodes(),
    standIns2.read()
  ]);
  return { self: node, degraded, services: serviceRows(services, stale, nodes), nodes };
}

// src/http/page/client/refresher.ts
var Refresher = class {
  #parts;
  #wanted = false;
  #reading = false;
  #startedAt = -Infinity;
  #timer;
  constructor(parts) {
    this.#parts = parts;
  }
  /** Something has changed. The next read starts after this call. */
  poke() {
    this.#wanted = true;
    if (!this.#reading) this.#plan(this.#parts.leastMs);
  }
  /** Reads as soon as the last start is \`afterMs\` ago. */
  #plan(afterMs) {
    const { clock } = this.#parts;
    this.#timer?.cancel();
    this.#timer = void 0;
    const waitMs = this.#startedAt + afterMs - clock.now();
    if (waitMs <= 0) void this.#read();
    else this.#timer = clock.setTimer(() => void this.#read(), waitMs);
  }
  async #read() {
    const { read, failed, clock } = this.#parts;
    this.#wanted = false;
    this.#reading = true;
    this.#startedAt = clock.now();
    await read().catch(failed);
    this.#rest();
  }
  #rest() {
    const { leastMs, mostMs } = this.#parts;
    this.#reading = false;
    this.#plan(this.#wanted ? leastMs : mostMs);
  }
};

// src/http/page/client/stand-ins.ts
var MOST_NAMES = 100;
var StandIns = class {
  #names = /* @__PURE__ */ new Set();
  #explain;
  constructor(explain) {
    this.#explain = explain;
  }
  /** A service began to be answered by what was. */
  suspect(name) {
    if (this.#names.size < MOST_NAMES) this.#names.add(name);
  }
  /** Those that do now. A service without any is forgotten. */
  async read() {
    const found = await Promise.all([...this.#names].map((name) => this.#of(name)));
    return found.flat();
  }
  async #of(name) {
    this.#names.delete(name);
    const explanations = await this.#explain(name).catch((error) => {
      this.suspect(name);
      throw error;
    });
    const standIns2 = explanations.flatMap(
      ({ reason, instance }) => reason === "stale" && instance !== void 0 ? [instance] : []
    );
    if (standIns2.length > 0) this.suspect(name);
    return standIns2;
  }
};

// src/http/page/client/status-line.ts
var StatusLine = class {
  #line = find("status", HTMLElement);
  #why = find("status-why", HTMLElement);
  #problem = find("problem", HTMLElement);
  #degraded = find("degraded", HTMLElement);
  /** When the stream broke off, ms since the epoch. */
  #since;
  live() {
    this.#since = void 0;
    this.#say("live", "Live", "");
  }
  /** The stream broke off, or cannot be opened still. */
  reconnecting(why, nowMs) {
    this.#since ??= nowMs;
    this.#say("lost", \`Reconnecting since \${timeOfDay(this.#since)}\`, why);
  }
  wantsToken() {
    this.#since = void 0;
    this.#say("lost", "A token is needed", "");
  }
  /** Why nothing newer can be shown, though the stream may be open; '' when it can again. */
  problem(why) {
    setText(this.#problem, why);
  }
  /** Whether the node that answers says that all it knows may be old. */
  degraded(isDegraded) {
    this.#degraded.hidden = !isDegraded;
  }
  #say(kind, text, why) {
    this.#line.dataset["kind"] = kind;
    setText(this.#line, text);
    setText(this.#why, why);
  }
};

// src/http/page/client/token.ts
var KEY = "rollcall.token";
var readToken = () => sessionStorage.getItem(KEY) ?? void 0;
var keepToken = (token) => sessionStorage.setItem(KEY, token);

// src/http/page/client/token-form.ts
var TokenForm = class {
  #form = find("token-form", HTMLFormElement);
  #input = find("token", HTMLInputElement);
  #refused = find("token-refused", HTMLElement);
  constructor(given) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      keepToken(this.#input.value);
      this.#input.value = "";
      this.#form.hidden = true;
      given();
    });
  }
  ask() {
    setText(this.#refused, readToken() === void 0 ? "" : "The server refuses that token.");
    this.#form.hidden = false;
    this.#input.focus();
  }
};

// src/http/page/client/main.ts
var api = new Api(readToken);
var explainForm = new ExplainForm(api);
var board = new Board((service) => explainForm.explain(service));
var events = new EventList(find("event-list", HTMLOListElement));
var standIns = new StandIns((name) => api.explain(name, { stale: "keep-last" }));
var status = new StatusLine();
var refresher = new Refresher({
  async read() {
    if (document.hidden) return;
    const picture = await readPicture(api, standIns);
    board.show(picture);
    status.degraded(picture.degraded);
    status.problem("");
  },
  failed: (error) => status.problem(error instanceof Error ? error.message : String(error)),
  clock: browserClock,
  leastMs: 500,
  mostMs: 1e4
});
document.addEventListener("visibilitychange", () => refresher.poke());
var connection = new Connection({
  open: (lastId, signal) => api.events(lastId, signal),
  clock: browserClock,
  random: browserRandom,
  opened() {
    status.live();
    refresher.poke();
  },
  event({ name, data }) {
    if (name !== "begin") {
      const line = describeEvent(name, data);
      events.add(line, browserClock.wallNow());
      if (name === "service_stale") standIns.suspect(line.who);
    }
    refresher.poke();
  },
  lost: (why) => status.reconnecting(why, browserClock.wallNow()),
  refused() {
    status.wantsToken();
    tokenForm.ask();
  }
});
var tokenForm = new TokenForm(() => connection.start());
connection.start();
`,
  },
}
