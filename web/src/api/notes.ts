import { ask, postJson } from './client';
import type { WireNumber } from './types';

/** What is kept of one run; an empty text is none. */
export interface RunNote {
  readonly note: string;
  readonly alias: string;
  readonly hidden: boolean;
  /** Empty, or `#rrggbb`. */
  readonly color: string;
  readonly labels: readonly string[];
}

export interface Annotation {
  readonly id: string;
  readonly step: number;
  readonly text: string;
  /** null: on every chart. */
  readonly tag: string | null;
  /** Seconds since 1970. */
  readonly created: number;
}

export type RuleKind = 'above' | 'below' | 'nan' | 'stalled';

export interface Rule {
  readonly id: string;
  /** A pattern for series; see docs/patterns.md. */
  readonly tag: string;
  readonly kind: RuleKind;
  /** The threshold; for `stalled`, the steps without improvement. */
  readonly value: number | null;
  /** Whether lower or higher is better, for `stalled`. */
  readonly goal: 'min' | 'max' | null;
}

/** A rule as the server has it; a fixed one was given on its command line. */
export interface KnownRule extends Rule {
  readonly fixed: boolean;
}

/** One alarm: it comes again, under the same id, when it is resolved. */
export interface Fired {
  readonly id: string;
  /** The rule's id. */
  readonly rule: string;
  readonly run: string;
  readonly tag: string;
  readonly step: number;
  readonly value: WireNumber;
  readonly wall_time: WireNumber;
  readonly text: string;
  readonly resolved: boolean;
}

/** Three tags: a line, and the lower and upper edge of the band around it. */
export interface LayoutMargin {
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

/** One chart that somebody laid out: lines with bands if there are any, else plain lines. */
export interface LayoutChart {
  readonly title: string;
  /** Regular expressions, each for the tags that begin with a match. */
  readonly tags: readonly string[];
  readonly margins: readonly LayoutMargin[];
}

export interface LayoutCategory {
  readonly title: string;
  /** Folded until somebody opens it. */
  readonly closed: boolean;
  readonly charts: readonly LayoutChart[];
}

/** Charts that somebody laid out, under a name. */
export interface NamedLayout {
  readonly name: string;
  readonly categories: readonly LayoutCategory[];
}

export interface NotesAnswer {
  /** Grows with every change of what is kept. */
  readonly revision: number;
  readonly runs: Readonly<Record<string, RunNote>>;
  readonly annotations: readonly Annotation[];
  readonly layouts: readonly NamedLayout[];
  readonly alerts: {
    readonly rules: readonly KnownRule[];
    /** The newest first. */
    readonly alerts: readonly Fired[];
    /** Whether alarms are also sent somewhere. */
    readonly webhook: boolean;
  };
}

export const getNotes = (): Promise<NotesAnswer> => ask('api/v1/notes');

/** Sets what is given for all these runs; an empty text takes it away. */
export function changeRuns(
  names: readonly string[],
  change: Partial<RunNote>,
): Promise<NotesAnswer> {
  return send('PATCH', 'api/v1/notes/runs', { runs: names, ...change });
}

export function annotate(step: number, text: string, tag: string | null): Promise<NotesAnswer> {
  return send('POST', 'api/v1/notes/annotations', { step, text, tag });
}

export function removeAnnotation(id: string): Promise<NotesAnswer> {
  return ask(`api/v1/notes/annotations/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

/** null takes the layout of that name away. */
export function keepLayout(
  name: string,
  categories: readonly LayoutCategory[] | null,
): Promise<NotesAnswer> {
  return send('PUT', 'api/v1/notes/layouts', { name, categories });
}

/** Replaces all rules but the fixed ones. */
export function setRules(rules: readonly Rule[]): Promise<NotesAnswer> {
  return send('PUT', 'api/v1/alerts/rules', rules);
}

function send<Answer>(method: string, path: string, body: unknown): Promise<Answer> {
  return ask(path, { ...postJson(body), method });
}
