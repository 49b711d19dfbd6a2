/** Which trace is asked about, and how its steps are found. */
export interface CaptureAsk {
  readonly capture: string;
  readonly host: string;
  readonly marker: string;
  /** Whose rules hold; empty for ours. */
  readonly rules: '' | 'xprof';
  /** Changes when the files do; an answer to a question with a mark never changes. */
  readonly mark: number | null;
}

export type Extra = Readonly<Record<string, string | number | boolean | null>>;

/** The question as an address. What is empty is left out, so that a copy knows it by one name. */
export function queryOf(path: string, ask: CaptureAsk, more: Extra = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...ask, ...more }))
    if (value !== '' && value !== null) query.set(name, String(value));
  return `${path}?${query}`;
}
