/** What the server says of ops of which it is known what they compute and move. */
export interface RooflineAnswer {
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
