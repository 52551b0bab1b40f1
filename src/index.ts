export { createRegistry, createTracker } from './create.ts'
export type { CreateRegistryOptions, CreateTrackerOptions, NetworkOptions, ProfileOption } from './create.ts'
export type { Entry, NodeId } from './core/frame.ts'
export type { Json, JsonObject } from './core/json.ts'
export { ERROR_CODES, RollcallError } from './errors.ts'
export type { RollcallErrorCode } from './errors.ts'
export { eventLoopProbe } from './health/probes/event-loop.ts'
export type { EventLoopProbeOptions } from './health/probes/event-loop.ts'
export { httpProbe } from './health/probes/http.ts'
export type { HttpProbeOptions } from './health/probes/http.ts'
export { tcpProbe } from './health/probes/tcp.ts'
export type { TcpTarget } from './health/probes/tcp.ts'
export type { Check, HealthOptions, ProbeOptions, ProbeRun } from './health/types.ts'
export { PROFILES } from './profiles.ts'
export type { Profile, ProfileOptions } from './profiles.ts'
export type { CachedResolver, CachedResolverOptions } from './registry/cached-resolver.ts'
export type { LookupResult } from './registry/lookup-tally.ts'
export { REGISTRY_DEFAULTS } from './registry/options.ts'
export type { RegistryBehaviour, RegistryOptions } from './registry/options.ts'
export type { DrainOptions } from './registry/drain.ts'
export type { RegisterOptions } from './registry/offers.ts'
export type { Registry, RegistryDiagnostics } from './registry/registry.ts'
export type { RegistrationHandle, RenewOptions, SetStateOptions } from './registry/registration.ts'
export type { ShutdownOptions } from './registry/shutdown.ts'
export type { Compat } from './registry/requirement.ts'
export { defineService } from './registry/service.ts'
export { INSTANCE_STATES } from './registry/types.ts'
export type {
  Balance,
  CallOptions,
  CallOutcome,
  DegradedReason,
  ExplainReason,
  Explanation,
  FilterOptions,
  FunctionSpec,
  Instance,
  InstanceState,
  Logger,
  LookupAnswer,
  LookupError,
  LookupHit,
  LookupMiss,
  LookupOptions,
  PrereleasePolicy,
  RegistryEvents,
  RejectedService,
  RetryOptions,
  ServiceDefinition,
  ServiceDownReason,
  ServicePatch,
  ServicePick,
  ServiceSelector,
  ServiceSpec,
  StaleOptions,
  StalePolicy,
  WaitOptions,
} from './registry/types.ts'
export type { ServiceWatch, Since, Snapshot, WatchOptions } from './registry/watch-types.ts'
export type {
  DialDiagnostics,
  HeadDiagnostics,
  NodeDiagnostics,
  SelfDiagnostics,
  SyncDiagnostics,
  SyncFailureDiagnostics,
  TrackerDiagnostics,
  TrafficDiagnostics,
} from './tracker/diagnostics.ts'
export { Lease, Monitor } from './tracker/monitor.ts'
export type { LeaseOptions, MonitorOptions } from './tracker/monitor.ts'
export { TRACKER_DEFAULTS } from './tracker/options.ts'
export type { TrackerOptions } from './tracker/options.ts'
export type {
  Channel,
  ChannelPurpose,
  Clock,
  DialState,
  Random,
  Timer,
  Transport,
  TransportEvents,
} from './tracker/ports.ts'
export type { SyncCause } from './tracker/sync-tally.ts'
export type { MetaUpdate, Tracker } from './tracker/tracker.ts'
export type {
  Diff,
  Doubt,
  DownReason,
  EntryUpdate,
  NodeInfo,
  Suspicion,
  TrackerEvents,
} from './tracker/types.ts'
export { MESH_DEFAULTS, NODE_DEFAULTS } from './transports/libp2p/options.ts'
export type { Libp2pTransportOptions, MeshOptions } from './transports/libp2p/options.ts'
