import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

/** Where Debian's package puts it, or where a machine says that its own is. */
const PATH = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Why no page can be looked at on this machine; undefined when it can. */
export const whyNot = (): string | undefined =>
  existsSync(PATH) ? undefined : `there is no ${PATH} (Debian's package chromium)`

/** As `whyNot`, but where everything must be tested that is a failure, not an excuse. */
export const missing = process.env['CI'] === 'true' ? undefined : whyNot()

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: PATH })
