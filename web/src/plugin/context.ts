import type { LayoutCategory, ChartLayout } from '../api/client';
import type { Query } from '../api/create-query.svelte';
import type { QueryCache } from '../api/query-cache';
import type { ObserveOptions, QueryDefinition } from '../api/query-definition';
import type { Problem, RunRow, TagRow } from '../api/schemas';
import type { Codec } from '../lib/codecs';

/**
 * What a dashboard may see of the page. Everything that can change is reactive when it is read in a
 * Svelte effect or template; who does not use Svelte calls `subscribe`.
 */
export interface Context {
  readonly runs: Runs;
  readonly tags: Tags;
  readonly live: Live;
  readonly cursor: Cursor;
  readonly url: UrlState;
  readonly preferences: Preferences;
  readonly shortcuts: Shortcuts;
  readonly commands: Commands;
  readonly notes: Notes;
  /**
   * Follow a query while the surrounding component or effect lives. `request` is reactive; null means
   * that nothing is needed.
   */
  query<Request, Data>(
    definition: QueryDefinition<Request, Data>,
    request: () => Request | null,
    options?: ObserveOptions<Request>,
  ): Query<Data>;
  /** The cache behind `query`: single requests, changes on the server, use without Svelte. */
  readonly queries: QueryCache;
  /** Whether a route such as `POST graphs/upload` is available; a static export has only some. */
  supports(route: string): boolean;
  readonly api: DashboardApi;
  /** The server half of another dashboard, for one that shows the same data in another way. */
  getApi(dashboard: string): DashboardApi;
  /** Whether another dashboard has something to show. */
  isDashboardActive(dashboard: string): boolean;
  readonly theme: { readonly dark: boolean };
  /** The directories that the log is made of, as the server knows them. */
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  /** True in a copy of the board that has no server. */
  readonly isStatic: boolean;
  /** Calls `listener` after anything above has changed, at most once a frame. */
  subscribe(listener: () => void): () => void;
}

/** The server half of the dashboard: `path` is relative to `api/v1/<dashboard>/`. */
export interface DashboardApi {
  get<Answer>(path: string, signal?: AbortSignal): Promise<Answer>;
  /** Asks with JSON; columns in the answer come as typed arrays. */
  post<Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer>;
  /** Asks with JSON for a file, as it came. */
  blob(path: string, body: unknown, signal?: AbortSignal): Promise<Blob>;
  /** Where a browser finds what `path` names; a copy of a board has nothing there. */
  url(path: string): string;
  /** What an image, a player or a link can show: the address, or in a copy one for what it carries. */
  fileUrl(path: string): Promise<string>;
}

export interface DashboardModule {
  /** Fills `target` and returns how to leave it empty again. */
  mount(target: HTMLElement, context: Context): () => void;
}

// ---- runs

/** A run as every dashboard has to draw it. */
export interface VisibleRun {
  readonly name: string;
  /** The user's alias, or the name. */
  readonly label: string;
  readonly color: string;
  /** Canvas dash pattern; empty for a solid line. */
  readonly dash: readonly number[];
  /** Key of the group it belongs to; null while runs are not grouped. */
  readonly group: string | null;
}

export interface RunGroup {
  readonly key: string;
  readonly label: string;
  readonly color: string;
  /** The runs of the group that are shown. */
  readonly runs: readonly string[];
}

export interface Runs {
  /** Those that are ticked and pass the filter, in the order of the table. */
  readonly visible: readonly VisibleRun[];
  /** Empty while runs are not grouped. */
  readonly groups: readonly RunGroup[];
  /** The run that others are compared with. */
  readonly baseline: string | null;
  /** The run under the pointer, in the table or in a chart. */
  readonly highlighted: string | null;
  readonly all: readonly RunRow[];
  find(name: string): VisibleRun | undefined;
  /** Whether a run passes the filter of the table, ticked or not. */
  matchesFilter(name: string): boolean;
  highlight(name: string | null): void;
  solo(name: string): void;
  /** Ticks these runs and no others. */
  selectOnly(names: readonly string[]): void;
  setBaseline(name: string | null): void;
}

export interface Tags {
  /** Those of all runs, in natural order. */
  readonly rows: readonly TagRow[];
  readonly isReady: boolean;
  readonly error: Problem | null;
  /** The names of the tags that any of some runs has. */
  listNames(runs: readonly string[], signal?: AbortSignal): Promise<readonly string[]>;
}

export interface Live {
  /** A number that changes when the run, or with null any run, has changed. */
  getRevision(run: string | null): number;
  readonly isPaused: boolean;
  readonly isLoading: boolean;
}

// ---- what the pointer is at

/** What a horizontal axis counts; `metric:<tag>` is the value of another scalar. */
export type XAxis = 'step' | 'relative_step' | 'relative' | 'wall' | 'index' | `metric:${string}`;

/** One place on one kind of axis, shared by all charts that have that axis. */
export interface Cursor {
  readonly hover: { readonly x: number; readonly axis: XAxis; readonly from: string } | null;
  readonly pinned: number | null;
  readonly range: readonly [number, number] | null;
  setHover(x: number | null, axis: XAxis, from: string): void;
  pin(x: number | null): void;
  selectRange(range: readonly [number, number] | null): void;
}

// ---- what is kept

/** One value that decides what is seen. Reading `value` is reactive. */
export interface Param<Value> {
  readonly value: Value;
  set(value: Value, how?: 'push' | 'replace'): void;
}

/** The address of the page: a copied link shows the same. */
export interface UrlState {
  /** `name` is the key in the query; the fallback is never written. */
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value>;
}

/** What a user likes and this browser remembers: sizes, not content. */
export interface Preferences {
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value>;
}

export interface Annotation {
  readonly id: string;
  readonly step: number;
  readonly text: string;
  /** null: on every chart. */
  readonly tag: string | null;
}

/** What users say about runs and steps; the server keeps it beside, never in, the log. */
export interface Notes {
  readonly annotations: readonly Annotation[];
  addAnnotation(step: number, text: string, tag: string | null): Promise<void>;
  deleteAnnotation(id: string): Promise<void>;
  /** Charts that users laid out. */
  readonly layouts: readonly ChartLayout[];
  /** null takes the layout of that name away. Rejects where it could not be kept. */
  saveLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void>;
}

// ---- keyboard and commands

export interface Shortcut {
  /** As the sheet says it: `f`, `Shift+P`, `Escape`, `ArrowLeft`. Never taken while typing. */
  readonly keys: string;
  readonly label: string;
  /** Heading in the sheet. */
  readonly group: string;
  run(event: KeyboardEvent): void;
}

export interface Shortcuts {
  register(shortcut: Shortcut): () => void;
}

export interface Command {
  readonly label: string;
  /** What kind of thing it is: Action, Run, Tag, Dashboard, Setting. */
  readonly kind: string;
  readonly hint?: string;
  run(): void;
}

export interface Commands {
  /** `find` is asked on every keystroke in the command box; it returns its best few. */
  register(find: (query: string) => readonly Command[]): () => void;
}
