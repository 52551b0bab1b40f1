import { writeFile } from 'node:fs/promises'
import { PAGE_FILES_PATH, pageSource } from './page-source.ts'

await writeFile(PAGE_FILES_PATH, await pageSource())
