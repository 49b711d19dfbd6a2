import { type Rules, USUAL_RULES } from './params';

/** Which trace is asked about, and how its steps are found. */
export interface CaptureAsk {
  readonly capture: string;
  readonly host: string;
  readonly marker: string;
  /** Whose rules steps and their parts are found by. */
  readonly rules: Rules;
  /** Changes when the files do; an answer to a question with a mark never changes. */
  readonly mark: number | null;
}

export type Extra = Readonly<Record<string, string | number | boolean | null>>;

/** The question as an address. What is usual is left out, so that a copy knows it by one name. */
export function queryOf(path: string, ask: CaptureAsk, more: Extra = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...ask, ...more }))
    if (!USUAL.includes(value)) query.set(name, String(value));
  return `${path}?${query}`;
}

const USUAL: readonly unknown[] = ['', null, USUAL_RULES];
