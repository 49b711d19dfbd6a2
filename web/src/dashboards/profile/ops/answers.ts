/** What the server says of ops: one row an op, in columns. */
export interface OpsAnswer {
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

export const SIDES = ['Host', 'Device', 'Python'] as const;
