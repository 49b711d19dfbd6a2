/** What the server says of kernels: one row for each way to launch one for an op, in columns. */
export interface KernelsAnswer {
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
export const [NO, YES, UNKNOWN] = [0, 1, 2];
