import { type Rules, USUAL_RULES } from './params';

/** Which trace is asked about, and how its steps are found. */
export interface CaptureAsk {
  readonly capture: string;
  readonly host: string;
  readonly marker: string;
  /** Whose rules steps and their parts are found by. */
  readonly rules: Rules;
  /** Thresholds that are not as usual. */
  readonly thresholds: string;
  /** Changes when the files do; an answer to a question with a mark never changes. */
  readonly mark: number | null;
}

export type Extra = Readonly<Record<string, string | number | boolean | null>>;

/** The question as an address. What is usual is left out, so that a copy knows it by one name. */
export function queryOf(path: string, ask: CaptureAsk, more: Extra = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of saidIn({ ...ask, ...more })) query.set(name, String(value));
  return `${path}?${query}`;
}

/** The question as JSON, where it is too long for an address. */
export function bodyOf(ask: CaptureAsk, more: object = {}): object {
  return { ...Object.fromEntries(saidIn({ ...ask })), ...more };
}

const USUAL: readonly unknown[] = ['', null, USUAL_RULES];

function saidIn(fields: Extra): [string, Extra[string]][] {
  return Object.entries(fields).filter(([, value]) => !USUAL.includes(value));
}
