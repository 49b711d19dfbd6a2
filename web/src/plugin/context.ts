import type { Query } from '../api/create-query.svelte';
import type { QueryCache } from '../api/query-cache';
import type { ObserveOptions, QueryDefinition } from '../api/query-definition';
import type {
  AlertsResponse,
  ColumnListResponse,
  DerivedMetric,
  GroupQuery,
  LayoutCategory,
  Problem,
  RunNote,
  RunNoteUpdate,
  RunRow,
  RunTotals,
  TagRow,
} from '../api/schemas';
import type { Codec } from '../lib/codecs';

/** A saved layout. */
export interface ChartLayout {
  readonly name: string;
  readonly categories: readonly LayoutCategory[];
}

/** A change of the notes of runs; fields that are left out stay as they are, empty text removes one. */
export type RunNoteChange = Omit<RunNoteUpdate, 'runs'>;

/** The columns of a log without hyperparameters and metrics. */
export const NO_COLUMNS: ColumnListResponse = { hparams: [], metrics: [], display_names: {} };

/**
 * What a dashboard can use of the page. Everything that can change is reactive when it is read in a
 * Svelte effect or template; code without Svelte calls `subscribe`.
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
  /** Return the API of another dashboard, to show the same data in another way. */
  getApi(dashboard: string): DashboardApi;
  /** Return whether another dashboard has data. */
  isDashboardActive(dashboard: string): boolean;
  readonly theme: { readonly dark: boolean };
  /** The log directories, with their paths on the server. */
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  /** True in a static export, which has no server. */
  readonly isStatic: boolean;
  /** Nobody can change notes, layouts and workspaces, as in a static export. */
  readonly isReadOnly: boolean;
  /** Report an error of the dashboard's code: the page shows it in place of the dashboard. */
  reportError(error: unknown): void;
  /** Call `listener` after any of these changed, at most once per frame. */
  subscribe(listener: () => void): () => void;
}

/** The server routes of a dashboard; `path` is relative to `api/v1/<dashboard>/`. */
export interface DashboardApi {
  get<Response>(path: string, signal?: AbortSignal): Promise<Response>;
  /** Send JSON; numeric columns of the response are typed arrays. */
  post<Response>(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
  /** Send JSON and return the body of the response unchanged. */
  blob(path: string, body: unknown, signal?: AbortSignal): Promise<Blob>;
  /** Return the URL of a route; it does not work in a static export. */
  url(path: string): string;
  /** Return a URL for an image, a player or a link, which also works in a static export. */
  fileUrl(path: string): Promise<string>;
}

export interface DashboardModule {
  /** Render into `target`; return a function that removes everything again. */
  mount(target: HTMLElement, context: Context): () => void;
}

// ---- runs

/** A run as every dashboard shows it. */
export interface VisibleRun {
  readonly name: string;
  /** The user's alias, or the name. */
  readonly label: string;
  readonly color: string;
  /** Canvas dash pattern; empty for a solid line. */
  readonly dash: readonly number[];
  /** Key of its group; null if runs are not grouped. */
  readonly group: string | null;
}

export interface RunGroup {
  readonly key: string;
  readonly label: string;
  readonly color: string;
  /** The visible runs of the group. */
  readonly runs: readonly string[];
  /** In a large log, all selected runs of the group: `runs` has only the first ones. */
  readonly all?: RunSet;
}

/** Runs that the page does not have, but can request data of. */
export interface RunSet {
  readonly query: GroupQuery;
  readonly count: number;
  /** What their names end with, such as `train`; empty for other names. */
  readonly splits: readonly string[];
}

export interface Runs {
  /** The selected runs that match the filter, in the order of the table. */
  readonly visible: readonly VisibleRun[];
  /** Empty if runs are not grouped. */
  readonly groups: readonly RunGroup[];
  /** The run that others are compared with. */
  readonly baseline: string | null;
  /** The run under the pointer, in the table or in a chart. */
  readonly highlighted: string | null;
  /** All runs; of a log with very many, those that the page has loaded. */
  readonly all: readonly RunRow[];
  /** Numbers of runs and points of the whole log. */
  readonly totals: RunTotals;
  /** In a large log, all selected runs that match the filter: `visible` has only the first ones. */
  readonly selection: RunSet | null;
  /**
   * In a large log, describes all runs that match the filter, selected or not. Null in other logs, and
   * undefined until the page knows whether the log is large.
   */
  readonly matching: GroupQuery | null | undefined;
  find(name: string): VisibleRun | undefined;
  /** Return whether a run matches the filter of the table, selected or not. */
  matchesFilter(name: string): boolean;
  highlight(name: string | null): void;
  /**
   * Show runs in other colors in the table, because the dashboard draws them in these; return a
   * function that ends it.
   */
  overrideColors(colors: ReadonlyMap<string, string>): () => void;
  /** Select only this run; called again, restore the previous selection. */
  solo(name: string): void;
  /** Select these runs and no others. */
  selectOnly(names: readonly string[]): void;
  setBaseline(name: string | null): void;
}

export interface Tags {
  /** The tags of all runs, in natural order. */
  readonly rows: readonly TagRow[];
  readonly isReady: boolean;
  readonly error: Problem | null;
  /** Return the names of the tags that at least one of the runs has. */
  listNames(runs: readonly string[], signal?: AbortSignal): Promise<readonly string[]>;
}

export interface Live {
  /** Return a number that changes with the run, or with any run for null. */
  getRevision(run: string | null): number;
  readonly isPaused: boolean;
  readonly isLoading: boolean;
}

// ---- linked cursor

/** The quantity on a horizontal axis; `metric:<tag>` is the value of another scalar. */
export type XAxis = 'step' | 'relative_step' | 'relative' | 'wall' | 'index' | `metric:${string}`;

/** The position of the pointer, shared by all charts with the same axis. */
export interface Cursor {
  readonly hover: { readonly x: number; readonly axis: XAxis; readonly from: string } | null;
  readonly pinned: number | null;
  readonly range: readonly [number, number] | null;
  setHover(x: number | null, axis: XAxis, from: string): void;
  pin(x: number | null): void;
  selectRange(range: readonly [number, number] | null): void;
}

// ---- stored values

/** A stored value. Reading `value` is reactive. */
export interface Param<Value> {
  readonly value: Value;
  /** `push` adds an entry to the browser's history; `replace`, the default, does not. */
  set(value: Value, mode?: 'push' | 'replace'): void;
}

/** The URL of the page: a copied link restores the view, and so do Back and Forward. */
export interface UrlState {
  /** `name` is the name of the query parameter; the fallback is never written. */
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value>;
}

/** Values that this browser remembers, such as sizes; never content. */
export interface Preferences {
  param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value>;
}

export interface Annotation {
  readonly id: string;
  readonly step: number;
  readonly text: string;
  /** null: shown in every chart. */
  readonly tag: string | null;
}

/** Fields of the notes on a run that are edited as text. */
export type NoteField = 'alias' | 'labels' | 'note';

/** Notes of users; the server stores them beside the log, never in it. */
export interface Notes {
  /** Notes on runs by name; another object after every change. */
  readonly runs: Readonly<Record<string, RunNote>>;
  /** Change notes on runs. An error is shown in the runs panel. */
  updateRuns(names: readonly string[], change: RunNoteChange): Promise<void>;
  /**
   * Change notes on runs. Rejects with a ServerError of status 409, and loads the stored notes, if
   * they are not what the change expects.
   */
  editRuns(names: readonly string[], change: RunNoteChange): Promise<void>;
  readonly annotations: readonly Annotation[];
  addAnnotation(step: number, text: string, tag: string | null): Promise<void>;
  deleteAnnotation(id: string): Promise<void>;
  /** Chart layouts created in the page. */
  readonly layouts: readonly ChartLayout[];
  /** null deletes the layout. Rejects if it could not be saved. */
  saveLayout(name: string, categories: readonly LayoutCategory[] | null): Promise<void>;
  /** Alert rules, and the alerts that they fired, newest first. */
  readonly alerts: AlertsResponse;
  /** Derived metrics: named expressions over scalar tags, which are listed like tags. */
  readonly metrics: readonly DerivedMetric[];
  /**
   * null deletes the metric. Rejects if it could not be saved: with status 409, and loads the stored
   * metrics, if another expression than `expected` is stored.
   */
  saveMetric(name: string, expression: string | null, expected: string | null): Promise<void>;
}

// ---- keyboard and commands

export interface Shortcut {
  /** For example `f`, `Shift+P`, `Escape`, `ArrowLeft`. Ignored while typing. */
  readonly keys: string;
  readonly label: string;
  /** Heading in the list of shortcuts. */
  readonly group: string;
  run(event: KeyboardEvent): void;
}

export interface Shortcuts {
  register(shortcut: Shortcut): () => void;
}

export interface Command {
  readonly label: string;
  /** Heading in the list: `Action`, `Run`, `Tag`, `Dashboard`, `Setting` or another word. */
  readonly kind: string;
  readonly hint?: string;
  run(): void;
}

export interface Commands {
  /** `find` is called on every keystroke in the command palette; it returns the best matches. */
  register(find: (query: string) => readonly Command[]): () => void;
}
