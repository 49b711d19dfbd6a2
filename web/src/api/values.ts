/** At which steps one tag of one run was logged, in the order of the steps. */
export interface RunSteps {
  readonly run: string;
  readonly tag: string;
  /** What each value is asked for by. */
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  /** With it an address never stands for another value. */
  readonly mark: Int32Array;
}

/**
 * The address of a value, the same to the letter as `value_path` in `tracklight/analysis/media` makes it:
 * copies of boards carry values under it.
 */
export function valuePath(
  verb: string,
  { run, tag, index, mark }: RunSteps,
  place: number,
  extra: Readonly<Record<string, string | number>> = {},
): string {
  const about = { run, tag, index: index[place] ?? 0, mark: mark[place] ?? 0, ...extra };
  const query = Object.entries(about).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `${verb}?${query.join('&')}`;
}
