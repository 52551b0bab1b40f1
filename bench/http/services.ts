/** What the server offers, and the client looks up. */
export const SERVICES = 1_000
export const INSTANCES = 3
/** The one to be found; each service has a higher one too. */
export const VERSION = '2.1.0'
export const nameOf = (service: number): string => `service-${service}`
