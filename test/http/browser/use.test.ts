import { expect, test } from 'vitest'
import { describePage, eventually } from './stage.ts'

describePage('the page is of use', (stage) => {
  test('the filter keeps what has all of its words, also of what comes later', async () => {
    const { post } = stage()
    for (const name of ['Mail', 'Mailbox', 'Bills']) post.register({ name, version: '1.2.0' })
    const looked = await stage().visit()
    const filter = looked.page.getByLabel('Filter')
    await filter.fill('mail POST')
    await eventually(async () => expect(await looked.names()).toEqual(['Mail', 'Mailbox']))
    expect(await looked.page.locator('#kept').textContent()).toBe('2 of 3')
    post.register({ name: 'Mailing', version: '2.0.0' })
    post.register({ name: 'Alms', version: '2.0.0' })
    await eventually(async () => expect(await looked.names()).toEqual(['Mail', 'Mailbox', 'Mailing']))
    await filter.fill('2.0.0 ready')
    expect(await looked.names()).toEqual(['Alms', 'Mailing'])
    await filter.fill('hub')
    expect(await looked.names()).toEqual([])
    await looked.page.getByRole('button', { name: 'post' }).click()
    expect(await looked.page.locator('#kept').textContent()).toBe('5 in all')
  })

  test('explains for a name and a requirement, and for the service of a row', async () => {
    const { post } = stage()
    for (const version of ['1.2.0', '1.3.0', '2.0.0']) post.register({ name: 'Mail', version })
    const looked = await stage().visit()
    const answers = async (): Promise<string[]> =>
      await looked.page.locator('#explain-answers .tag').allTextContents()
    await looked.page.getByLabel('Service', { exact: true }).fill('Mail')
    await looked.page.getByLabel('Requirement').fill('~> 1.2')
    await looked.page.getByRole('button', { name: 'Explain', exact: true }).click()
    await eventually(async () => expect((await answers()).sort()).toEqual(['older', 'returned', 'version']))
    expect(await looked.page.locator('#explain-summary').textContent()).toBe('1 of 3 would be returned.')
    expect(await looked.page.locator('#explain-answers').textContent()).toContain('but 1.3.0 is newer')
    await looked.page.getByLabel('Requirement').fill('')
    await looked.page.getByRole('button', { name: 'Mail' }).first().click()
    await eventually(async () => expect((await answers()).sort()).toEqual(['older', 'older', 'returned']))
    await looked.page.getByLabel('Requirement').fill('~> ?')
    await looked.page.keyboard.press('Enter')
    await eventually(async () => {
      expect(await looked.page.locator('#explain-summary').textContent()).toContain('"~> ?"')
      expect(await answers()).toEqual([])
    })
    await looked.page.getByLabel('Service', { exact: true }).fill('Nothing')
    await looked.page.getByLabel('Requirement').fill('')
    await looked.page.keyboard.press('Enter')
    await eventually(async () =>
      expect(await looked.page.locator('#explain-summary').textContent()).toBe(
        'No instance of that name is known.',
      ),
    )
    await looked.page.getByLabel('Service', { exact: true }).fill('..')
    await looked.page.keyboard.press('Enter')
    await eventually(async () =>
      expect(await looked.page.locator('#explain-summary').textContent()).toBe(
        'a browser cannot ask for the name ..',
      ),
    )
  })

  test('the answer to an earlier question does not take the place of that to a later one', async () => {
    const { post } = stage()
    for (const name of ['Slow', 'Fast']) post.register({ name, version: '1.0.0' })
    const looked = await stage().visit()
    let release = (): void => undefined
    await looked.page.route('**/v1/explain/Slow', async (route) => {
      await new Promise<void>((resolve) => (release = resolve))
      await route.continue()
    })
    const ask = async (name: string): Promise<void> => {
      await looked.page.getByLabel('Service', { exact: true }).fill(name)
      await looked.page.keyboard.press('Enter')
    }
    const answers = looked.page.locator('#explain-answers')
    const late = looked.page.waitForResponse('**/v1/explain/Slow')
    await ask('Slow')
    await ask('Fast')
    await eventually(async () => expect(await answers.textContent()).toContain('Fast 1.0.0'))
    release()
    await (await late).finished()
    await looked.page.waitForTimeout(100)
    expect(await answers.textContent()).toContain('Fast 1.0.0')
  })

  test('the keyboard alone leads everywhere', async () => {
    const { post } = stage()
    for (const name of ['A', 'B', 'C', 'D']) post.register({ name, version: '1.0.0' })
    const looked = await stage().visit()
    const press = async (...keys: string[]): Promise<string> => {
      for (const key of keys) await looked.page.keyboard.press(key)
      return await looked.focused()
    }
    await eventually(async () => expect(await looked.names()).toHaveLength(4))
    expect(await press('Tab')).toBe('Skip to the services')
    expect(await looked.page.locator('.skip').boundingBox()).toMatchObject({ x: 15 })
    await press('Enter')
    expect(await press('Tab')).toBe('Filter')
    expect(await press('Tab')).toBe('A')
    const outline = `getComputedStyle(document.activeElement).outlineStyle`
    expect(await looked.page.evaluate<string>(outline)).toBe('solid')
    expect(await press('ArrowDown', 'ArrowDown')).toBe('C')
    expect(await press('End')).toBe('D')
    expect(await press('ArrowDown', 'ArrowUp')).toBe('C')
    expect(await press('Home')).toBe('A')
    expect(await press('PageDown')).toBe('D')
    expect(await press('PageUp', 'ArrowDown')).toBe('B')
    // One stop a table: the next is past it, and the way back leads to the same row.
    expect(await press('Tab')).toBe('Service')
    expect(await press('Shift+Tab')).toBe('B')
    expect(await press('Enter')).toBe('Requirement')
    await eventually(async () =>
      expect(await looked.page.locator('#explain-summary').textContent()).toBe('1 of 1 would be returned.'),
    )
    expect(await press('/')).toBe('Requirement')
    expect(await press('Tab')).toBe('Explain')
  })

  test('a row keeps the focus while others come and go, and leaves it to its neighbour', async () => {
    const { post } = stage()
    const [, , c] = ['A', 'B', 'C', 'D'].map((name) => post.register({ name, version: '1.0.0' }))
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.names()).toHaveLength(4))
    await looked.page.getByRole('button', { name: 'C' }).focus()
    const first = post.register({ name: 'AA', version: '1.0.0' })
    await eventually(async () => expect(await looked.names()).toHaveLength(5))
    c!.setState('unready')
    await eventually(async () => expect((await looked.services())[3]?.[2]).toBe('unready by-hand'))
    expect(await looked.focused()).toBe('C')
    c!.unregister()
    await eventually(async () => expect(await looked.focused()).toBe('D'))
    first.unregister()
    await eventually(async () => expect(await looked.names()).toEqual(['A', 'B', 'D']))
    expect(await looked.focused()).toBe('D')
    await looked.page.keyboard.press('/')
    expect(await looked.focused()).toBe('Filter')
    await looked.page.keyboard.type('b')
    expect(await looked.names()).toEqual(['B'])
    await looked.page.keyboard.press('Escape')
    expect(await looked.names()).toEqual(['A', 'B', 'D'])
  })

  test('a row keeps the focus when it is moved', async () => {
    const { post } = stage()
    for (const version of ['1.0.0', '2.0.0']) post.register({ name: 'Mail', version })
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.names()).toHaveLength(2))
    const versions = async () => (await looked.services()).map(([, version]) => version)
    const [first, last] = await versions()
    await looked.page.getByRole('button', { name: 'Mail' }).last().focus()
    await looked.page.route('**/v1/services', async (route) => {
      const response = await route.fetch()
      const answer = (await response.json()) as { readonly services: readonly object[] }
      await route.fulfill({ response, json: { ...answer, services: answer.services.toReversed() } })
    })
    post.register({ name: 'Zeal', version: '1.0.0' })
    await eventually(async () => expect(await versions()).toEqual([last, first, '1.0.0']))
    const row = 'document.activeElement.closest("tr").cells[1].textContent'
    expect(await looked.page.evaluate<string>(row)).toBe(last)
  })

  test('1,000 instances stay usable, and 200 events are kept', async () => {
    const { hub, post } = stage()
    for (let n = 0; n < 1_000; n++) post.register({ name: `service ${n % 100}`, version: `1.0.${n}` })
    await eventually(() => expect(hub.services()).toHaveLength(1_000))
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.names()).toHaveLength(1_000))
    await looked.page.evaluate(`globalThis.changes = 0
      new MutationObserver((seen) => (changes += seen.length))
        .observe(document.querySelector('#services-body'), { childList: true, subtree: true, characterData: true })`)
    for (let n = 0; n < 300; n++) post.register({ name: 'zz', version: `1.0.${n}` })
    await eventually(async () => expect(await looked.names()).toHaveLength(1_300))
    expect(await looked.page.locator('#event-list li').count()).toBe(200)
    expect(await looked.page.locator('#event-list li').first().textContent()).toContain('zz 1.0.299')
    // What has not changed is left alone.
    expect(await looked.page.evaluate<number>('changes')).toBe(300)
    for (const key of ['/', 'Tab', 'PageDown', 'PageDown', 'PageDown']) await looked.page.keyboard.press(key)
    // The focus is followed once, not once by the row and once by the window.
    await looked.page.waitForTimeout(300)
    expect(await looked.focused()).toBe('service 11')
    const top = await looked.page.evaluate<number>('document.activeElement.getBoundingClientRect().top')
    expect(top).toBeGreaterThan(0)
    await looked.page.keyboard.press('/')
    const began = performance.now()
    await looked.page.keyboard.type('service 1.0.77')
    expect(await looked.names()).toHaveLength(11)
    expect(performance.now() - began).toBeLessThan(3_000)
  })
})
