/** Version of this library, as its package says. */
export const LIBRARY_VERSION = '0.1.0'
