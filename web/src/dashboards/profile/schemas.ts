import type { Problem } from '../../api/schemas';

/** What the server says, field for field as in `tracklight/dashboards/profile`. */

export interface HostRow {
  readonly name: string;
  readonly bytes: number;
}

/** One session of a run: the traces of all its hosts. */
export interface CaptureRow {
  readonly id: string;
  readonly run: string;
  readonly session: string;
  readonly title: string;
  readonly kind: 'xplane' | 'chrome' | 'pprof';
  readonly wall_s: number;
  /** The last step that the run had logged before it. */
  readonly step: number | null;
  readonly bytes: number;
  readonly mark: number;
  readonly hosts: readonly HostRow[];
}

export interface CapturesResponse {
  readonly cursor: string;
  readonly captures: readonly CaptureRow[];
}

export interface OpeningResponse {
  readonly state: 'idle' | 'opening' | 'ready' | 'failed';
  readonly share: number | null;
  readonly what: string;
  readonly problem: Problem | null;
}

export interface ToolRow {
  readonly name: string;
  readonly title: string;
  /** Why it has nothing to show; empty where it has something. */
  readonly why: string;
  readonly next: string;
}

export interface ToolsResponse {
  readonly tools: readonly ToolRow[];
}

export interface EvidenceRow {
  readonly event: number;
  readonly name: string;
  readonly track: string;
  readonly start_ps: number;
  readonly duration_ps: number;
}

export interface Finding {
  readonly name: string;
  readonly title: string;
  readonly what: string;
  readonly share: number;
  readonly threshold: string;
  readonly advice: string;
  /** Lines that do it; empty where there are none. */
  readonly code: string;
  readonly win_ms: number;
  /** The longest of them. */
  readonly evidence: readonly EvidenceRow[];
  /** How many there are. */
  readonly events: number;
  readonly query: string;
  readonly start_ps: number;
  readonly end_ps: number;
}

export interface PartTime {
  readonly name: string;
  readonly label: string;
  readonly ms: number;
  readonly share: number;
  /** What of it went on behind something that counts for more. */
  readonly hidden_ms: number;
  readonly what: string;
}

export interface Overlap {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly both_ms: number;
  readonly neither_ms: number;
}

export interface PrecisionTimes {
  readonly short_ms: number;
  readonly long_ms: number;
  readonly unknown_ms: number;
  readonly short_share: number | null;
}

export interface OpPlacement {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly host_ops: number;
  readonly device_ops: number;
}

export interface OpRow {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly count: number;
  readonly total_ms: number;
  readonly self_ms: number;
  readonly share: number;
  /** The longest. */
  readonly event: number;
}

export interface StepTimes {
  readonly count: number;
  readonly averaged: number;
  readonly mean_ms: number;
  readonly median_ms: number;
  readonly min_ms: number;
  readonly max_ms: number;
  readonly deviation_ms: number;
}

export interface EnvironmentFact {
  readonly name: string;
  readonly value: string;
}

/** From which percent on something is told. */
export interface ThresholdRow {
  readonly name: string;
  readonly title: string;
  readonly percent: number;
  readonly usual: number;
}

export interface ProfileSummary {
  readonly events: number;
  readonly span_ms: number;
  readonly framework: string;
  /** How the steps were found. */
  readonly rule: string;
  /** What else could be taken for a mark of a step. */
  readonly markers: readonly { readonly name: string; readonly count: number }[];
  readonly steps: StepTimes;
  readonly parts: readonly PartTime[];
  readonly overlap: Overlap | null;
  readonly placement: OpPlacement;
  readonly precision: PrecisionTimes;
  readonly ops: readonly OpRow[];
  readonly environment: readonly EnvironmentFact[];
  readonly findings: readonly Finding[];
  readonly thresholds: readonly ThresholdRow[];
  readonly problems: readonly string[];
}

/** An average step of one host; none where its file cannot be read. */
export interface HostStepRow {
  readonly name: string;
  readonly step_ms: number | null;
  readonly parts_ms: Readonly<Record<string, number>>;
  readonly problem: Problem | null;
}

export interface HostsResponse {
  readonly hosts: readonly HostStepRow[];
}

/** One row a step. */
export interface StepsResponse {
  readonly names: readonly string[];
  readonly start_ms: Float64Array;
  readonly total_ms: Float64Array;
  readonly parts: readonly {
    readonly name: string;
    readonly label: string;
    readonly counted: Float64Array;
    readonly alone: Float64Array;
  }[];
  readonly other: Float64Array;
  /** Which of them averages are of: the first, and the one after the last. */
  readonly averaged: readonly [number, number];
}

export interface StageRow {
  readonly id: number;
  readonly name: string;
  readonly op: string;
  readonly parent: number | null;
  readonly calls: number;
  readonly total_ms: number;
  readonly self_ms: number;
  readonly critical_ms: number;
  readonly parallel: number | null;
  readonly is_slowest: boolean;
  readonly advice: string;
  readonly event: number;
}

export interface LoaderRow {
  readonly name: string;
  readonly calls: number;
  readonly total_ms: number;
  readonly mean_ms: number;
  readonly max_ms: number;
  readonly event: number;
}

export interface InputAnalysis {
  readonly share: number;
  readonly ms: number;
  readonly hidden_ms: number;
  readonly verdict: string;
  readonly parts: readonly {
    readonly name: string;
    readonly what: string;
    readonly ms: number;
    readonly share: number;
  }[];
  readonly pipelines: readonly { readonly name: string; readonly stages: readonly StageRow[] }[];
  readonly loaders: readonly LoaderRow[];
  readonly findings: readonly Finding[];
  /** Why there is nothing. */
  readonly why: string;
}

export interface OpPair {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly before_count: number;
  readonly after_count: number;
  readonly before_ms: number;
  readonly after_ms: number;
  readonly delta_ms: number;
}

export interface FindingPair {
  readonly name: string;
  readonly title: string;
  readonly state: 'gone' | 'new' | 'less' | 'more' | 'same';
  readonly before_ms: number;
  readonly after_ms: number;
}

export interface Comparison {
  readonly verdict: string;
  readonly step: { readonly before_ms: number; readonly after_ms: number };
  readonly ops: readonly OpPair[];
  readonly findings: readonly FindingPair[];
  /** What is not the same. */
  readonly environment: readonly {
    readonly name: string;
    readonly before: string;
    readonly after: string;
  }[];
}

/** What the server says of ops: one row an op, in columns. */
export interface OpsResponse {
  readonly names: readonly string[];
  readonly types: readonly string[];
  /** 0 for the host, 1 for devices, 2 for functions of Python. */
  readonly sides: Uint8Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly self_ms: Float64Array;
  /** The event that took longest. */
  readonly longest: Int32Array;
  readonly host_idle_ms: number;
  readonly device_idle_ms: number;
  readonly steps: number;
}

export const OP_SIDES = ['Host', 'Device', 'Python'] as const;

/** What the server says of kernels: one row for each way to launch one for an op, in columns. */
export interface KernelsResponse {
  readonly devices: readonly DeviceRow[];
  readonly names: readonly string[];
  readonly ops: readonly string[];
  readonly types: readonly string[];
  /** Three numbers with commas between them. */
  readonly grids: readonly string[];
  readonly blocks: readonly string[];
  readonly registers: Int32Array;
  readonly shared_bytes: Int32Array;
  /** In percent; NaN where nobody knows. */
  readonly occupancy: Float32Array;
  readonly occupancy_is: 'theoretical' | 'achieved';
  /** The share of the multiprocessors that the grid is enough for. */
  readonly fill: Float32Array;
  readonly tensor_cores: Uint8Array;
  readonly eligible: Uint8Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly min_ms: Float64Array;
  readonly max_ms: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
}

export interface DeviceRow {
  readonly name: string;
  readonly multiprocessors: number;
  readonly memory_bytes: number;
  readonly capability: string;
}

/** Whether a kernel uses tensor cores. */
export const [TENSOR_CORES_UNUSED, TENSOR_CORES_USED, TENSOR_CORES_UNKNOWN] = [0, 1, 2];

/** What the server says of memory. */
export interface MemoryResponse {
  /** Those of devices first. */
  readonly allocators: readonly AllocatorRow[];
  readonly step_names: readonly string[];
  readonly step_starts: Float64Array;
  readonly step_ends: Float64Array;
}

/** An allocator over time; `ms` since the capture began, and bytes. */
export interface AllocatorRow {
  readonly name: string;
  readonly is_device: boolean;
  readonly allocations: number;
  readonly frees: number;
  /** All that it could have given. */
  readonly capacity: number | null;
  readonly peak: MemoryPeak;
  readonly ms: Float64Array;
  readonly heap: Float64Array;
  readonly stack: Float64Array;
  /** What it holds of the device without anybody using it. */
  readonly cache: Float64Array;
  readonly events: Int32Array;
  /** What was in use at the peak. */
  readonly pieces: AllocationColumns;
  /** What was taken step after step and never given back. */
  readonly leaks: AllocationColumns;
  /** What was in use at the end of each step. */
  readonly step_heaps: Float64Array;
}

export interface MemoryPeak {
  readonly ms: number;
  readonly event: number;
  readonly heap: number;
  readonly stack: number;
  readonly cache: number;
  readonly free: number | null;
  readonly fragmentation: number | null;
  /** The most that ever was in use, before the capture as well. */
  readonly ever: number | null;
}

/** Memory that was taken alike, one row each. */
export interface AllocationColumns {
  readonly ops: readonly string[];
  readonly bytes: Float64Array;
  readonly requested: Float64Array;
  readonly counts: Int32Array;
  readonly regions: readonly string[];
  readonly types: readonly string[];
  readonly shapes: readonly string[];
  readonly events: Int32Array;
  readonly steps: Int32Array;
}

/** What the server says of programs of XLA, and of the instructions of them that ran. */
export interface ProgramsResponse {
  /** Those that took longest first. */
  readonly programs: readonly ProgramRow[];
  readonly names: readonly string[];
  readonly opcodes: readonly string[];
  readonly kinds: readonly string[];
  /** What the framework calls that which an instruction came of, with slashes between its parts. */
  readonly scopes: readonly string[];
  readonly sources: readonly string[];
  readonly shapes: readonly string[];
  /** The `index` of each instruction's program. */
  readonly programs_of: Int32Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly flops: Float64Array;
  readonly bytes: Float64Array;
  readonly longest: Int32Array;
  /** What ran on devices and is no known instruction. */
  readonly unplaced_ms: number;
  readonly steps: number;
}

export interface ProgramRow {
  readonly index: number;
  readonly name: string;
  readonly number: number;
  readonly instructions: number;
  readonly total_ms: number;
}

/** A program line by line. */
export interface ProgramTextResponse {
  readonly name: string;
  readonly lines: readonly string[];
  /** The instruction of each line; empty for none. */
  readonly names: readonly string[];
  /** NaN on lines of what did not run by itself. */
  readonly ms: Float64Array;
  readonly rest: number;
}

/** What the server says of ops of which it is known what they compute and move. */
export interface RooflineResponse {
  readonly device: string;
  /** The most operations a second of each kind of units; empty where nobody says. */
  readonly roofs: readonly { readonly name: string; readonly flops_per_s: number }[];
  readonly bytes_per_s: number;
  /** The roofs were reckoned from the number of units. */
  readonly is_guess: boolean;
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly counts: Int32Array;
  readonly self_ms: Float64Array;
  readonly flops: Float64Array;
  readonly bytes: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
}

/** What the server says of a timeline; `tracklight/analysis/profiles/timeline` says what it means. */

export interface TrackRow {
  readonly id: number;
  readonly process: string;
  readonly name: string;
  readonly is_device: boolean;
  readonly is_main: boolean;
  readonly lanes: number;
  readonly events: number;
  readonly busy_ps: number;
}

export interface StepColumns {
  readonly rule: string;
  readonly names: readonly string[];
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export interface TimelineResponse {
  readonly start_ps: number;
  readonly end_ps: number;
  readonly events: number;
  readonly tracks: readonly TrackRow[];
  readonly steps: StepColumns;
  /** How many arrows there are. */
  readonly flows: number;
  readonly problems: readonly string[];
}

export interface Tiles {
  readonly ends: Int32Array;
  readonly lane: Uint8Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly event: Int32Array;
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  readonly busy: Uint8Array;
  readonly words: { readonly ids: Int32Array; readonly texts: readonly string[] };
}

/** What a copy of a board carries of a trace: all tracks at one level of detail. */
export interface StaticTimeline {
  readonly timeline: TimelineResponse;
  readonly level: number;
  readonly first: number;
  readonly last: number;
  readonly tiles: Tiles;
}

export interface EventRow {
  readonly event: number;
  readonly name: string;
  readonly track: number;
  readonly lane: number;
  readonly start_ps: number;
  readonly duration_ps: number;
}

export interface NameRow {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  readonly total_ps: number;
  readonly longest: number;
}

export interface EventDetails {
  readonly row: EventRow;
  readonly category: string;
  readonly self_ps: number;
  readonly arguments: readonly { readonly key: string; readonly value: string | number }[];
  readonly stack: readonly EventRow[];
  readonly children: readonly NameRow[];
  readonly came_from: readonly EventRow[];
  readonly led_to: readonly EventRow[];
  readonly same: {
    readonly count: number;
    readonly total_ps: number;
    readonly mean_ps: number;
    readonly min_ps: number;
    readonly max_ps: number;
    readonly place: number;
    readonly rank: number;
    readonly previous: number | null;
    readonly next: number | null;
    readonly longest: number;
  };
}

export interface SearchResult {
  readonly count: number;
  readonly total_ps: number;
  readonly names: readonly NameRow[];
  readonly ids: Int32Array;
  /** A bit for each event, where arguments were looked through. */
  readonly told: Uint8Array;
  readonly offset: number;
  readonly event: Int32Array;
  readonly track: Int32Array;
  readonly lane: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  readonly marks: Uint8Array;
}

export interface SelectedName extends NameRow {
  readonly self_ps: number;
  readonly min_ps: number;
  readonly max_ps: number;
}

export interface SelectionSummary {
  readonly count: number;
  readonly unlike: number;
  readonly names: readonly SelectedName[];
  readonly tracks: readonly {
    readonly track: number;
    readonly count: number;
    readonly busy_ps: number;
  }[];
}

export interface FlowArrows {
  readonly count: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly source_track: Int32Array;
  readonly target_track: Int32Array;
  readonly source_lane: Int32Array;
  readonly target_lane: Int32Array;
  readonly source_ps: Float64Array;
  readonly target_ps: Float64Array;
}
