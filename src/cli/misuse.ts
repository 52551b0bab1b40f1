/** The command line asked for something that cannot be understood. Its lines are for people. */
export class Misuse extends Error {
  override readonly name = 'Misuse'
}
