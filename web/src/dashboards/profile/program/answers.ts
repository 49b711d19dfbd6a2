/** What the server says of programs of XLA, and of the instructions of them that ran. */
export interface ProgramAnswer {
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
export interface TextAnswer {
  readonly name: string;
  readonly lines: readonly string[];
  /** The instruction of each line; empty for none. */
  readonly names: readonly string[];
  /** NaN on lines of what did not run by itself. */
  readonly ms: Float64Array;
  readonly rest: number;
}
