/** What the server says, field for field as in `tracklight/server`. */

/** A number, or the name of one for which JSON has no word. */
export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity';

export interface StampRow {
  readonly step: number;
  readonly wall_time: JsonNumber;
}

export interface RunRow {
  readonly name: string;
  readonly start_wall: JsonNumber | null;
  readonly last_wall: JsonNumber | null;
  readonly files: number;
  readonly bytes: number;
  readonly tags: number;
  readonly points: number;
  readonly damaged: number;
}

export interface TagRow {
  readonly tag: string;
  readonly plugin: string;
  readonly kind: string;
  readonly runs: number;
  readonly count: number;
  readonly overwritten: number;
  readonly first: StampRow | null;
  readonly last: StampRow | null;
  readonly display_name: string;
  readonly description: string;
}

export interface FileRow {
  readonly run: string;
  readonly path: string;
  readonly bytes: number;
  readonly records: number;
  readonly damaged: number;
  /** Offset, size and flaw of the first damaged places. */
  readonly damage: readonly (readonly [number, number, string])[];
}

export interface ProgressRow {
  readonly files_done: number;
  readonly files_total: number;
  readonly bytes_done: number;
  readonly bytes_total: number;
}

export interface LoadStatus {
  readonly loading: boolean;
  readonly progress: ProgressRow;
  /** The first sentences on what could not be read; `problem_count` counts all. */
  readonly problems: readonly string[];
  readonly problem_count: number;
}

export interface LogdirProbe {
  readonly path: string;
  readonly exists: boolean;
  readonly entries: number | null;
  readonly examples: readonly string[];
}

export interface StatusResponse {
  readonly version: string;
  readonly cursor: string;
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  readonly status: LoadStatus;
  readonly directories: readonly LogdirProbe[];
}

export interface RunsResponse {
  readonly cursor: string;
  readonly runs: readonly RunRow[];
}

export interface TagsResponse {
  readonly cursor: string;
  readonly run: string | null;
  readonly tags: readonly TagRow[];
}

export interface TagNamesResponse {
  readonly tags: readonly string[];
}

export interface FilesResponse {
  readonly files: readonly FileRow[];
}

export interface DashboardRow {
  readonly name: string;
  readonly title: string;
  /** Names of the plugins whose data it shows. */
  readonly plugins: readonly string[];
  readonly active: boolean;
  /** Where its code is, for a dashboard that does not come with the page. */
  readonly module_url: string | null;
}

/** Runs that came, went or grew. */
export interface RunChanges {
  readonly added: readonly RunRow[];
  readonly removed: readonly string[];
  readonly changed: readonly RunRow[];
}

export interface NewTag {
  readonly run: string;
  readonly tag: string;
  readonly kind: string;
  readonly plugin: string;
}

/** Step, wall time and value of the last point of a tag, and how many points it has. */
export type LastPoint = readonly [
  step: number,
  wallTime: JsonNumber,
  value: JsonNumber,
  count: number,
];

/**
 * What changed since the cursor before. Tags may be told again that are known already; with
 * `tags_truncated` or `points_truncated` there are too many to tell.
 */
export interface DeltaEvent extends RunChanges {
  readonly cursor: string;
  readonly tags: readonly NewTag[];
  readonly tags_truncated: boolean;
  /** By run and tag, of the scalars that grew. */
  readonly points: Readonly<Record<string, Readonly<Record<string, LastPoint>>>>;
  readonly points_truncated: boolean;
}

/** The events that a stream would have sent since the previous poll. */
export interface PollResponse {
  readonly cursor: string;
  readonly last_event: number;
  /** Everything has to be asked for anew. */
  readonly reset: boolean;
  readonly status: LoadStatus;
  readonly delta: DeltaEvent | null;
  readonly events: readonly { readonly name: string; readonly data: unknown }[];
}

/** What is wrong, and what to do next. */
export interface Problem {
  readonly message: string;
  readonly hint: string;
}
