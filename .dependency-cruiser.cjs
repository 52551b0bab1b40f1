/** Who may import whom. Type imports count. Run by test/package/layers.test.ts. */
const only = (from, allowed) => ({
  name: `${from}-imports-only`,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { pathNot: [`^src/${from}/`, '^src/errors\\.ts$', ...allowed] },
})

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('core', []),
    only('wire', ['^src/core/', '^node_modules/@bufbuild/protobuf/']),
    only('tracker', [
      '^src/core/',
      '^src/wire/',
      '^src/version\\.ts$',
      '^(node:)?(events|net|child_process|worker_threads)$',
    ]),
    only('health', ['^src/tracker/(check|ports|surface|system)\\.ts$', '^(node:)?(events|net)$']),
    only('registry', ['^src/core/', '^src/tracker/', '^src/health/', '^node_modules/(@types/)?semver/']),
    only('transports', [
      '^src/core/',
      '^src/tracker/ports\\.ts$',
      '^src/tracker/system\\.ts$',
      '^node_modules/',
      '^(node:)?(fs|net|dns|os|path|crypto|events|timers)(/promises)?$',
    ]),
    only('metrics', [
      '^src/registry/(registry|types)\\.ts$',
      '^src/health/types\\.ts$',
      '^src/tracker/(check|diagnostics|emitter|sync-tally|types)\\.ts$',
      '^node_modules/prom-client/',
      '^(node:)?events$',
    ]),
    only('console', [
      '^src/registry/(named-events|registry|types|watch-types)\\.ts$',
      '^src/tracker/(check|system|types)\\.ts$',
      '^src/metrics/collect\\.ts$',
      '^node_modules/prom-client/',
      '^(node:)?(events|fs/promises|fs|net|os|path|readline|repl|stream|string_decoder|util)$',
    ]),
    only('cli', [
      '^src/console/',
      '^src/http/(options|server)\\.ts$',
      '^src/(create|version)\\.ts$',
      '^src/registry/(registry|types|watch-types)\\.ts$',
      '^src/tracker/(check|system)\\.ts$',
      '^node_modules/commander/',
      '^(node:)?(events|fs/promises)$',
    ]),
    only('http', [
      '^src/registry/(drain|named-events|registration|registry|service|types|watch-types)\\.ts$',
      '^src/tracker/(check|monitor|ports|surface|system|types)\\.ts$',
      '^src/version\\.ts$',
      '^(node:)?(crypto|http|net)$',
    ]),
    // It runs in a browser: of the rest it knows types alone.
    only('http/page/client', ['^src/registry/types\\.ts$', '^src/tracker/(ports|types)\\.ts$']),
    {
      name: 'nobody-imports-what-runs-in-a-browser',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/page/client/' },
      to: { path: '^src/http/page/client/' },
    },
    {
      name: 'nobody-imports-a-face',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(metrics|console|http|cli)/' },
      to: { path: '^(src/(metrics|console|http|cli)/|node_modules/prom-client/)' },
    },
    {
      name: 'only-the-libp2p-transport-imports-libp2p',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/transports/libp2p/' },
      to: { path: '^node_modules/(libp2p|@libp2p|@chainsafe|@multiformats|uint8arrays)/' },
    },
    {
      name: 'nobody-imports-the-public-list',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/(transports/libp2p/|testing/|metrics/|console/|http/)?index\\.ts$' },
    },
    {
      name: 'src-stands-alone',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|examples|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node'] },
  },
}
