import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** A page that is looked at, and what went wrong in it. */
export class Visit {
  readonly page: Page
  /** Dialogs, errors, what the policy stopped, and requests to elsewhere. */
  readonly faults: string[] = []

  private constructor(page: Page, origin: string) {
    this.page = page
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`))
    page.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') this.faults.push(`console: ${line.text()}`)
    })
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(origin) && !url.startsWith('data:')) this.faults.push(`elsewhere: ${url}`)
    })
  }

  /** Opens the page at this address, as a browser that knows nothing of it yet. */
  static async to(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(5_000)
    const visit = new Visit(await context.newPage(), new URL(url).origin)
    await visit.page.goto(url)
    return visit
  }

  /** The rows of the services, each as the texts of its cells. */
  async services(): Promise<string[][]> {
    return await this.#rows('#services-body')
  }

  /** Of the services. */
  async names(): Promise<(string | undefined)[]> {
    return (await this.services()).map(([name]) => name)
  }

  /** The rows of the nodes. */
  async nodes(): Promise<string[][]> {
    return await this.#rows('#nodes-body')
  }

  /** The events, the newest first, without their times. */
  async events(): Promise<string[]> {
    const lines = await this.page.locator('#event-list li').all()
    const said = await Promise.all(lines.map((line) => line.locator('span').allTextContents()))
    return said.map((words) => words.join(' ').trim())
  }

  /** What it says of its connection. */
  async status(): Promise<string | null> {
    return await this.page.locator('#status').textContent()
  }

  /** Where the focus is: its text, or its label. */
  async focused(): Promise<string> {
    return await this.page.evaluate<string>(
      `((e) => e.labels?.[0]?.textContent || e.textContent)(document.activeElement)`,
    )
  }

  /** How many pixels the page is wider than the window. */
  async overhang(): Promise<number> {
    return await this.page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
  }

  async close(): Promise<void> {
    await this.page.context().close()
  }

  async #rows(body: string): Promise<string[][]> {
    return await this.page.evaluate<string[][]>(
      `[...document.querySelector('${body}').rows].map((row) => [...row.cells].map((cell) =>
        [...cell.querySelectorAll('.name, .text, .tag, .note')].map((e) => e.textContent).join(' ')))`,
    )
  }
}
