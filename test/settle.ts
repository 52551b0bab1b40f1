/** Lets all that is on its way arrive. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate)
}
