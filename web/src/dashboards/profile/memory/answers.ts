/** What the server says of memory. */
export interface MemoryAnswer {
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
  readonly peak: Peak;
  readonly ms: Float64Array;
  readonly heap: Float64Array;
  readonly stack: Float64Array;
  /** What it holds of the device without anybody using it. */
  readonly cache: Float64Array;
  readonly events: Int32Array;
  /** What was in use at the peak. */
  readonly pieces: Pieces;
  /** What was taken step after step and never given back. */
  readonly leaks: Pieces;
  /** What was in use at the end of each step. */
  readonly step_heaps: Float64Array;
}

export interface Peak {
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
export interface Pieces {
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
