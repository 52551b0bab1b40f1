import { defineConfig } from 'vitest/config'

/** Tests with real sockets and processes. */
const REAL = [
  'test/health/probes/**/*.test.ts',
  'test/transports/libp2p*.test.ts',
  'test/console/sockets/**/*.test.ts',
  'test/cli/sockets/**/*.test.ts',
  'test/processes/**/*.test.ts',
  'test/examples/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/http/sockets/**/*.test.ts',
  'test/http/browser/**/*.test.ts',
]

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    coverage: { include: ['src/**'], exclude: ['src/wire/generated/**'] },
    projects: [
      {
        extends: true,
        test: {
          name: 'logic',
          include: ['test/**/*.test.ts'],
          exclude: REAL,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: REAL,
          sequence: { groupOrder: 1 },
          // One file at a time, with the machine to itself: these live by the real time.
          fileParallelism: false,
        },
      },
    ],
  },
})
