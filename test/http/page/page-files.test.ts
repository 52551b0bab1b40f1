import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PAGE_FILES_PATH, pageSource } from '../../../scripts/page-source.ts'
import { PAGE_FILES } from '../../../src/http/page/page-files.ts'

test('the page that is served is what its sources give: else run `npm run generate`', async () => {
  expect(await readFile(PAGE_FILES_PATH, 'utf8')).toBe(await pageSource())
})

test('what is embedded is the file itself, character by character', async () => {
  expect(PAGE_FILES['/'].body).toBe(await readFile('src/http/page/index.html', 'utf8'))
  expect(PAGE_FILES['/page.css'].body).toBe(await readFile('src/http/page/page.css', 'utf8'))
})

test('nothing comes from elsewhere, and nothing is inline', () => {
  const { '/': html, '/page.css': css, '/page.js': script } = PAGE_FILES
  const addresses = [...html.body.matchAll(/\s(?:href|src|action)="([^"]*)"/g)].map(([, url]) => url)
  expect(addresses.filter((url) => !url!.startsWith('#') && !url!.startsWith('data:image/'))).toEqual([
    'page.css',
    'page.js',
  ])
  expect(html.body).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
  expect(css.body).not.toMatch(/@import|url\(/)
  expect(script.body).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(/,
  )
})
