const KEY = 'rollcall.token'

/** What the reader has given, for as long as the tab is open. */
export const readToken = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined

export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token)
