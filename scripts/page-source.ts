import { readFile } from 'node:fs/promises'
import { build } from 'esbuild'

const FOLDER = 'src/http/page'

/** Where the text goes. */
export const PAGE_FILES_PATH = `${FOLDER}/page-files.ts`

/** The text of the module that holds the page, made of `index.html`, `page.css` and `client/`. */
export async function pageSource(): Promise<string> {
  const files = [
    ['/', 'text/html; charset=utf-8', await readFile(`${FOLDER}/index.html`, 'utf8')],
    ['/page.css', 'text/css; charset=utf-8', await readFile(`${FOLDER}/page.css`, 'utf8')],
    ['/page.js', 'text/javascript; charset=utf-8', await bundle()],
  ] as const
  const entries = files.map(
    ([path, type, body]) => `  '${path}': {\n    type: '${type}',\n    body: ${literal(body)},\n  },\n`,
  )
  return `${HEAD}${entries.join('')}}\n`
}

const HEAD = `// Made by \`npm run generate\` of the files beside. Change those.

/** What the page consists of, by path: the type of the content, and the content itself. */
export const PAGE_FILES: Readonly<
  Record<'/' | '/page.css' | '/page.js', { readonly type: string; readonly body: string }>
> = {
`

/** One script of all modules of the client, still fit to be read. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${FOLDER}/client/main.ts`],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    write: false,
  })
  return outputFiles.map(({ text }) => text).join('')
}

const literal = (text: string): string => `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')}\``
