import axe from 'axe-core'
import { expect, test } from 'vitest'
import { describePage, eventually, HOSTILE } from './stage.ts'

describePage('the page is for everybody, and harms nobody', (stage) => {
  test('C44: hostile names are text, in rows, events and explanations', async () => {
    const { post } = stage()
    const looked = await stage().visit()
    await eventually(async () => expect(await looked.status()).toBe('Live'))
    const reason = '<b onclick=alert(4)>'
    for (const name of HOSTILE) post.register({ name, version: '1.0.0', reason })
    await eventually(async () => expect((await looked.names()).sort()).toEqual([...HOSTILE].sort()))
    expect(await looked.events()).toEqual(
      HOSTILE.map((n) => `service_up ${n} 1.0.0 on post, ready`).reverse(),
    )
    for (const name of HOSTILE) {
      await looked.page.getByLabel('Service', { exact: true }).fill(name)
      await looked.page.keyboard.press('Enter')
      await eventually(async () =>
        expect(await looked.page.locator('#explain-answers .text').allTextContents()).toEqual([
          `${name} 1.0.0 on post is returned, in turn with its like`,
        ]),
      )
    }
    const made = 'document.querySelectorAll("img, main script, main a").length'
    expect(await looked.page.evaluate<number>(made)).toBe(0)
    expect(await looked.page.evaluate<boolean>('({}).onerror === undefined')).toBe(true)
    expect(looked.faults).toEqual([])
  })

  test('the policy would stop what got through all the same', async () => {
    const looked = await stage().visit()
    await looked.page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="document.title = 1">')`,
    )
    await eventually(() => expect(looked.faults.join()).toContain('Content Security Policy'))
    expect(await looked.page.title()).not.toBe('1')
  })

  test('nothing scrolls sideways at the width of a phone', async () => {
    const { post } = stage()
    for (const name of HOSTILE) {
      post.register({ name, version: `1.0.0-${'x'.repeat(100)}`, address: `http://${'h'.repeat(200)}:80` })
    }
    const looked = await stage().visit({ viewport: { width: 390, height: 844 } })
    await eventually(async () => expect(await looked.names()).toHaveLength(HOSTILE.length))
    post.register({ name: 'n'.repeat(256), version: '1.0.0' })
    await looked.page.getByLabel('Service', { exact: true }).fill('w'.repeat(256))
    await looked.page.keyboard.press('Enter')
    await eventually(async () => {
      expect(await looked.page.locator('#explain-answers li').count()).toBe(1)
      expect(await looked.page.locator('#event-list li').count()).toBe(1)
    })
    expect(await looked.overhang()).toBe(0)
    const label = `getComputedStyle(document.querySelector('#services-body td'), '::before').content`
    expect(await looked.page.evaluate<string>(label)).toContain('Version')
    await looked.page.setViewportSize({ width: 1280, height: 800 })
    expect(await looked.overhang()).toBe(0)
  })

  test('asks for a token where reads need one, and keeps it for the tab alone', async () => {
    const { post } = stage()
    await stage().face.close()
    await stage().serve({ readToken: 'right' })
    post.register({ name: 'Mail', version: '1.0.0' })
    const looked = await stage().visit()
    const field = looked.page.getByLabel('Token for reading')
    await eventually(async () => expect(await field.isVisible()).toBe(true))
    expect(await field.getAttribute('type')).toBe('password')
    expect(await looked.names()).toEqual([])
    expect(await looked.page.locator('.counts dd').allTextContents()).toEqual(Array(6).fill('–'))
    await field.fill('wrong')
    await field.press('Enter')
    await eventually(async () =>
      expect(await looked.page.locator('#token-refused').textContent()).toBe(
        'The server refuses that token.',
      ),
    )
    await field.fill('right')
    await field.press('Enter')
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    expect(await field.isVisible()).toBe(false)
    await looked.page.reload()
    await eventually(async () => expect(await looked.names()).toEqual(['Mail']))
    const kept = 'JSON.stringify([localStorage.length, sessionStorage.length, document.cookie])'
    expect(await looked.page.evaluate<string>(kept)).toBe('[0,1,""]')
  })

  test.each(['light', 'dark'] as const)('meets WCAG 2.2 AA, %s, wide and narrow', async (colorScheme) => {
    const { hub, post } = stage()
    const states = ['ready', 'starting', 'unready', 'draining'] as const
    for (const state of states)
      post.register({ name: `Mail ${state}`, version: '1.0.0', state, reason: 'so' })
    const looked = await stage().visit({ colorScheme })
    await eventually(async () => expect(await looked.names()).toHaveLength(4))
    await stage().crash()
    await eventually(async () => expect((await looked.nodes())[1]?.[1]).toBe('down refused'))
    for (const state of states) hub.register({ name: `Mail ${state}`, version: '1.0.0', state })
    hub.freeze()
    await eventually(async () => expect(await looked.page.locator('#degraded').isVisible()).toBe(true))
    await looked.page.getByLabel('Service', { exact: true }).fill('Mail ready')
    await looked.page.keyboard.press('Enter')
    await looked.page.evaluate(axe.source)
    for (const width of [1280, 390]) {
      await looked.page.setViewportSize({ width, height: 844 })
      const found = await looked.page.evaluate<axe.AxeResults>('axe.run()')
      expect(found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual(
        [],
      )
    }
  })
})
