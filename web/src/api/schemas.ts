/**
 * Types of the HTTP API, of the live stream and of static exports, generated from the structs of
 * the Python package by `python -m tools.write_web_types`. Do not edit.
 *
 * Fields with a default are optional in requests and always present in responses. Where this makes
 * a difference for a type that is used in both, the one for requests is called `…Input`. NumPy
 * arrays are typed arrays, as `decodeColumns` returns them.
 */

/** Bytes in Base64. */
export type Base64 = string;

/** A JSON number, or the name of one that JSON does not have; `Number()` parses both. */
export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity';

// ---- Server

/** Requests and responses by method and path below `api/v1/`. */
export interface ServerRoutes {
  /** Return the state of the server; needs no token. */
  readonly 'GET health': {
    readonly request: Empty;
    readonly response: HealthResponse;
  };
  /** Return the log directories and the progress of reading them. */
  readonly 'GET status': {
    readonly request: Empty;
    readonly response: StatusResponse;
  };
  /** Return all dashboards, in the order of their tabs. */
  readonly 'GET dashboards': {
    readonly request: Empty;
    readonly response: readonly DashboardRow[];
  };
  /** Return all runs with their counts, in natural order, or only their totals. */
  readonly 'GET runs': {
    readonly request: RunsRequest;
    readonly response: RunsResponse;
  };
  /** Return the tags of one run, or of all runs merged. */
  readonly 'GET tags': {
    readonly request: TagsRequest;
    readonly response: TagsResponse;
  };
  /** Return the names of the tags that any of several runs has. */
  readonly 'POST tags': {
    readonly request: TagNamesRequest;
    readonly response: TagNamesResponse;
  };
  /** Return event files and where they are damaged. */
  readonly 'GET files': {
    readonly request: FilesRequest;
    readonly response: FilesResponse;
  };
  /** Return what the event stream would have sent since the previous response. */
  readonly 'GET live/poll': {
    readonly request: PollRequest;
    readonly response: PollResponse;
  };
  /** Return the fingerprints with which the values of a tag can be read as files. */
  readonly 'GET blobs': {
    readonly request: BlobListRequest;
    readonly response: BlobListResponse;
  };
  /** Return an image, audio clip or text as a file; other values as they were logged. */
  readonly 'GET blobs/{fingerprint}': {
    readonly request: BlobRequest;
    readonly response: Blob;
  };
  /** Return the available columns of the run table. */
  readonly 'GET runs/columns': {
    readonly request: Empty;
    readonly response: ColumnListResponse;
  };
  /** Return the values of some columns of the run table. */
  readonly 'POST runs/columns': {
    readonly request: ColumnsRequest;
    readonly response: ColumnsResponse;
  };
  /** Return a page of the table of runs, filtered, sorted and grouped. */
  readonly 'POST runs/table': {
    readonly request: RunTableRequest;
    readonly response: RunTableResponse;
  };
  /** Return the names of all runs that match a filter, in order. */
  readonly 'POST runs/names': {
    readonly request: RunFilterRequest;
    readonly response: RunNamesResponse;
  };
  /** Return the matching runs as a file. */
  readonly 'POST runs/export': {
    readonly request: RunExportRequest;
    readonly response: Blob;
  };
  /** Return a page of the list of runs, filtered, sorted and grouped, or the selected runs. */
  readonly 'POST runs/list': {
    readonly request: RunListRequest;
    readonly response: RunListResponse;
  };
  /** Return what is known about one run. */
  readonly 'POST runs/details': {
    readonly request: RunRequest;
    readonly response: RunDetailsResponse;
  };
  /** Return the hyperparameters, environments, metrics and code of several runs. */
  readonly 'POST runs/compare': {
    readonly request: CompareRequest;
    readonly response: CompareResponse;
  };
  /** Return the files in the directory of a run, without those of runs below it. */
  readonly 'POST runs/files': {
    readonly request: RunRequest;
    readonly response: RunFilesResponse;
  };
  /** Return the beginning of a file of a run as text, if it is text. */
  readonly 'POST runs/preview': {
    readonly request: RunFileRequest;
    readonly response: RunFilePreview;
  };
  /** Return a file of a run: images to show, everything else to save. */
  readonly 'GET runs/file': {
    readonly request: RunFileRequest;
    readonly response: Blob;
  };
  /** Return the last lines of a console log, with progress bars collapsed. */
  readonly 'POST runs/console': {
    readonly request: ConsoleRequest;
    readonly response: ConsoleResponse;
  };
  /** Return all notes, annotations, layouts, derived metrics and alerts. */
  readonly 'GET notes': {
    readonly request: Empty;
    readonly response: NotesResponse;
  };
  /**
   * Set some fields of the notes on some runs; an empty text removes one. Status 409 means that a
   * field is not what the request expects; nothing was changed then.
   */
  readonly 'PATCH notes/runs': {
    readonly request: RunNoteUpdate;
    readonly response: NotesResponse;
  };
  /** Add an annotation at a step. */
  readonly 'POST notes/annotations': {
    readonly request: AnnotationRequest;
    readonly response: NotesResponse;
  };
  /** Delete an annotation. */
  readonly 'DELETE notes/annotations/{id}': {
    readonly request: DeleteAnnotationRequest;
    readonly response: NotesResponse;
  };
  /** Save a layout of charts under its name; without categories, delete it. */
  readonly 'PUT notes/layouts': {
    readonly request: ChartLayoutInput;
    readonly response: NotesResponse;
  };
  /**
   * Save a derived metric under its name; without an expression, delete it. Status 409 means that
   * the stored expression is not what the request expects.
   */
  readonly 'PUT notes/metrics': {
    readonly request: MetricUpdate;
    readonly response: NotesResponse;
  };
  /** Replace all alert rules except those of the command line. */
  readonly 'PUT alerts/rules': {
    readonly request: readonly AlertRule[];
    readonly response: NotesResponse;
  };
  /** Return a page with the runs of a view, which needs no server. */
  readonly 'POST export': {
    readonly request: StaticExportRequest;
    readonly response: Blob;
  };
  /** Describe all routes as OpenAPI 3.1. */
  readonly 'GET openapi.json': {
    readonly request: Empty;
    readonly response: OpenApiDocument;
  };
}

/** The data of the events of the live stream, by name. */
export interface LiveEvents {
  readonly status: LoadStatus;
  readonly delta: DeltaEvent;
  readonly reset: ResetEvent;
  readonly alert: Alert;
  readonly notes: NotesEvent;
  readonly dashboard: DashboardEvent;
  readonly ping: PingEvent;
}

/**
 * A violated rule; `value` and `wall_time` are those of the point that violated it. For a problem
 * in a dump or recording of the debugger, `tag` is a tensor or an operation and `value` the number
 * of alerts of its kind; dumps have no `step`. The page translates `text` by `code` and `args`.
 */
export interface Alert {
  readonly id: string;
  readonly rule: string;
  readonly run: string;
  readonly tag: string;
  readonly step: number | null;
  readonly value: JsonNumber;
  readonly wall_time: JsonNumber;
  readonly text: string;
  readonly resolved: boolean;
  readonly code: string;
  readonly args: Readonly<Record<string, string | number | Sentence>>;
  /** URL parameters of the view that shows the problem; if empty, that is the chart of the tag. */
  readonly view: Readonly<Record<string, string>>;
}

/** When to raise an alert; `tag` is a pattern for series, see docs/patterns.md. */
export interface AlertRule {
  readonly id: string;
  readonly tag: string;
  readonly kind: 'above' | 'below' | 'nan' | 'stalled';
  /** The threshold; for `stalled`, the number of steps without improvement. */
  readonly value?: number | null;
  /** Whether lower or higher is better, for `stalled`. */
  readonly goal?: 'min' | 'max' | null;
}

/** A rule; a `fixed` one was given on the command line and cannot be changed. */
export interface AlertRuleRow {
  readonly id: string;
  readonly tag: string;
  readonly kind: 'above' | 'below' | 'nan' | 'stalled';
  /** The threshold; for `stalled`, the number of steps without improvement. */
  readonly value: number | null;
  /** Whether lower or higher is better, for `stalled`. */
  readonly goal: 'min' | 'max' | null;
  readonly fixed: boolean;
}

/** All rules, and the alerts: firing ones first, each newest first. */
export interface AlertsResponse {
  readonly rules: readonly AlertRuleRow[];
  readonly alerts: readonly Alert[];
  readonly webhook: boolean;
}

/** A text at a step, on the charts of `tag` or, if it is null, on all charts. */
export interface Annotation {
  readonly id: string;
  readonly step: number;
  readonly text: string;
  readonly tag: string | null;
  readonly created: number;
}

/** A text at a step; with `tag` null it is shown on all charts. */
export interface AnnotationRequest {
  readonly step: number;
  readonly text: string;
  readonly tag?: string | null;
}

/** Up to `limit` values of a tag of a run, from number `start` on. */
export interface BlobListRequest {
  readonly run: string;
  readonly tag: string;
  /** Default: `0`. */
  readonly start?: number;
  /** Default: `1000`. */
  readonly limit?: number;
}

/** `total` counts all values; the columns describe those that were requested. */
export interface BlobListResponse {
  readonly kind: string;
  readonly total: number;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly overwritten: Uint8Array;
  readonly bytes: Float64Array;
  readonly fingerprint: readonly string[];
}

/** Part `part` of value `index`: a value may contain several images or audio clips. */
export interface BlobRequest {
  readonly fingerprint: string;
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  /** Default: `0`. */
  readonly part?: number;
}

export type Cell = boolean | number | string | null;

/** A named layout of charts; without `categories` it is deleted. */
export interface ChartLayout {
  readonly name: string;
  readonly categories: readonly LayoutCategory[] | null;
}

/** A named layout of charts; without `categories` it is deleted. */
export interface ChartLayoutInput {
  readonly name: string;
  readonly categories?: readonly LayoutCategoryInput[] | null;
}

/**
 * The difference between the code of the baseline and that of a run, as a unified diff. `diff` is
 * empty if there is none, and null if one of them did not log its code.
 */
export interface CodeDiff {
  readonly run: string;
  readonly diff: string | null;
  readonly is_truncated: boolean;
}

/**
 * The available columns; `metrics` are the tags of scalars. `display_names` has those of
 * hyperparameters and metrics that were logged with one, by the keys of their columns.
 */
export interface ColumnListResponse {
  readonly hparams: readonly HParamColumn[];
  readonly metrics: readonly string[];
  readonly display_names: Readonly<Record<string, string>>;
}

/** Columns by key: `hparam:lr`, `last:loss`, `min:loss`, `max:acc`, `step:loss`. */
export interface ColumnsRequest {
  readonly columns: readonly string[];
}

/** One value per run for each column, in the order of `runs`; null if a run has none. */
export interface ColumnsResponse {
  readonly runs: readonly string[];
  readonly columns: Readonly<Record<string, readonly Cell[]>>;
}

/**
 * The runs to compare; the first one is the baseline. Curves diverge at the first common step where
 * values differ by more than `tolerance` times the larger one.
 */
export interface CompareRequest {
  readonly runs: readonly string[];
  /** Default: `1e-6`. */
  readonly tolerance?: number;
}

/**
 * Runs side by side, in the order of the request. `first_divergence` is, for each run, the lowest
 * step at which any of its curves leaves that of the baseline.
 */
export interface CompareResponse {
  readonly runs: readonly string[];
  readonly states: readonly string[];
  readonly config: readonly ComparedValue[];
  readonly environment: readonly ComparedValue[];
  readonly metrics: readonly ComparedMetric[];
  readonly code: readonly CodeDiff[];
  readonly first_divergence: readonly (number | null)[];
}

/**
 * A scalar in each run, null in runs without it. `diverges_at` is, for each run, the first step at
 * which its curve differs from that of the baseline; null if it does not, or if there is nothing to
 * compare.
 */
export interface ComparedMetric {
  readonly tag: string;
  readonly last: readonly (JsonNumber | null)[];
  readonly min: readonly (JsonNumber | null)[];
  readonly max: readonly (JsonNumber | null)[];
  readonly diverges_at: readonly (number | null)[];
  readonly differs: boolean;
}

/** A value in each run, null in runs without it. */
export interface ComparedValue {
  readonly name: string;
  readonly values: readonly Cell[];
  readonly differs: boolean;
}

/** A line, an array in JSON; `time` is in seconds since 1970, null if it is unknown. */
export type ConsoleLine = readonly [time: number | null, stream: Stream | null, text: string];

/** A console log; `lines` limits the result to the last ones. */
export interface ConsoleRequest extends RunFileRequest {
  /** Default: `2000`. */
  readonly lines?: number;
}

/**
 * The last lines of a console log. `total` counts the lines of the part that was read. Progress
 * bars are reduced to their last state. Texts keep escape sequences of colors.
 */
export interface ConsoleResponse {
  readonly path: string;
  readonly bytes: number;
  readonly total: number;
  readonly is_truncated: boolean;
  readonly lines: readonly ConsoleLine[];
}

/** A damaged region of an event file, in bytes; an array in JSON. */
export type DamageRow = readonly [offset: number, size: number, reason: Sentence];

/** What users store with a dashboard has changed, such as a workspace. */
export interface DashboardEvent {
  readonly name: string;
  readonly revision: string;
}

/**
 * A dashboard; `active` if the log has something for it to show. `module_url` is the URL of its web
 * part, relative to the page; null if it is built in.
 */
export interface DashboardRow {
  readonly name: string;
  readonly title: string;
  readonly plugins: readonly string[];
  readonly active: boolean;
  readonly module_url: string | null;
}

/** The annotation to delete. */
export interface DeleteAnnotationRequest {
  readonly id: string;
}

/** Runs that were added, removed or changed since the previous cursor, and their tags. */
export interface DeltaEvent {
  readonly tags: readonly NewTag[];
  readonly tags_truncated: boolean;
  /** By run and tag. */
  readonly points: Readonly<Record<string, Readonly<Record<string, LastPoint>>>>;
  readonly points_truncated: boolean;
  readonly cursor: string;
  readonly added: readonly RunRow[];
  readonly removed: readonly string[];
  readonly changed: readonly RunRow[];
}

/** A named expression over scalar tags; the name is shown like a tag. */
export interface DerivedMetric {
  readonly name: string;
  readonly expression: string;
}

/** The body of every response that is not a success. */
export interface ErrorResponse {
  readonly error: Problem;
}

/** What an edit assumes to be stored; fields that are left out are not checked. */
export interface ExpectedNote {
  readonly note?: string;
  readonly alias?: string;
  readonly labels?: readonly string[];
}

/** What the page of an export loads first: the view, and responses that every view needs. */
export interface ExportHead {
  readonly created: number;
  readonly view: string;
  readonly responses: Readonly<Record<string, unknown>>;
  /** All columns of the run table. */
  readonly columns: ColumnsResponse;
  /** Colors of exported runs that depend on the other runs of the log. */
  readonly run_colors: Readonly<Record<string, string>>;
  readonly tag_runs: TagRuns;
}

/** A `Blob` in an export; the page turns it into a file again. */
export interface ExportedFile {
  readonly media_type: string;
  readonly content: Uint8Array;
}

/** An event file; `damage` has the first of its damaged regions, `damaged` counts all. */
export interface FileRow {
  readonly run: string;
  readonly path: string;
  readonly bytes: number;
  readonly records: number;
  readonly damaged: number;
  readonly damage: readonly DamageRow[];
}

/** The run whose files to list, null for all runs; with `damaged` only damaged files. */
export interface FilesRequest {
  readonly run?: string | null;
  /** Default: `false`. */
  readonly damaged?: boolean;
}

/** Event files, grouped by run. */
export interface FilesResponse {
  readonly files: readonly FileRow[];
}

/** The value of a group in a column that the rows are grouped by. */
export interface GroupValue {
  readonly key: string;
  readonly value: Cell;
}

/** A hyperparameter over all runs; `values` are the first of its distinct values. */
export interface HParamColumn {
  readonly name: string;
  readonly type: 'number' | 'string' | 'bool';
  readonly distinct: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly values: readonly Cell[];
}

/** `failing` while the log cannot be read; it is retried, so a restart does not help. */
export interface HealthResponse {
  readonly status: 'ok' | 'loading' | 'failing';
  readonly version: string;
}

/** The last point of a tag, and how many points it has; an array in JSON. */
export type LastPoint = readonly [
  step: number,
  wall_time: JsonNumber,
  value: JsonNumber,
  point_count: number,
];

/** Whether the log is being read, and what is wrong with it. */
export interface LoadStatus {
  readonly loading: boolean;
  readonly progress: ProgressRow;
  /** The first messages about what could not be read; `problem_count` counts all. */
  readonly problems: readonly Sentence[];
  readonly problem_count: number;
}

/** What a log directory contains; `entries` is null if it is not local. */
export interface LogdirProbe {
  readonly path: string;
  readonly exists: boolean;
  readonly entries: number | null;
  readonly examples: readonly string[];
}

/** The numbers of a scalar; `step` is that of its last point. */
export interface MetricRow {
  readonly tag: string;
  readonly count: number;
  readonly last: JsonNumber | null;
  readonly min: JsonNumber | null;
  readonly max: JsonNumber | null;
  readonly step: JsonNumber | null;
}

/**
 * A derived metric to save; without `expression` it is deleted. `expected` is the expression that
 * the edit assumes to be stored, null for a new metric. If another one is stored, nothing is
 * changed, and the response is an error with status 409.
 */
export interface MetricUpdate {
  readonly name: string;
  readonly expression?: string | null;
  readonly expected?: string | null;
}

/** A hyperparameter, or a fact about the environment. */
export interface NamedValue {
  readonly name: string;
  readonly value: Cell;
}

/** A tag that is new in a run; it may be reported more than once. */
export interface NewTag {
  readonly run: string;
  readonly tag: string;
  readonly kind: string;
  readonly plugin: string;
}

/** Notes, layouts or alert rules have changed. */
export interface NotesEvent {
  readonly revision: number;
}

/** Everything that is stored beside the log; `revision` grows with every change. */
export interface NotesResponse {
  readonly revision: number;
  readonly runs: Readonly<Record<string, RunNote>>;
  readonly annotations: readonly Annotation[];
  readonly layouts: readonly ChartLayout[];
  readonly metrics: readonly DerivedMetric[];
  readonly alerts: AlertsResponse;
}

/** A description of the API according to OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}

/** The stream is open; the next event follows within `interval_s` seconds. */
export interface PingEvent {
  readonly interval_s: number;
}

/** Where the client is: `cursor` and `last_event` of the previous response. */
export interface PollRequest {
  /** Default: `""`. */
  readonly since?: string;
  readonly last_event?: number | null;
}

/** What a stream would have sent. With `reset` the client has to fetch everything again. */
export interface PollResponse {
  readonly cursor: string;
  readonly last_event: number;
  readonly reset: boolean;
  readonly status: LoadStatus;
  readonly delta: DeltaEvent | null;
  readonly events: readonly ServerEvent[];
}

/** Progress of the current refresh. */
export interface ProgressRow {
  readonly files_done: number;
  readonly files_total: number;
  readonly bytes_done: number;
  readonly bytes_total: number;
}

/** The changes are not known: the client has to fetch everything again. */
export interface ResetEvent {
  readonly cursor: string;
}

/** A log directory. */
export interface RootRow {
  readonly name: string;
  readonly path: string;
}

/**
 * What is known about a run. Times are in seconds since 1970, the duration in seconds.
 * `environment` has what the program recorded about itself and its machine, `source` the main file
 * of the program and `diff` the difference to its commit, null if they were not logged.
 */
export interface RunDetailsResponse {
  readonly name: string;
  readonly state: string;
  readonly start: JsonNumber | null;
  readonly updated: JsonNumber | null;
  readonly duration: JsonNumber | null;
  readonly error: string;
  readonly points: number;
  readonly bytes: number;
  readonly environment: readonly NamedValue[];
  readonly config: readonly NamedValue[];
  readonly metrics: readonly MetricRow[];
  readonly tags: readonly TagRow[];
  readonly source: string | null;
  readonly diff: string | null;
  readonly captures: number;
  readonly has_dump: boolean;
}

/** The table as a file, with these columns; without any, with all that have values. */
export interface RunExportRequest extends RunFilterRequest {
  readonly format: 'csv' | 'json' | 'parquet';
  /** Default: `[]`. */
  readonly columns?: readonly string[];
}

/** The beginning of a file: `text` is null if it is not UTF-8 text. */
export interface RunFilePreview {
  readonly path: string;
  readonly bytes: number;
  readonly media_type: string;
  readonly text: string | null;
  readonly is_truncated: boolean;
}

/** A file of a run, by its path relative to the directory of the run. */
export interface RunFileRequest {
  readonly run: string;
  readonly path: string;
}

/** A file in the directory of a run; `path` is relative to it, `mtime` in seconds. */
export interface RunFileRow {
  readonly path: string;
  readonly bytes: number;
  readonly mtime: number;
  readonly content: 'events' | 'console' | 'image' | 'other';
}

/** The files of a run, without those of runs below it; `total` counts all of them. */
export interface RunFilesResponse {
  readonly directory: string;
  readonly total: number;
  readonly files: readonly RunFileRow[];
}

/**
 * Which runs, and in which order. `filter` is an expression such as `state = running and lr < 0.1`.
 * `sort` are keys of columns, the most important first, with a minus for descending order.
 */
export interface RunFilterRequest {
  /** Default: `""`. */
  readonly filter?: string;
  /** Default: `false`. */
  readonly show_hidden?: boolean;
  /** Default: `[]`. */
  readonly sort?: readonly string[];
}

/**
 * A group of matching runs. `key` is empty for runs without a value. `position` is that among all
 * groups in natural order, which determines the color. `splits` are the kinds of data that the
 * names of its selected runs tell. `mean` and `std` are those of the `count` finite numbers of the
 * column that the list is sorted by.
 */
export interface RunListGroup {
  readonly key: string;
  readonly value: Cell;
  readonly runs: number;
  readonly selected: number;
  readonly position: number;
  readonly splits: readonly string[];
  readonly count: number;
  readonly mean: number | null;
  readonly std: number | null;
}

/**
 * A page of the list of runs, with the cells of some columns. With `group_by`, rows are groups, and
 * the runs of the groups in `expanded`. With `selected_only`, rows are the selected runs. Those of
 * a page are in the order of their groups, but a page has the first runs of all groups.
 */
export interface RunListRequest {
  /** Default: `""`. */
  readonly filter?: string;
  /** Default: `false`. */
  readonly show_hidden?: boolean;
  /** Default: `[]`. */
  readonly sort?: readonly string[];
  /** Default: `""`. */
  readonly group_by?: string;
  /** Default: `{"newest":null,"all_up_to":0,"on":[],"off":[]}`. */
  readonly selection?: RunSelection;
  /** Default: `[]`. */
  readonly columns?: readonly string[];
  /** Default: `[]`. */
  readonly expanded?: readonly string[];
  /** Default: `false`. */
  readonly selected_only?: boolean;
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
}

/**
 * One page of rows. `total` counts the rows of all pages, `matched` the runs that match the filter,
 * `selected` those of them that are selected, `hidden` all hidden runs. `common_folder` is the
 * folder that all runs are in, and `totals` are those of all runs. `groups` are those with selected
 * runs, if only these were requested; if runs are not grouped, it is one of all of them. `updating`
 * means that the log has changed since, and that another request will get the change.
 */
export interface RunListResponse {
  readonly total: number;
  readonly matched: number;
  readonly selected: number;
  readonly hidden: number;
  readonly common_folder: string;
  readonly totals: RunTotals;
  readonly columns: readonly string[];
  readonly rows: readonly RunListRow[];
  readonly groups: readonly RunListGroup[];
  readonly updating: boolean;
}

/**
 * A run with the key of its group, or a group, whose `run` is null. `selected` tells whether the
 * rule of the selection and the groups in it select the run, whether or not the run itself is
 * selected or deselected.
 */
export interface RunListRow {
  readonly run: RunRow | null;
  readonly group: RunListGroup | null;
  readonly key: string | null;
  readonly selected: boolean;
  readonly cells: readonly Cell[];
}

/** The names of all matching runs, in order. */
export interface RunNamesResponse {
  readonly names: readonly string[];
}

/** The notes on one run; empty texts are unset. */
export interface RunNote {
  readonly note: string;
  readonly alias: string;
  readonly hidden: boolean;
  readonly color: string;
  readonly labels: readonly string[];
  readonly pinned: boolean;
}

/**
 * New values for the notes on some runs; fields that are left out stay as they are. `add_labels`
 * and `remove_labels` change single labels, whatever the others are. With `expected`, nothing is
 * changed if another value was stored meanwhile, and the response is an error with status 409.
 */
export interface RunNoteUpdate {
  readonly runs: readonly string[];
  readonly note?: string;
  readonly alias?: string;
  readonly hidden?: boolean;
  readonly color?: string;
  readonly labels?: readonly string[];
  readonly pinned?: boolean;
  /** Default: `[]`. */
  readonly add_labels?: readonly string[];
  /** Default: `[]`. */
  readonly remove_labels?: readonly string[];
  /** Default: `{}`. */
  readonly expected?: ExpectedNote;
}

/** A run by name. */
export interface RunRequest {
  readonly run: string;
}

/** A run with its counts. */
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

/** A column of the response. Times are in seconds since 1970, durations in seconds. */
export interface RunTableColumn {
  readonly key: string;
  readonly kind:
    | 'text'
    | 'number'
    | 'bool'
    | 'mixed'
    | 'labels'
    | 'time'
    | 'duration'
    | 'bytes'
    | 'state';
}

/** A group of runs. `distinct` is, for each column, the number of different values. */
export interface RunTableGroup {
  readonly id: string;
  readonly values: readonly GroupValue[];
  readonly runs: number;
  readonly expanded: boolean;
  readonly distinct: readonly number[];
}

/**
 * A page of the table of runs. `columns` are keys: `name`, `state`, `start`, `updated`, `duration`,
 * `labels`, `note`, `host`, `user`, `commit`, `command`, `error`, `alias`, `points`, `tags`,
 * `bytes`, `hparam:NAME`, `last:TAG`, `min:TAG`, `max:TAG`, `step:TAG` (of the last value) or
 * `at:STEP:TAG` (the last value up to a step). With `group_by`, rows are groups of runs with the
 * same values, and the runs of the groups in `expanded`. `aggregate` tells how numbers of a group
 * are combined.
 */
export interface RunTableRequest extends RunFilterRequest {
  /** Default: `[]`. */
  readonly columns?: readonly string[];
  /** Default: `[]`. */
  readonly group_by?: readonly string[];
  /** Default: `[]`. */
  readonly expanded?: readonly string[];
  /** Default: `"mean"`. */
  readonly aggregate?: 'mean' | 'median' | 'min' | 'max' | 'sum';
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
}

/**
 * One page of rows. `total` counts the rows of all pages, `matched` the runs that match the filter,
 * `runs` all runs. `states` counts the matching runs by state. `updating` means that the log has
 * changed since, and that another request will get the change.
 */
export interface RunTableResponse {
  readonly total: number;
  readonly matched: number;
  readonly runs: number;
  readonly hidden: number;
  readonly states: Readonly<Record<string, number>>;
  readonly columns: readonly RunTableColumn[];
  readonly rows: readonly RunTableRow[];
  readonly updating: boolean;
}

/**
 * A run, or a group, which has no `name`. `cells` are in the order of the columns. In a group, the
 * cell of a column of numbers is their aggregate, and that of other columns the value that all runs
 * of the group have, or null.
 */
export interface RunTableRow {
  readonly name: string | null;
  readonly note: RunNote | null;
  readonly group: RunTableGroup | null;
  readonly cells: readonly Cell[];
}

/** The number of runs, their points and damaged records, and the time of the last point. */
export interface RunTotals {
  readonly runs: number;
  readonly points: number;
  readonly damaged: number;
  readonly last_wall: number | null;
}

/** With more than `limit` runs, none are listed; null lists any number of runs. */
export interface RunsRequest {
  readonly limit?: number | null;
}

/**
 * All runs, as of `cursor`. `totals` tells about them if there are more than the limit of the
 * request.
 */
export interface RunsResponse {
  readonly cursor: string;
  readonly runs: readonly RunRow[];
  readonly totals: RunTotals | null;
}

/** An event by name, such as `alert`. */
export type ServerEvent = {
  readonly [Name in keyof LiveEvents]: { readonly name: Name; readonly data: LiveEvents[Name] };
}[keyof LiveEvents];

/** The step and time at which a value was logged. */
export interface StampRow {
  readonly step: number;
  readonly wall_time: JsonNumber;
}

/** Requests the export of a view; `view` is the URL of the page or its query string. */
export interface StaticExportRequest {
  /** Default: `""`. */
  readonly view?: string;
}

/**
 * The state of the log; `directories` is given only while there are no runs. With `read_only`,
 * notes, layouts and workspaces cannot be changed.
 */
export interface StatusResponse {
  readonly version: string;
  readonly cursor: string;
  readonly roots: readonly RootRow[];
  readonly status: LoadStatus;
  readonly directories: readonly LogdirProbe[];
  readonly read_only: boolean;
}

export type Stream = 'stdout' | 'stderr';

/** The runs whose tags to list. */
export interface TagNamesRequest {
  readonly runs: readonly string[];
}

/** Names of tags of all kinds, in the order in which tags are listed. */
export interface TagNamesResponse {
  readonly tags: readonly string[];
}

/** A tag of one run, or of all runs; `runs` is the number of runs that have it. */
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

/** Which runs have a tag: an index into `sets`, as many tags have the same runs. */
export interface TagRuns {
  readonly sets: readonly (readonly string[])[];
  readonly tags: Readonly<Record<string, number>>;
}

/** The run whose tags to list; null for all runs. */
export interface TagsRequest {
  readonly run?: string | null;
}

/** The tags of `run`, or of all runs if it is null, as of `cursor`. */
export interface TagsResponse {
  readonly cursor: string;
  readonly run: string | null;
  readonly tags: readonly TagRow[];
}

// ---- Dashboard: scalars

/** Requests and responses by method and path below `api/v1/scalars/`. */
export interface ScalarsRoutes {
  /** Return charts of any set of series, reduced to the pixels that will show them. */
  readonly 'POST query': {
    readonly request: ChartsRequest;
    readonly response: ChartsResponse;
  };
  /** Return the point of each series that is nearest to a value of x. */
  readonly 'POST at': {
    readonly request: NearestPointsRequest;
    readonly response: NearestPointsResponse;
  };
  /** Return statistics of each series between two values of x. */
  readonly 'POST range': {
    readonly request: RangeStatsRequest;
    readonly response: RangeStatsResponse;
  };
  /** Return all points of the selected series as CSV, JSON or Parquet. */
  readonly 'POST table': {
    readonly request: DownloadRequest;
    readonly response: Blob;
  };
  /** Return all points of the selected series as CSV, JSON or Parquet. */
  readonly 'GET table': {
    readonly request: DownloadRequest;
    readonly response: Blob;
  };
}

export type BandCenter = 'mean' | 'median';

/**
 * The series of one tag in several runs as one band; NaN where too few runs have points. `count` is
 * the number of runs with a value at each x. `inner_low` and `inner_high` are null unless the band
 * is one of quantiles.
 */
export interface BandRow {
  readonly group: string;
  readonly tag: string;
  readonly runs: number;
  readonly x: Float64Array;
  readonly count: Int32Array;
  readonly center: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly inner_low: Float64Array | null;
  readonly inner_high: Float64Array | null;
}

export type BandSpread = 'std' | 'stderr' | 'ci95' | 'minmax' | 'quantiles';

export type BaselineMode = 'difference' | 'ratio';

/** The run that others are compared with, tag by tag. */
export interface BaselineRun {
  readonly run: string;
  /** Default: `"difference"`. */
  readonly mode?: BaselineMode;
}

/**
 * One chart: the series of some tags with `start <= x <= stop`. `base` is the `revision` of a
 * previous response to the same request, of which the client still has the lines.
 */
export interface ChartRequest {
  readonly id: string;
  readonly tags: readonly string[];
  readonly start?: number | null;
  readonly stop?: number | null;
  readonly base?: string | null;
}

/**
 * A chart of `points` of `runs`; `grid` has the centers of the pixel columns. If `base` is that of
 * the request, `lines` are only those that have changed since; all others are those of that
 * response, in the same order. `revision` is the next base; it is empty for bands and comparisons
 * with a baseline, which are always sent completely.
 */
export interface ChartRow {
  readonly id: string;
  readonly error: Problem | null;
  readonly runs: number;
  readonly points: number;
  readonly reduced: boolean;
  readonly grid: Float64Array | null;
  readonly lines: readonly LineRow[];
  readonly bands: readonly BandRow[];
  readonly revision: string;
  readonly base: string | null;
}

/**
 * Charts of `width` pixels, with overwritten points if `overwritten` is true. Runs that are in no
 * group become lines.
 */
export interface ChartsRequest {
  readonly runs?: readonly string[] | null;
  /** Default: `"step"`. */
  readonly x?: string;
  readonly smoothing?: Smoothing | null;
  readonly baseline?: BaselineRun | null;
  readonly groups?: readonly RunGroup[] | null;
  /** Default: `"mean"`. */
  readonly center?: BandCenter;
  /** Default: `"std"`. */
  readonly band?: BandSpread;
  /** Default: `1`. */
  readonly min_runs?: number;
  readonly charts: readonly ChartRequest[];
  /** Default: `400`. */
  readonly width?: number;
  /** Default: `false`. */
  readonly overwritten?: boolean;
}

/** The charts in the order of the request. */
export interface ChartsResponse {
  readonly cursor: string;
  readonly charts: readonly ChartRow[];
}

export type DownloadFormat = 'csv' | 'json' | 'parquet';

/**
 * Requests a file with all points of the series, with or without overwritten ones. With `groups`,
 * the file has their bands instead.
 */
export interface DownloadRequest {
  readonly runs?: readonly string[] | null;
  /** Default: `"step"`. */
  readonly x?: string;
  readonly smoothing?: Smoothing | null;
  readonly baseline?: BaselineRun | null;
  readonly groups?: readonly RunGroup[] | null;
  /** Default: `"mean"`. */
  readonly center?: BandCenter;
  /** Default: `"std"`. */
  readonly band?: BandSpread;
  /** Default: `1`. */
  readonly min_runs?: number;
  readonly tags: readonly string[];
  /** Default: `"csv"`. */
  readonly format?: DownloadFormat;
  /** Default: `false`. */
  readonly overwritten?: boolean;
}

/**
 * One series without overwritten points. `points`, `overwritten` and `nonfinite_count` count all,
 * overwritten and non-finite points of the log. `index` has the indexes of the exported points;
 * null if all are exported.
 */
export interface ExportedSeries {
  readonly run: string;
  readonly points: number;
  readonly overwritten: number;
  readonly nonfinite_count: number;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly value: Float32Array | Float64Array;
  readonly index: Int32Array | null;
}

/** All series of a tag. */
export interface ExportedTag {
  readonly tag: string;
  readonly series: readonly ExportedSeries[];
}

/** The path of an `ExportedTag`, and the runs that have the tag. */
export interface ExportedTagEntry {
  readonly tag: string;
  readonly path: string;
  readonly runs: readonly string[];
}

/** All exported tags. */
export interface ExportedTagList {
  readonly tags: readonly ExportedTagEntry[];
}

/**
 * One series. `x` is null if the line has one value per column of the chart's `grid`. `y` is
 * smoothed if requested; `raw` then has the values before smoothing. On the grid, these are the
 * last finite values of each pixel column (NaN if it has none), and `low` and `high` are its
 * extremes before smoothing; columns behind the last point of the line may be left out. Points and
 * counts refer to the whole series.
 */
export interface LineRow {
  readonly run: string;
  readonly tag: string;
  readonly points: number;
  readonly overwritten: number;
  readonly x: Float64Array | null;
  readonly y: Float32Array | Float64Array;
  readonly raw: Float32Array | Float64Array | null;
  readonly low: Float32Array | Float64Array | null;
  readonly high: Float32Array | Float64Array | null;
  readonly first: PointRow | null;
  readonly last: PointRow | null;
  readonly min: PointRow | null;
  readonly max: PointRow | null;
  readonly nonfinite: readonly NonFiniteRow[];
  readonly nonfinite_count: number;
  readonly overwritten_parts: readonly OverwrittenPartRow[];
}

/** The nearest point of one series; `relative_s` is the time since its first point. */
export interface NearestPointRow {
  readonly run: string;
  readonly tag: string;
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly relative_s: JsonNumber;
  readonly x: number;
  readonly value: JsonNumber;
  readonly smoothed: JsonNumber;
}

/** Requests the point of each series that is nearest to `x_value` on the axis. */
export interface NearestPointsRequest {
  readonly runs?: readonly string[] | null;
  /** Default: `"step"`. */
  readonly x?: string;
  readonly smoothing?: Smoothing | null;
  readonly baseline?: BaselineRun | null;
  readonly tags: readonly string[];
  readonly x_value: number;
}

/** A row for each series that has points. */
export interface NearestPointsResponse {
  readonly rows: readonly NearestPointRow[];
}

/** A point with a NaN or infinite value. */
export interface NonFiniteRow {
  readonly x: number;
  readonly step: number;
  readonly kind: 'nan' | 'inf' | '-inf';
}

/** Consecutive overwritten points. */
export interface OverwrittenPartRow {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** One point; `smoothed` equals `value` if there is no smoothing. */
export interface PointRow {
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly x: number;
  readonly value: JsonNumber;
  readonly smoothed: JsonNumber;
}

/** Requests statistics of the points with `start <= x <= stop`; null leaves an end open. */
export interface RangeStatsRequest {
  readonly runs?: readonly string[] | null;
  /** Default: `"step"`. */
  readonly x?: string;
  readonly smoothing?: Smoothing | null;
  readonly baseline?: BaselineRun | null;
  readonly tags: readonly string[];
  readonly start?: number | null;
  readonly stop?: number | null;
}

/** A row for each series that has points in the range. */
export interface RangeStatsResponse {
  readonly rows: readonly RangeStatsRow[];
}

/**
 * Statistics of one series in a range: its ends, and extremes and mean of its finite values. All
 * values are those before smoothing. `change_ratio` is the change divided by the magnitude of the
 * first value; null if that is zero.
 */
export interface RangeStatsRow {
  readonly run: string;
  readonly tag: string;
  readonly start: PointRow | null;
  readonly stop: PointRow | null;
  readonly min: PointRow | null;
  readonly max: PointRow | null;
  readonly mean: JsonNumber | null;
  readonly count: number;
  readonly change: JsonNumber | null;
  readonly change_ratio: JsonNumber | null;
}

/** Runs that are drawn as one band: those that are named, and those that a query describes. */
export interface RunGroup {
  readonly key: string;
  readonly runs: readonly string[];
  readonly query?: GroupQuery | null;
}

/** A smoothing method and its amount. Raises: ValueError: The amount is out of range. */
export interface Smoothing {
  readonly kind: SmoothingKind;
  readonly amount: number;
}

export type SmoothingKind = 'ema' | 'time_ema' | 'mean' | 'median' | 'gaussian';

// ---- Dashboard: images

/** Requests and responses by method and path below `api/v1/images/`. */
export interface ImagesRoutes {
  /** Return the steps at which images of some tags were logged, for each run. */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Describe the images of a value, and why some cannot be shown. */
  readonly 'GET about': {
    readonly request: ValueRequest;
    readonly response: ImageInfoResponse;
  };
  /** Return an image or video as logged, or as PNG if browsers cannot show its format. */
  readonly 'GET picture': {
    readonly request: ImageRequest;
    readonly response: Blob;
  };
  /** Return an image that fits into a square; small images are returned as logged. */
  readonly 'GET thumbnail': {
    readonly request: ThumbnailRequest;
    readonly response: Blob;
  };
  /** Return a tile of 512 x 512 pixels of an image, at full size or halved several times. */
  readonly 'GET tile': {
    readonly request: ImagesTileRequest;
    readonly response: Blob;
  };
  /** Return the exact values of a few pixels. */
  readonly 'GET pixels': {
    readonly request: PixelsRequest;
    readonly response: PixelsResponse;
  };
  /** Return a logged file as a download, even if it cannot be shown. */
  readonly 'GET file': {
    readonly request: ImageRequest;
    readonly response: Blob;
  };
  /** Return the images of a tag, optionally of some runs and steps, as a zip archive. */
  readonly 'POST archive': {
    readonly request: ArchiveRequest;
    readonly response: Blob;
  };
  /** Return the images of a tag, optionally of some runs and steps, as a zip archive. */
  readonly 'GET archive': {
    readonly request: ArchiveRequest;
    readonly response: Blob;
  };
}

/** The images of a tag between two steps; without runs, of all runs that have the tag. */
export interface ArchiveRequest {
  readonly tag: string;
  /** Default: `[]`. */
  readonly runs?: readonly string[];
  readonly first_step?: number | null;
  readonly last_step?: number | null;
}

/**
 * One image of a value; `problem` says why it cannot be shown. `width` and `height` are those of
 * the displayed image, 0 if unknown. `media_type` is the type that the `picture` route returns.
 * `frames` and `duration_ms` describe one loop of an animation. A `tiled` image is too large for a
 * browser to decode at once.
 */
export interface ImageInfo {
  readonly part: number;
  readonly format: string;
  readonly bytes: number;
  readonly media_type: string;
  readonly width: number;
  readonly height: number;
  readonly mode: string;
  readonly channels: number;
  readonly bits: number;
  readonly frames: number;
  readonly duration_ms: number;
  readonly video: boolean;
  readonly tiled: boolean;
  readonly problem: Problem | null;
}

/** The first 1,000 images of a value; `total` is the number of all of them. */
export interface ImageInfoResponse {
  readonly total: number;
  readonly parts: readonly ImageInfo[];
}

/** One image of a value, which may hold several. */
export interface ImageRequest extends ValueRequest {
  /** Default: `0`. */
  readonly part?: number;
}

/** A tile of an image that was halved `level` times; `x` and `y` count tiles. */
export interface ImagesTileRequest extends ImageRequest {
  /** Default: `0`. */
  readonly level?: number;
  /** Default: `0`. */
  readonly x?: number;
  /** Default: `0`. */
  readonly y?: number;
}

/** A rectangle of pixels. */
export interface PixelsRequest extends ImageRequest {
  /** Default: `0`. */
  readonly x?: number;
  /** Default: `0`. */
  readonly y?: number;
  /** Default: `1`. */
  readonly width?: number;
  /** Default: `1`. */
  readonly height?: number;
}

/**
 * Pixel values as stored in the file, row by row with interleaved channels. The rectangle is the
 * requested one, clipped to the image.
 */
export interface PixelsResponse {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly channels: readonly string[];
  readonly bits: number;
  readonly values: Uint8Array | Int32Array | Float32Array;
}

/** An image scaled to fit into a square of `size` pixels. */
export interface ThumbnailRequest extends ImageRequest {
  /** Default: `256`. */
  readonly size?: ThumbnailSize;
}

export type ThumbnailSize = 64 | 128 | 256 | 512 | 1024 | 2048;

// ---- Dashboard: audio

/** Requests and responses by method and path below `api/v1/audio/`. */
export interface AudioRoutes {
  /** List the steps at which clips were logged. */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Describe the clips of a value: label, encoding, sample rate, duration. */
  readonly 'GET about': {
    readonly request: ValueRequest;
    readonly response: ClipsResponse;
  };
  /** Return the file of a clip as it was logged. Supports range requests. */
  readonly 'GET clip': {
    readonly request: ClipRequest;
    readonly response: Blob;
  };
  /** Return the minimum, maximum and RMS of a WAV clip for each column of pixels. */
  readonly 'GET waveform': {
    readonly request: WaveformRequest;
    readonly response: WaveformResponse;
  };
  /** Return the level of each frequency of a WAV clip over time, as pixels. */
  readonly 'GET spectrogram': {
    readonly request: SpectrogramRequest;
    readonly response: SpectrogramResponse;
  };
}

/** The description of a clip from its file or, if that cannot be parsed, from the log. */
export interface ClipInfo {
  readonly label: string;
  readonly bytes: number;
  /** Detected from the first bytes of the file; the type in the log is ignored. */
  readonly content_type: string;
  readonly encoding: string;
  readonly sample_rate: number | null;
  readonly channels: number | null;
  readonly bits: number | null;
  readonly frames: number | null;
  readonly duration_s: number | null;
  /** Why there is no waveform and no spectrogram. A browser may be able to play the clip. */
  readonly problem: Sentence | null;
}

/** One clip of a value; `clip` is its index. */
export interface ClipRequest extends ValueRequest {
  /** Default: `0`. */
  readonly clip?: number;
}

/** The first clips of a value; `total` is the number of all clips. */
export interface ClipsResponse {
  readonly total: number;
  readonly clips: readonly ClipInfo[];
}

export type FrequencyScale = 'linear' | 'log' | 'mel';

/**
 * The frames `start:stop` of a clip, as `width` by `height` pixels. `window` is the number of
 * frames per Fourier transform; the default is about 40 ms. Without a `channel`, the mean power of
 * all channels is shown.
 */
export interface SpectrogramRequest extends ClipRequest {
  /** Default: `600`. */
  readonly width?: number;
  /** Default: `128`. */
  readonly height?: number;
  /** Default: `0`. */
  readonly start?: number;
  readonly stop?: number | null;
  /** Default: `"mel"`. */
  readonly scale?: FrequencyScale;
  readonly window?: number | null;
  readonly channel?: number | null;
}

/**
 * Levels row by row, beginning with the lowest frequency. Level 0 is `low_db` and level 255 is
 * `high_db`; a sine with full amplitude has 0 dB. Rows are evenly spaced on the `scale`, from
 * `low_hz` to `high_hz`.
 */
export interface SpectrogramResponse {
  readonly sample_rate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScale;
  readonly window: number;
  readonly low_hz: number;
  readonly high_hz: number;
  readonly low_db: number;
  readonly high_db: number;
  readonly levels: Uint8Array;
}

/** The frames `start:stop` of a clip, in `columns` of pixels. */
export interface WaveformRequest extends ClipRequest {
  /** Default: `600`. */
  readonly columns?: number;
  /** Default: `0`. */
  readonly start?: number;
  readonly stop?: number | null;
}

/**
 * The lowest sample, the highest sample and the root mean square of each column. The arrays contain
 * all columns of the first channel, then those of the second, and so on. There are never more
 * columns than frames.
 */
export interface WaveformResponse {
  readonly sample_rate: number;
  /** The number of frames of the whole clip. */
  readonly frames: number;
  /** The number of channels in this response; the clip may have more. */
  readonly channels: number;
  readonly start: number;
  readonly stop: number;
  readonly low: Float32Array;
  readonly high: Float32Array;
  readonly rms: Float32Array;
}

// ---- Dashboard: text

/** Requests and responses by method and path below `api/v1/text/`. */
export interface TextRoutes {
  /** Return the steps and times at which texts were logged. */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Return a text as safe HTML or raw, or a part of an array as a table. */
  readonly 'GET render': {
    readonly request: TextRequest;
    readonly response: TextResponse;
  };
  /** Return a raw text as a file; an array as JSON. */
  readonly 'GET raw': {
    readonly request: RawTextRequest;
    readonly response: Blob;
  };
  /** Search the texts of some tags and runs and return matching lines. */
  readonly 'POST search': {
    readonly request: TextSearchRequest;
    readonly response: TextSearchResponse;
  };
  /** Compare two texts line by line and mark the words that differ. */
  readonly 'POST diff': {
    readonly request: TextDiffRequest;
    readonly response: TextDiffResponse;
  };
}

/** A text as a file. */
export interface RawTextRequest extends ValueRequest {
  /** Default: `false`. */
  readonly download?: boolean;
}

/** A string: safe HTML, or `html` null and the raw text. */
export interface TextCell {
  readonly html: string | null;
  readonly text: string | null;
  /** Why it is not rendered, or truncated. */
  readonly notes: readonly Sentence[];
}

/**
 * A line of one or both texts; line numbers count from 1. In `parts` the words at odd indexes
 * differ. A `gap` represents `lines` lines that both texts have.
 */
export interface TextDiffLine {
  readonly kind: 'same' | 'removed' | 'added' | 'gap';
  readonly before: number | null;
  readonly after: number | null;
  readonly parts: readonly string[];
  readonly lines: number;
}

/** Two texts to compare; with `context` only that many lines around changes are returned. */
export interface TextDiffRequest {
  readonly before: ValueRequest;
  readonly after: ValueRequest;
  /** Default: `3`. */
  readonly context?: number | null;
}

/** The lines of both texts, and how many were added and removed. */
export interface TextDiffResponse {
  readonly lines: readonly TextDiffLine[];
  readonly added: number;
  readonly removed: number;
  /** What was left out, if the texts are too long. */
  readonly notes: readonly Sentence[];
}

export type TextForm = 'markdown' | 'raw';

/** A line that matches, with some text around the match. */
export interface TextHit {
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  readonly mark: number;
  readonly step: number;
  readonly wall_time: number;
  /** The index of the string in an array; empty for a plain text. */
  readonly position: readonly number[];
  /** Counted from 1. */
  readonly line: number;
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

/**
 * A text, rendered or raw. Of an array, a part of a table is returned: from `row` and `column` on,
 * at the index `fixed` (numbers separated by commas) of the dimensions before the last two.
 */
export interface TextRequest extends ValueRequest {
  /** Default: `"markdown"`. */
  readonly form?: TextForm;
  /** Default: `""`. */
  readonly fixed?: string;
  /** Default: `0`. */
  readonly row?: number;
  /** Default: `0`. */
  readonly column?: number;
}

/** A text, or a part of an array of texts as a table, row by row. */
export interface TextResponse {
  readonly shape: readonly number[];
  /** Of the whole value. */
  readonly characters: number;
  /** The index of the table in the dimensions before the last two. */
  readonly fixed: readonly number[];
  readonly row: number;
  readonly column: number;
  /** The number of columns in `cells`. */
  readonly columns: number;
  readonly cells: readonly TextCell[];
}

/** Words, or with `regex` a regular expression, to find in the texts of tags and runs. */
export interface TextSearchRequest {
  readonly query: string;
  readonly tags: readonly string[];
  readonly runs?: readonly string[] | null;
  /** Default: `false`. */
  readonly regex?: boolean;
  /** Default: `false`. */
  readonly case_sensitive?: boolean;
  /** How many texts, newest first, were searched by previous requests. Default: `0`. */
  readonly skip?: number;
}

/**
 * Hits, newest first. If `searched` is less than `texts`, repeat the request with `skip` set to
 * `searched`.
 */
export interface TextSearchResponse {
  readonly hits: readonly TextHit[];
  readonly searched: number;
  readonly texts: number;
  /** Texts that were removed from the log or are damaged. */
  readonly unreadable: number;
}

// ---- Dashboard: histograms

/** Requests and responses by method and path below `api/v1/histograms/`. */
export interface HistogramsRoutes {
  /**
   * Return the histograms of some tags, on a grid and as percentiles. The count of a bucket is
   * distributed over the bins of the grid by overlap, so that counts are conserved. Percentiles are
   * computed from the buckets as logged.
   */
  readonly 'POST query': {
    readonly request: HistogramsRequest;
    readonly response: HistogramsResponse;
  };
  /** Return the steps at which histograms were logged. */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Return the buckets of one histogram as logged. */
  readonly 'GET buckets': {
    readonly request: ValueRequest;
    readonly response: BucketsResponse;
  };
  /** Download the buckets of some tags as CSV, JSON or Parquet. */
  readonly 'POST table': {
    readonly request: BucketTableRequest;
    readonly response: Blob;
  };
  /** Download the buckets of some tags as CSV, JSON or Parquet. */
  readonly 'GET table': {
    readonly request: BucketTableRequest;
    readonly response: Blob;
  };
}

/** All buckets of some tags as a file, optionally in a range of the axis. */
export interface BucketTableRequest {
  readonly tags: readonly string[];
  readonly runs?: readonly string[] | null;
  /** Default: `"step"`. */
  readonly x?: HistogramAxis;
  readonly start?: number | null;
  readonly stop?: number | null;
  /** Default: `"csv"`. */
  readonly format?: TableFormat;
}

/** The buckets of one histogram as logged; the last one includes its right edge. */
export interface BucketsResponse {
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly left: Float64Array;
  readonly right: Float64Array;
  readonly counts: Float64Array;
  readonly totals: HistogramTotals | null;
}

export type HistogramAxis = 'step' | 'relative' | 'wall';

/** One tag, optionally in a range of the axis and on a grid between two values. */
export interface HistogramChartRequest {
  readonly id: string;
  readonly tag: string;
  /** Number of runs with the tag to skip. Default: `0`. */
  readonly offset?: number;
  readonly start?: number | null;
  readonly stop?: number | null;
  readonly low?: number | null;
  readonly high?: number | null;
}

/**
 * One chart. `runs` is the number of runs with the tag, including those that are not in `series`.
 * `grid` has the edges of the bins; null if there are no counts. With `is_clipped` there are values
 * outside of the grid.
 */
export interface HistogramChartRow {
  readonly id: string;
  readonly error: Problem | null;
  readonly runs: number;
  readonly grid: Float64Array | null;
  readonly is_clipped: boolean;
  readonly series: readonly HistogramSeriesRow[];
}

/** A histogram that could not be read, and why. */
export interface HistogramErrorRow {
  readonly step: number;
  readonly message: Sentence;
}

/**
 * Histograms of one tag of one run; `x` is their position on the axis. `count` is the number of
 * histograms in the range, of which these are some. `bins` has the counts on the grid of the chart
 * and `percentiles` nine values per histogram, concatenated. `low` and `high` are the outermost
 * edges, `bucket_sum` is the sum of the buckets, `num` the number of values according to the writer
 * (NaN if unknown). `unbounded` is the count of buckets without a finite edge. `has_nan` histograms
 * have edges or counts that are NaN, which many writers produce if the data contains NaN.
 */
export interface HistogramSeriesRow {
  readonly run: string;
  readonly tag: string;
  readonly count: number;
  readonly index: Int32Array;
  readonly fingerprint: Int32Array;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly x: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly bucket_sum: Float64Array;
  readonly num: Float64Array;
  readonly nan: Float64Array;
  readonly positive_infinity: Float64Array;
  readonly negative_infinity: Float64Array;
  readonly unbounded: Float64Array;
  readonly has_nan: Uint8Array;
  readonly bins: Float32Array | Float64Array | null;
  readonly percentiles: Float64Array | null;
  readonly errors: readonly HistogramErrorRow[];
}

/** Statistics of all values; NaN and infinite values are not in any bucket. */
export interface HistogramTotals {
  readonly min: JsonNumber;
  readonly max: JsonNumber;
  readonly num: JsonNumber;
  readonly sum: JsonNumber;
  readonly sum_squares: JsonNumber;
  readonly nan: number;
  readonly positive_infinity: number;
  readonly negative_infinity: number;
}

/**
 * Histograms of some tags; without `runs`, of all runs that have them. A chart has at most
 * `max_runs` runs. Of each series at most `max_points` histograms are returned, chosen evenly along
 * the axis: `step`, `relative` (seconds since the first) or `wall`. With `bins` they are returned
 * on a grid with so many bins, with `percentiles` as nine percentiles each.
 */
export interface HistogramsRequest {
  readonly charts: readonly HistogramChartRequest[];
  readonly runs?: readonly string[] | null;
  /** Default: `12`. */
  readonly max_runs?: number;
  /** Default: `"step"`. */
  readonly x?: HistogramAxis;
  /** Default: `51`. */
  readonly max_points?: number;
  /** Default: `30`. */
  readonly bins?: number;
  /** Default: `false`. */
  readonly percentiles?: boolean;
  /** Do not extend the grid for a few outlying values or steps. Default: `false`. */
  readonly ignore_outliers?: boolean;
}

/** The requested charts, in order. */
export interface HistogramsResponse {
  readonly cursor: string;
  readonly charts: readonly HistogramChartRow[];
}

export type TableFormat = 'csv' | 'json' | 'parquet';

// ---- Dashboard: pr_curves

/** Requests and responses by method and path below `api/v1/pr_curves/`. */
export interface PrCurvesRoutes {
  /** Return the steps at which curves were logged. */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Return the curve of each run and tag at a step, with metrics and the ROC curve. */
  readonly 'POST curves': {
    readonly request: CurvesRequest;
    readonly response: CurvesResponse;
  };
  /** Return one curve, given by its index among the steps. */
  readonly 'GET curve': {
    readonly request: ValueRequest;
    readonly response: CurveRow;
  };
  /** Return areas and best F1 of each run and tag over the steps. */
  readonly 'POST history': {
    readonly request: HistoryRequest;
    readonly response: HistoryResponse;
  };
}

/**
 * Columns with one row per threshold, thinned evenly if there are many. Counts are as logged and
 * need not be integers, as examples may have weights. `precision` is NaN if no example is predicted
 * positive, `recall` if no example is positive. `false_positive_rate` is null if there are no
 * counts.
 */
export interface ColumnsRow {
  readonly threshold: Float32Array | Float64Array;
  readonly true_positives: Float32Array | Float64Array;
  readonly false_positives: Float32Array | Float64Array;
  readonly true_negatives: Float32Array | Float64Array;
  readonly false_negatives: Float32Array | Float64Array;
  readonly precision: Float32Array | Float64Array;
  readonly recall: Float32Array | Float64Array;
  readonly f1: Float32Array | Float64Array;
  readonly false_positive_rate: Float32Array | Float64Array | null;
}

/**
 * The curve of one run and tag at one step. `has_counts` is false if only precision and recall were
 * logged. `thresholds` is the number of logged thresholds.
 */
export interface CurveRow {
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  readonly fingerprint: number;
  readonly step: number;
  readonly wall_time: JsonNumber;
  readonly error: Problem | null;
  readonly thresholds: number;
  readonly has_counts: boolean;
  readonly measures: MeasuresRow | null;
  readonly columns: ColumnsRow | null;
}

/**
 * The curves of some tags at a step; without `runs`, of all runs that have them. Of each run the
 * last curve at or before `step` is returned; without it, the last curve.
 */
export interface CurvesRequest {
  readonly tags: readonly string[];
  readonly runs?: readonly string[] | null;
  readonly step?: number | null;
}

/** A row for each run and tag with a curve at or before the step. */
export interface CurvesResponse {
  readonly cursor: string;
  readonly curves: readonly CurveRow[];
}

/** The metrics of some tags over all steps; without `runs`, of all runs that have them. */
export interface HistoryRequest {
  readonly tags: readonly string[];
  readonly runs?: readonly string[] | null;
}

export interface HistoryResponse {
  readonly cursor: string;
  readonly series: readonly HistoryRow[];
}

/**
 * The metrics of one run and tag over its steps, see `MeasuresRow`; NaN if not defined. `steps` is
 * the number of logged steps, of which these are some, chosen evenly.
 */
export interface HistoryRow {
  readonly run: string;
  readonly tag: string;
  readonly steps: number;
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly average_precision: Float64Array;
  readonly area: Float64Array;
  readonly roc_area: Float64Array;
  readonly best_f1: Float64Array;
}

/**
 * Metrics of a curve; null where they are not defined. `average_precision` is scikit-learn's
 * `average_precision_score`. `area` is the area under the curve by the trapezoidal rule, starting
 * at recall 0 and precision 1 (scikit-learn's `auc` of a `precision_recall_curve`); `roc_area` is
 * the area under the ROC curve from (0, 0) to (1, 1). `best_f1` is reached at `best_threshold`;
 * `prevalence` is the share of positive examples.
 */
export interface MeasuresRow {
  readonly average_precision: number | null;
  readonly area: number | null;
  readonly roc_area: number | null;
  readonly best_f1: number | null;
  readonly best_threshold: number | null;
  readonly prevalence: number | null;
}

// ---- Dashboard: mesh

/** Requests and responses by method and path below `api/v1/mesh/`. */
export interface MeshRoutes {
  /**
   * Return the steps of some meshes, without overwritten values. Tags are the names of meshes,
   * without the `_VERTEX`, `_FACE` or `_COLOR` of their series.
   */
  readonly 'POST steps': {
    readonly request: StepsRequest;
    readonly response: StepsResponse;
  };
  /** Return the size and position of a mesh, and how it was logged. */
  readonly 'GET about': {
    readonly request: MeshRequest;
    readonly response: MeshInfo;
  };
  /** Return a mesh ready to be drawn. */
  readonly 'GET geometry': {
    readonly request: GeometryRequest;
    readonly response: GeometryResponse;
  };
  /** Return a mesh with all points and faces, in the logged order, as PLY or OBJ. */
  readonly 'GET file': {
    readonly request: MeshFileRequest;
    readonly response: Blob;
  };
}

/** A camera in the coordinates of the mesh; `fov` is in degrees. */
export interface Camera {
  readonly orthographic?: boolean;
  readonly fov?: number;
  readonly near?: number;
  readonly far?: number;
  readonly position?: readonly [number, number, number];
  readonly look_at?: readonly [number, number, number];
  readonly up?: readonly [number, number, number];
}

/** One mesh with at most `max_points` points; larger ones are sampled. */
export interface GeometryRequest extends MeshRequest {
  /** Default: `100000`. */
  readonly max_points?: number;
}

/**
 * A mesh to be drawn. A vertex is at `center + scale * position`. Points, and the faces of a large
 * surface, are in a random but reproducible order, so that any number of the first ones is a fair
 * sample.
 */
export interface GeometryResponse {
  readonly info: MeshInfo;
  readonly center: readonly [number, number, number];
  readonly scale: number;
  /** Three coordinates in [-1, 1] for each vertex. */
  readonly position: Float32Array;
  /** Three vertices for each triangle; null for points. */
  readonly face: Int32Array | null;
  /** Three signed bytes for each vertex, if there are faces. */
  readonly normal: Uint8Array | null;
  /** Red, green and blue for each vertex. */
  readonly color: Uint8Array | null;
}

/** A light; its color is a CSS color. */
export interface Light {
  readonly kind: LightKind;
  readonly color?: string;
  readonly intensity?: number;
  readonly position?: readonly [number, number, number];
}

export type LightKind = 'ambient' | 'directional' | 'point';

/**
 * The material of the surface or the points. `size` is the size of a point in the coordinates of
 * the mesh, or in pixels if `size_attenuation` is false.
 */
export interface Material {
  readonly kind?: string;
  readonly color?: string;
  readonly size?: number;
  readonly size_attenuation?: boolean;
  readonly opacity?: number;
  readonly wireframe?: boolean;
  readonly flat_shading?: boolean;
  readonly roughness?: number;
  readonly metalness?: number;
}

/** One mesh as a file: binary PLY, or OBJ. */
export interface MeshFileRequest extends MeshRequest {
  /** Default: `"ply"`. */
  readonly format?: 'ply' | 'obj';
}

/** The size and position of a mesh, and how it was logged. */
export interface MeshInfo {
  readonly step: number;
  readonly wall_time: number;
  /** Number of meshes in the batch of this step. */
  readonly items: number;
  readonly item: number;
  readonly vertex_count: number;
  /** Number of points with finite coordinates. */
  readonly finite_count: number;
  readonly face_count: number;
  /** Lower corner of the bounding box, in the logged coordinates. */
  readonly min: readonly [number, number, number];
  /** Upper corner of the bounding box. */
  readonly max: readonly [number, number, number];
  /** Largest distance of a point from the center of the bounding box. */
  readonly radius: number;
  /** Type and shape of the logged arrays `vertex`, `face` and `color`. */
  readonly parts: Readonly<Record<string, string>>;
  readonly scene: SceneConfig;
  /** Messages about what was repaired, left out or taken from another step. */
  readonly notes: readonly Sentence[];
}

/** One mesh of the batch of a step; the last one if the batch is smaller. */
export interface MeshRequest extends ValueRequest {
  /** Default: `0`. */
  readonly item?: number;
}

/** How the writer of a mesh wants it to be shown. */
export interface SceneConfig {
  readonly camera?: Camera;
  readonly lights?: readonly Light[];
  readonly material?: Material;
}

// ---- Dashboard: custom_scalars

/** Requests and responses by method and path below `api/v1/custom_scalars/`. */
export interface CustomScalarsRoutes {
  /** Return the merged layout of all runs. */
  readonly 'GET layout': {
    readonly request: Empty;
    readonly response: CustomScalarsLayoutResponse;
  };
}

/** The merged layout of all runs. */
export interface CustomScalarsLayoutResponse {
  readonly categories: readonly LayoutCategory[];
  /** The runs whose layouts were merged. */
  readonly runs: readonly string[];
  /** Messages about layouts that could not be read and charts that were left out. */
  readonly problems: readonly Sentence[];
}

// ---- Dashboard: graphs

/** Requests and responses by method and path below `api/v1/graphs/`. */
export interface GraphsRoutes {
  /** List the graphs of the log and those uploaded since the server started. */
  readonly 'GET list': {
    readonly request: Empty;
    readonly response: GraphsResponse;
  };
  /** Return the totals of a graph and its default view. */
  readonly 'GET about': {
    readonly request: GraphRequest;
    readonly response: OverviewResponse;
  };
  /** Return the children of a group with the edges between and around them. */
  readonly 'GET group': {
    readonly request: GroupRequest;
    readonly response: GroupResponse;
  };
  /** Return several groups at once. */
  readonly 'POST groups': {
    readonly request: GroupsRequest;
    readonly response: GroupsResponse;
  };
  /** Return color scales, rankings, skip connections and shape issues of a graph. */
  readonly 'GET statistics': {
    readonly request: StatisticsRequest;
    readonly response: StatisticsResponse;
  };
  /** Return the category or number of each child of a group on a color scale. */
  readonly 'GET paint': {
    readonly request: ColoringRequest;
    readonly response: ColoringResponse;
  };
  /** Return the details of a node or group. */
  readonly 'GET node': {
    readonly request: NodeRequest;
    readonly response: NodeResponse;
  };
  /** Return statistics and histograms of the weights of a node. */
  readonly 'GET weights': {
    readonly request: WeightsRequest;
    readonly response: WeightsResponse;
  };
  /** Download a tensor of the weights of a node as a NumPy file. */
  readonly 'GET weights_file': {
    readonly request: WeightsFileRequest;
    readonly response: Blob;
  };
  /** List the nodes and edges in which two compared graphs differ. */
  readonly 'GET changes': {
    readonly request: ChangesRequest;
    readonly response: ChangesResponse;
  };
  /**
   * Find nodes and scopes that match all words of a query, including function bodies. Words match
   * in names, operations, shapes, types, devices and attributes. The prefixes `name:`, `op:`,
   * `shape:`, `dtype:`, `device:` and `attr:` select one of these; an asterisk matches any text.
   */
  readonly 'GET search': {
    readonly request: GraphsSearchRequest;
    readonly response: GraphsSearchResponse;
  };
  /** Find all nodes that a node or group depends on, or that depend on it. */
  readonly 'GET trace': {
    readonly request: TraceRequest;
    readonly response: TraceResponse;
  };
  /** Find the shortest path between two nodes or groups. */
  readonly 'GET path': {
    readonly request: PathRequest;
    readonly response: PathResponse;
  };
  /** Download a graph or group with all nodes, as JSON or in Graphviz's DOT language. */
  readonly 'GET file': {
    readonly request: GraphFileRequest;
    readonly response: Blob;
  };
  /**
   * Open a model file of any format that tracklight reads. It is kept in memory until the server
   * stops or eight other files have been uploaded.
   */
  readonly 'POST upload': {
    readonly request: GraphsUploadRequest;
    readonly response: GraphRow;
  };
  /**
   * Open a JSON or CSV file with numbers for nodes, to color any graph by them. It is kept in
   * memory until the server stops or sixteen other files have been uploaded.
   */
  readonly 'POST upload_overlay': {
    readonly request: GraphsUploadRequest;
    readonly response: OverlayRow;
  };
  /** Return the range of uploaded data on a graph, the largest values and unknown names. */
  readonly 'GET overlay': {
    readonly request: OverlayRequest;
    readonly response: OverlayResponse;
  };
}

export interface AttributeRow {
  readonly key: string;
  readonly value: string;
}

/**
 * Bundles of edges that cross the boundary of the group. The partner is the box on the other side
 * in the innermost group that contains both ends, so it is the same at each boundary that an edge
 * crosses. Edges to children that are not in this response are included, with that child as the
 * partner.
 */
export interface BoundaryColumns {
  readonly child: Int32Array;
  readonly partner: readonly string[];
  readonly count: Int32Array;
  readonly control: Int32Array;
  readonly size: Float64Array;
  readonly label: readonly string[];
  readonly dtype: readonly string[];
  readonly change: readonly (ChangeName | null)[];
}

/** The number of nodes in a category, which is an index in `names`; an array in JSON. */
export type CategoryCount = readonly [category: number, node_count: number];

/** Number of nodes or edges for each kind of change. */
export interface ChangeCounts {
  readonly same: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

export type ChangeName = 'same' | 'added' | 'removed' | 'changed';

/** An edge that was added, removed or changed, with the tensors it carries. */
export interface ChangedEdgeRow {
  readonly source: string;
  readonly target: string;
  readonly control: boolean;
  readonly change: ChangeName;
  readonly before: string;
  readonly after: string;
  /** The groups to open so that the target is visible. */
  readonly ancestors: readonly string[];
}

/** A node that was added, removed or changed. */
export interface ChangedNodeRow {
  readonly path: string;
  readonly op: string;
  readonly change: ChangeName;
  readonly ancestors: readonly string[];
}

/** The differences of two graphs: at most `limit` nodes and edges for each kind of change. */
export interface ChangesRequest extends GraphRequest {
  /** Default: `true`. */
  readonly fold?: boolean;
  /** Default: `100`. */
  readonly limit?: number;
}

/** The differences of two graphs, within the requested limit for each kind. */
export interface ChangesResponse {
  readonly nodes: readonly ChangedNodeRow[];
  readonly edges: readonly ChangedEdgeRow[];
}

export type ChildKind = 'op' | 'scope' | 'series' | 'input' | 'output';

export type ChildRole = '' | 'noop' | 'constant' | 'summary' | 'resource' | 'hub' | 'lonely';

/** A child of a group: one box in the drawing. */
export interface ChildRow {
  readonly path: string;
  readonly label: string;
  readonly kind: ChildKind;
  readonly op: string;
  readonly nodes: number;
  readonly first: number;
  readonly last: number;
  /** Of the first output. */
  readonly shape: string;
  readonly dtype: string;
  /** Called functions; the body of each is the group `path|name|`. */
  readonly functions: readonly string[];
  /** Why it is drawn aside; empty for most children. */
  readonly role: ChildRole;
  readonly inputs: number;
  /** Number of edges into it and out of it. */
  readonly outputs: number;
  /** Scopes with the same number have the same structure; -1 if it is unique. */
  readonly structure_id: number;
  /** Number of trainable values inside; -1 in graphs that are too large to count. */
  readonly parameters: number;
  /** Set in comparisons; "changed" if the nodes inside have different changes. */
  readonly change: ChangeName | null;
  /** Groups to open together with it, each the only child of the one before. */
  readonly single_child_chain: readonly string[];
}

/** The colors of the children of a group. */
export interface ColoringRequest extends GroupRequest {
  /** Default: `"structure"`. */
  readonly by?: string;
  readonly profile?: string | null;
  /** The column of uploaded data to color by, if `by` is "overlay". */
  readonly overlay?: string | null;
  /** A column to subtract. */
  readonly baseline?: string | null;
  /** How the values of the nodes in a group are combined. Default: `"max"`. */
  readonly combine?: CombineMode;
}

/** The category or number of each child; the scale is in the statistics. */
export interface ColoringResponse {
  readonly by: ScaleName;
  readonly kind: 'category' | 'number';
  readonly names: readonly string[];
  /** For each child, the categories of its nodes. */
  readonly counts: readonly (readonly CategoryCount[])[];
  /** For each child a number; NaN if unknown. */
  readonly value: Float64Array | null;
  readonly overlay_value: Float64Array | null;
  /** The numbers of which `value` is the difference, if two columns of data are compared. */
  readonly baseline_value: Float64Array | null;
}

/** How the values of the nodes in a group are combined; `max` is the largest by magnitude. */
export type CombineMode = 'mean' | 'max' | 'sum';

export interface DifferenceRow {
  /** A property of nodes, such as `operation` or `inputs`, or the name of an attribute. */
  readonly property_name: string;
  readonly before: string;
  readonly after: string;
}

export type Direction = 'forward' | 'backward' | 'undirected' | 'none';

/** Bundles of edges between two children, given by their indexes. */
export interface EdgeColumns {
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly count: Int32Array;
  /** How many of the edges are control edges. */
  readonly control: Int32Array;
  /** Number of elements of the tensors; NaN if unknown. Estimated for large bundles. */
  readonly size: Float64Array;
  readonly label: readonly string[];
  readonly dtype: readonly string[];
  /** Set in comparisons; "changed" if the edges have different changes. */
  readonly change: readonly (ChangeName | null)[];
}

/** Execution of a node, or of all nodes in a group together. */
export interface ExecutionRow {
  readonly time_us: number;
  readonly memory_bytes: number;
  readonly start_us: number | null;
  readonly device: string;
  readonly outputs: readonly string[];
}

/** A graph or group as a file. */
export interface GraphFileRequest extends GraphRequest {
  /** Default: `""`. */
  readonly group?: string;
  /** Default: `"json"`. */
  readonly format?: 'json' | 'dot';
  /**
   * What the file is called; by default the name of the run and the title of the graph. Default:
   * `""`.
   */
  readonly title?: string;
}

/** A graph by its `id` in the list of graphs; without `index` the last logged one. */
export interface GraphRequest {
  readonly id: string;
  readonly index?: number | null;
  /** The fingerprint of the logged value; with it the response never changes. */
  readonly fingerprint?: number | null;
}

/** A graph that can be opened. */
export interface GraphRow {
  readonly id: string;
  readonly run: string;
  readonly tag: string;
  readonly title: string;
  readonly kind: 'op' | 'profile' | 'conceptual' | 'upload';
  readonly plugin: string;
  /** The size of the last logged graph. */
  readonly bytes: number;
  readonly steps: readonly GraphStepRow[];
  /** Tags of the run with execution times and memory for this graph. */
  readonly profiles: readonly string[];
}

/** One logged graph of a tag. */
export interface GraphStepRow {
  readonly index: number;
  readonly step: number;
  readonly wall_time: number;
  readonly fingerprint: number;
}

export interface GraphsResponse {
  readonly cursor: string;
  readonly graphs: readonly GraphRow[];
  /** The uploaded data of nodes, which can be shown on any graph. */
  readonly overlays: readonly OverlayRow[];
}

/** A query; all of its words must match. */
export interface GraphsSearchRequest extends GraphRequest {
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `true`. */
  readonly fold?: boolean;
  /** Default: `100`. */
  readonly limit?: number;
}

export interface GraphsSearchResponse {
  readonly total: number;
  readonly hits: readonly SearchHitRow[];
}

/** An uploaded file; `body` is its content. */
export interface GraphsUploadRequest {
  readonly name: string;
  /** The body of the HTTP request. */
  readonly body: Blob;
}

/** The colors of a group on all scales. */
export interface GroupColorings {
  readonly group: string;
  readonly paints: readonly ColoringResponse[];
}

/** One group: the root, a scope, a series or the body of a function. */
export interface GroupRequest extends GraphRequest {
  /** Default: `""`. */
  readonly group?: string;
  /** Show each series of numbered siblings as one child. Default: `true`. */
  readonly fold?: boolean;
  /** Default: `0`. */
  readonly offset?: number;
  /** Maximum number of children, from `offset` on. Default: `400`. */
  readonly limit?: number;
}

/** The content of an open group. */
export interface GroupResponse {
  readonly path: string;
  readonly kind: 'scope' | 'series' | 'function';
  /** Number of children; this response has those from `offset` on. */
  readonly total: number;
  readonly offset: number;
  readonly children: readonly ChildRow[];
  readonly edges: EdgeColumns;
  readonly incoming: BoundaryColumns;
  readonly outgoing: BoundaryColumns;
}

/** Several groups at once. */
export interface GroupsRequest extends GraphRequest {
  /** Default: `[]`. */
  readonly groups?: readonly string[];
  /** Default: `true`. */
  readonly fold?: boolean;
  /** Default: `400`. */
  readonly limit?: number;
}

export interface GroupsResponse {
  readonly groups: readonly GroupResponse[];
}

export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

/** A node or group on the other end of an edge. */
export interface NeighborRow {
  readonly path: string;
  readonly op: string;
  /** Which input of the target it is; -1 between groups. */
  readonly position: number;
  /** The name of that input in the documentation of the operation; empty if unknown. */
  readonly input_name: string;
  /** Which output of the source it is. */
  readonly output: string;
  readonly control: boolean;
  readonly shape: string;
  readonly dtype: string;
  /** Number of elements, if known. */
  readonly size: number | null;
  /** Number of edges. */
  readonly count: number;
  readonly ancestors: readonly string[];
  readonly change: ChangeName | null;
  /** The tensor before the change, if it differs. */
  readonly previous: string;
}

/** A node or group, with at most `limit` of its edges from `offset` on. */
export interface NodeRequest extends GraphRequest {
  /** Default: `""`. */
  readonly path?: string;
  /** Default: `true`. */
  readonly fold?: boolean;
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `100`. */
  readonly limit?: number;
  readonly profile?: string | null;
}

/** The details of a node or group. */
export interface NodeResponse {
  readonly path: string;
  readonly name: string;
  readonly kind: ChildKind;
  readonly op: string;
  /** What the operation does, in a line of English; empty if unknown. */
  readonly op_summary: string;
  readonly device: string;
  /** The source line that created it. */
  readonly source: string;
  readonly nodes: number;
  readonly parameters: number;
  readonly attributes: readonly AttributeRow[];
  readonly inputs: readonly NeighborRow[];
  readonly inputs_total: number;
  readonly outputs: readonly NeighborRow[];
  readonly outputs_total: number;
  readonly tensors: readonly OutputRow[];
  /** Whether the file has the weights of the node; see `weights`. */
  readonly weights: boolean;
  readonly functions: readonly string[];
  readonly ops: readonly NamedCount[];
  /** The groups to open so that it is visible, outermost first. */
  readonly ancestors: readonly string[];
  readonly first: number;
  readonly last: number;
  readonly body: string;
  readonly execution: ExecutionRow | null;
  readonly change: ChangeName | null;
  readonly changes: readonly DifferenceRow[];
}

export interface OutputRow {
  readonly dtype: string;
  readonly shape: string;
  readonly elements: number | null;
}

/** A node with its value, or with the difference of two. */
export interface OverlayNodeRow {
  readonly path: string;
  readonly op: string;
  readonly value: number;
  readonly overlay_value: number;
  readonly baseline_value: number | null;
  readonly ancestors: readonly string[];
}

/** A column of uploaded data of nodes, less `baseline` if it is given. */
export interface OverlayRequest extends GraphRequest {
  readonly overlay: string;
  readonly baseline?: string | null;
  /** Default: `"max"`. */
  readonly combine?: CombineMode;
}

/** A column of uploaded data on a graph. */
export interface OverlayResponse {
  readonly low: number;
  /** The range of the values of all nodes and of the groups at the top level. */
  readonly high: number;
  readonly nodes: number;
  /** Number of nodes and groups that the file has values for. */
  readonly groups: number;
  /** The nodes with the largest values by magnitude. */
  readonly top: readonly OverlayNodeRow[];
  /** Names in the file that the graph does not have, at most 20. */
  readonly unknown: readonly string[];
  readonly unknown_total: number;
}

/** An uploaded file with numbers for nodes. */
export interface OverlayRow {
  readonly id: string;
  readonly name: string;
  readonly columns: readonly string[];
}

/** Totals of a graph that are known without describing every node. */
export interface OverviewResponse {
  readonly nodes: number;
  readonly edges: number;
  readonly control_edges: number;
  readonly depth: number;
  /** With the number of nodes of each. */
  readonly functions: readonly NamedCount[];
  /** The most frequent first. */
  readonly ops: readonly NamedCount[];
  readonly problems: readonly Sentence[];
  /** Groups that are open in the default view. */
  readonly default_groups: readonly string[];
  readonly changes: ChangeCounts | null;
  readonly edge_changes: ChangeCounts | null;
  /** What the header of a model file says, such as its format and who wrote it. */
  readonly properties: readonly AttributeRow[];
}

export interface PathNodeRow {
  readonly path: string;
  readonly op: string;
  readonly rank: number;
  readonly ancestors: readonly string[];
}

/** The shortest path between two nodes or groups of the same graph or function body. */
export interface PathRequest extends GraphRequest {
  /** Default: `""`. */
  readonly start?: string;
  /** Default: `""`. */
  readonly end?: string;
  /** Default: `true`. */
  readonly fold?: boolean;
}

/** The path including both ends; empty if there is none. */
export interface PathResponse {
  readonly direction: Direction;
  readonly total: number;
  readonly first: Int32Array;
  /** Its nodes as ranges of ranks in the function body `body` (empty: the graph). */
  readonly last: Int32Array;
  readonly body: string;
  /** The nodes in order, at most 500. */
  readonly nodes: readonly PathNodeRow[];
}

/** A node of a ranking. */
export interface RankedRow {
  readonly path: string;
  readonly op: string;
  readonly value: number;
  readonly ancestors: readonly string[];
}

export type ScaleName =
  | 'device'
  | 'op'
  | 'time'
  | 'memory'
  | 'parameters'
  | 'cluster'
  | 'tpu'
  | 'change'
  | 'overlay';

/** A property that nodes can be colored by, with its range in the default view. */
export interface ScaleRow {
  readonly by: ScaleName;
  readonly kind: 'category' | 'number';
  readonly unit: ScaleUnit;
  readonly low: number;
  readonly high: number;
  /** The names of `tpu` are "compatible" and "incompatible", those of `change` are changes. */
  readonly categories: readonly NamedCount[];
}

export type ScaleUnit = '' | 'us' | 'bytes';

export type SearchField = 'name' | 'op' | 'attribute' | 'shape' | 'dtype' | 'device';

/** A search result and the text that matched. */
export interface SearchHitRow {
  readonly path: string;
  readonly kind: ChildKind;
  readonly op: string;
  readonly field: SearchField;
  readonly text: string;
  readonly first: number;
  readonly last: number;
  readonly body: string;
  readonly ancestors: readonly string[];
}

/** A node whose input shapes are incompatible or probably unintended. */
export interface ShapeIssueRow {
  readonly path: string;
  readonly op: string;
  readonly message: Sentence;
  readonly ancestors: readonly string[];
}

/** A node that joins the output of layers with their input. */
export interface SkipConnectionRow {
  readonly path: string;
  readonly op: string;
  /** The node where the two paths start. */
  readonly source: string;
  /** Number of nodes on the longer path. */
  readonly passed: number;
  readonly ancestors: readonly string[];
}

/** A graph in a static export; groups that are not included cannot be opened. */
export interface StaticGraph {
  readonly about: OverviewResponse;
  readonly statistics: StatisticsResponse;
  readonly groups: readonly GroupResponse[];
  readonly paints: readonly GroupColorings[];
  readonly nodes: readonly NodeResponse[];
}

/** `profile` is a tag of the run with execution times and memory. */
export interface StatisticsRequest extends GraphRequest {
  readonly profile?: string | null;
}

/** Statistics over all nodes of a graph. */
export interface StatisticsResponse {
  readonly scales: readonly ScaleRow[];
  readonly parameters: number;
  readonly largest: readonly TensorRow[];
  /** The nodes with the most parameters. */
  readonly most_parameters: readonly RankedRow[];
  readonly slowest: readonly RankedRow[];
  /** The nodes that used the most memory. */
  readonly most_memory: readonly RankedRow[];
  readonly skip_connections: readonly SkipConnectionRow[];
  /** Both are computed for graphs of up to 50,000 nodes, with at most 200 rows each. */
  readonly shape_issues: readonly ShapeIssueRow[];
}

/** A large output of a node. */
export interface TensorRow {
  readonly path: string;
  readonly op: string;
  readonly dtype: string;
  readonly shape: string;
  readonly elements: number;
  readonly bytes: number;
  readonly ancestors: readonly string[];
}

/** All nodes that a node or group depends on, or that depend on it. */
export interface TraceRequest extends GraphRequest {
  /** Default: `""`. */
  readonly path?: string;
  /** Default: `"inputs"`. */
  readonly direction?: 'inputs' | 'outputs';
  /** Follow control edges. Default: `true`. */
  readonly control?: boolean;
}

/** Leaves as ranges of ranks in the function body `body` (empty: the graph). */
export interface TraceResponse {
  readonly total: number;
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly body: string;
  /** The nodes where it ends, at most 20. */
  readonly ends: readonly string[];
}

/** One tensor of the weights of a node, by name. */
export interface WeightsFileRequest extends WeightsRequest {
  readonly name: string;
}

/** The weights of a node. */
export interface WeightsRequest extends GraphRequest {
  /** Default: `""`. */
  readonly path?: string;
}

/** The weights of a node. */
export interface WeightsResponse {
  readonly tensors: readonly WeightsRow[];
}

/**
 * A tensor of weights. Statistics are of finite values, null if there are none. `edges` has one
 * more element than `counts`; both are empty without finite values.
 */
export interface WeightsRow {
  readonly name: string;
  readonly dtype: string;
  readonly shape: string;
  readonly elements: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly std: number | null;
  readonly zeros: number;
  readonly nonfinite: number;
  readonly edges: Float64Array;
  readonly counts: Float64Array;
  /** All values of a small tensor, the first and last ones of a larger one. */
  readonly values: string;
}

// ---- Dashboard: hparams

/** Requests and responses by method and path below `api/v1/hparams/`. */
export interface HparamsRoutes {
  /** Return all sessions with their hyperparameters and metrics, or the changed ones. */
  readonly 'GET sessions': {
    readonly request: SessionsRequest;
    readonly response: SessionsResponse;
  };
  /** Return one page of the trials that match, and a sample of them for plots. */
  readonly 'POST trials': {
    readonly request: TrialsRequest;
    readonly response: TrialsResponse;
  };
  /** Return the distributions of some columns, of all trials and of those that match. */
  readonly 'POST facets': {
    readonly request: FacetsRequest;
    readonly response: FacetsResponse;
  };
  /** Return the importance of each hyperparameter for a metric, and how reliable it is. */
  readonly 'POST importance': {
    readonly request: ImportanceRequest;
    readonly response: ImportanceResponse;
  };
  /** Return the importance of each hyperparameter for a metric, and how reliable it is. */
  readonly 'GET importance': {
    readonly request: ImportanceRequest;
    readonly response: ImportanceResponse;
  };
  /** Return the curves of a metric, downsampled to a few points. */
  readonly 'POST sparklines': {
    readonly request: SparklinesRequest;
    readonly response: SparklinesResponse;
  };
  /** Return the curves of a metric, downsampled to a few points. */
  readonly 'GET sparklines': {
    readonly request: SparklinesRequest;
    readonly response: SparklinesResponse;
  };
  /** Return the whole table as CSV, JSON, LaTeX or Markdown. */
  readonly 'POST export': {
    readonly request: ExportRequest;
    readonly response: Blob;
  };
  /** Return the whole table as CSV, JSON, LaTeX or Markdown. */
  readonly 'GET export': {
    readonly request: ExportRequest;
    readonly response: Blob;
  };
}

export type Aggregation = 'mean' | 'median' | 'min' | 'max';

export type AxisScale = 'linear' | 'log' | 'quantile';

export type ExportFormat = 'csv' | 'json' | 'latex' | 'markdown';

/**
 * The table as a file, with the given columns and rows in the given order. Column keys are `name`,
 * `study`, `group`, `status`, `start`, `end`, `duration`, `hparam:NAME` and `metric:KEY`. Without
 * keys, all columns are exported. Rows are those with the names `sessions`, those that match
 * `query` in its order, or all.
 */
export interface ExportRequest {
  /** Default: `"last"`. */
  readonly reduction?: ReductionKind;
  readonly aggregation?: Aggregation | null;
  /** Default: `10`. */
  readonly count?: number;
  /** Default: `0`. */
  readonly step?: number;
  readonly study?: string | null;
  readonly format: ExportFormat;
  /** Default: `[]`. */
  readonly columns?: readonly string[];
  readonly sessions?: readonly string[] | null;
  readonly query?: TrialQuery | null;
}

/**
 * The distribution of a column: numbers of rows in equal parts of its axis, or by category. `low`
 * and `high` are the ends of the axis, null if there are categories or no numbers. `categories` is
 * null for columns of numbers; of many categories, only the most frequent ones are listed. `blank`
 * is the number of rows without a value, or with a text among numbers.
 */
export interface Facet {
  readonly key: string;
  readonly low: number | null;
  readonly high: number | null;
  readonly categories: readonly string[] | null;
  readonly counts: Int32Array;
  readonly matching: Int32Array;
  readonly blank: number;
}

/** A column, and the scale of the axis that its bins divide into equal parts. */
export interface FacetRequest {
  readonly key: string;
  /** Default: `"linear"`. */
  readonly scale?: AxisScale;
}

/** The distributions of some columns over all rows, and over those that match. */
export interface FacetsRequest extends TrialQuery {
  readonly columns: readonly FacetRequest[];
  /** Default: `32`. */
  readonly bins?: number;
}

/** The facets in the requested order, without columns that do not exist. */
export interface FacetsResponse {
  readonly total: number;
  readonly matched: number;
  readonly facets: readonly Facet[];
}

export type Goal = 'min' | 'max';

/**
 * A hyperparameter and its value in each row. `states` give the meaning of `values`: 0 a number, 1
 * missing, 2 an index into `categories`, 3 a bool. Null means that all are numbers. `numeric` tells
 * that most are numbers, so that others are exceptions on an axis of numbers. `log_scale` suggests
 * a logarithmic axis.
 */
export interface HParamCells {
  readonly name: string;
  readonly key: string;
  readonly label: string;
  readonly description: string;
  readonly type: HParamType;
  readonly declared: boolean;
  readonly distinct: number;
  readonly varies: boolean;
  readonly numeric: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly log_scale: boolean;
  readonly categories: readonly string[];
  readonly values: Float64Array;
  readonly states: Uint8Array | null;
}

/** Two hyperparameters whose effects depend on each other. */
export interface HParamInteraction {
  readonly first: string;
  readonly second: string;
  readonly importance: number;
}

export type HParamType = 'number' | 'bool' | 'string' | 'mixed';

/**
 * The importance of one hyperparameter: its share of all, and the standard error of that.
 * `direction` is 1 if higher values are better, -1 if lower values are, 0 if unclear.
 */
export interface ImportanceBar {
  readonly name: string;
  readonly label: string;
  readonly importance: number;
  readonly deviation: number;
  readonly direction: number;
}

/**
 * The importance of hyperparameters for a metric. It is computed for all rows, for those with the
 * names `sessions`, or for those that match `query`.
 */
export interface ImportanceRequest {
  /** Default: `"last"`. */
  readonly reduction?: ReductionKind;
  readonly aggregation?: Aggregation | null;
  /** Default: `10`. */
  readonly count?: number;
  /** Default: `0`. */
  readonly step?: number;
  readonly study?: string | null;
  readonly metric: string;
  readonly sessions?: readonly string[] | null;
  readonly query?: TrialQuery | null;
  /** Default: `0`. */
  readonly seed?: number;
}

/**
 * The importance of each hyperparameter within one study, the largest first. `problem` says why
 * there is none, for example because the rows are of several studies.
 */
export interface ImportanceResponse {
  readonly metric: string;
  readonly summary: Sentence;
  readonly trust: ImportanceTrust;
  readonly bars: readonly ImportanceBar[];
  readonly interactions: readonly HParamInteraction[];
  readonly problem: Problem | null;
}

/** How reliable an importance is. `r2` is the share of the variance that is explained. */
export interface ImportanceTrust {
  readonly level: 'good' | 'fair' | 'poor' | 'none';
  readonly r2: number;
  readonly sessions: number;
  readonly summary: Sentence;
}

/**
 * A metric and its value in each row. Rows with a NaN step have no value. `goal` is that of the
 * study if `goal_declared`, and guessed from the name otherwise; null if studies disagree.
 * `deviation` is the standard deviation of repeats.
 */
export interface MetricCells {
  readonly key: string;
  readonly group: string;
  readonly tag: string;
  readonly label: string;
  readonly description: string;
  readonly declared: boolean;
  readonly goal: Goal | null;
  readonly goal_declared: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly log_scale: boolean;
  readonly values: Float64Array;
  readonly steps: Float64Array;
  readonly deviation: Float64Array | null;
}

export type ReductionKind = 'last' | 'min' | 'max' | 'mean' | 'step';

/** URLs of a session's model and of its monitoring page. */
export interface SessionLinks {
  readonly model: string;
  readonly monitor: string;
}

/**
 * Sessions, or groups of sessions. Times are in seconds since 1970, NaN if unknown. `indices` are
 * the indices of the rows in the table. `groups` are indices into `group_names`. `status` is 0 for
 * unknown, 1 for success, 2 for failure, 3 for running, 4 for pruned and 5 for infeasible. `source`
 * is 0 for records, 1 for a settings file and 2 for a study file, as of Optuna, whose trials may
 * have no runs. `studies` are indices into the studies of the response. `last_logged` is the time
 * of the newest point. `sessions` are the members of each group, null if each row is a session.
 */
export interface SessionRows {
  readonly indices: Int32Array;
  readonly names: readonly string[];
  readonly labels: readonly string[];
  readonly groups: Int32Array;
  readonly group_names: readonly string[];
  readonly counts: Int32Array;
  readonly sessions: readonly (readonly string[])[] | null;
  readonly status: Uint8Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly last_logged: Float64Array;
  readonly source: Uint8Array;
  readonly studies: Int32Array;
  readonly links: Readonly<Record<string, SessionLinks>>;
}

/** All sessions, or the changes since a revision. `metrics` requests additional metrics. */
export interface SessionsRequest {
  /** Default: `"last"`. */
  readonly reduction?: ReductionKind;
  readonly aggregation?: Aggregation | null;
  /** Default: `10`. */
  readonly count?: number;
  /** Default: `0`. */
  readonly step?: number;
  readonly study?: string | null;
  readonly since?: string | null;
  /** Default: `[]`. */
  readonly metrics?: readonly string[];
}

/**
 * The table, or the rows that changed since the revision `since`. Columns hold only the rows of
 * this response; everything else is complete. `studies` are all studies of the log. `notes` are
 * about unreadable files and hidden columns. `repeats` is the number of sessions that are not the
 * first of their group.
 */
export interface SessionsResponse {
  readonly revision: string;
  readonly since: string | null;
  readonly studies: readonly StudyInfo[];
  readonly rows: SessionRows;
  readonly hparams: readonly HParamCells[];
  readonly metrics: readonly MetricCells[];
  readonly notes: readonly Sentence[];
  readonly repeats: number;
}

/** A downsampled curve. `nonfinite_count` is the number of NaN and infinite values. */
export interface Sparkline {
  readonly session: string;
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly nonfinite_count: number;
}

/** Downsampled curves of a metric; of the first thousand sessions if none are given. */
export interface SparklinesRequest {
  readonly metric: string;
  readonly sessions?: readonly string[] | null;
  /** Default: `40`. */
  readonly points?: number;
}

/** Curves in the requested order, without sessions that do not have the metric. */
export interface SparklinesResponse {
  readonly lines: readonly Sparkline[];
}

/**
 * Sessions that can be compared: they share an experiment declaration or a directory. `name` is the
 * run that declares the experiment, or the directory. `label` is the name of the experiment or the
 * directory, empty for the log directory itself. `sessions` is the number of its sessions.
 */
export interface StudyInfo {
  readonly name: string;
  readonly label: string;
  readonly sessions: number;
}

/**
 * A condition on the column `key`. All parts that are not null have to hold. `range` is inclusive,
 * `values` are accepted values as text, and `pattern` is a regular expression. `blank` accepts rows
 * without a value, or with a text in a column of numbers.
 */
export interface TrialFilter {
  readonly key: string;
  readonly range?: readonly [number, number] | null;
  readonly values?: readonly string[] | null;
  readonly pattern?: string | null;
  /** Default: `false`. */
  readonly blank?: boolean;
}

/**
 * Which rows of the table, in which order. `runs` describes the runs of which a trial must have
 * one; trials of study files always match. `sort` are column keys, the most important first, with a
 * minus for descending order. Without keys, the best rows for `objective` come first if all are of
 * one study. Without an objective, it is the first declared metric, else one of validation data,
 * else the first.
 */
export interface TrialQuery {
  /** Default: `"last"`. */
  readonly reduction?: ReductionKind;
  readonly aggregation?: Aggregation | null;
  /** Default: `10`. */
  readonly count?: number;
  /** Default: `0`. */
  readonly step?: number;
  readonly study?: string | null;
  /** Default: `[]`. */
  readonly filters?: readonly TrialFilter[];
  readonly runs?: GroupQuery | null;
  /** Default: `[]`. */
  readonly sort?: readonly string[];
  readonly objective?: string | null;
  readonly goal?: Goal | null;
}

/**
 * One page of the rows, and a random sample of the rows for plots. The sample has up to `sample`
 * rows that match and up to `others` that do not. Cells are sent of the columns with the given
 * keys, of the first hyperparameters that vary, the first metrics and the objective; all other
 * columns have no cells.
 */
export interface TrialsRequest extends TrialQuery {
  /** Default: `[]`. */
  readonly columns?: readonly string[];
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
  /** Default: `0`. */
  readonly sample?: number;
  /** Default: `0`. */
  readonly others?: number;
}

/**
 * Some rows of the table. `table` has the rows of the page and of the sample, each once, with their
 * indices in the whole table. `page`, `sample` and `best` are such indices; `sample` has only rows
 * that match, `others` only rows that do not. `total` is the number of all rows, `matched` the
 * number of those that match.
 */
export interface TrialsResponse {
  readonly table: SessionsResponse;
  readonly total: number;
  readonly matched: number;
  readonly page: Int32Array;
  readonly sample: Int32Array;
  readonly others: Int32Array;
  readonly best: number | null;
}

// ---- Dashboard: projector

/** Requests and responses by method and path below `api/v1/projector/`. */
export interface ProjectorRoutes {
  /** Return all embeddings of the log, and those that were uploaded. */
  readonly 'GET embeddings': {
    readonly request: Empty;
    readonly response: EmbeddingsResponse;
  };
  /** Return the size, the columns and the problems of an embedding. */
  readonly 'GET about': {
    readonly request: EmbeddingRequest;
    readonly response: EmbeddingInfo;
  };
  /** Return a column of labels. */
  readonly 'GET column': {
    readonly request: ColumnRequest;
    readonly response: ColumnResponse;
  };
  /** Return a tile with the images of many points. */
  readonly 'GET sprite': {
    readonly request: SpriteTileRequest;
    readonly response: Blob;
  };
  /** Return the image of one point. */
  readonly 'GET picture': {
    readonly request: PointRequest;
    readonly response: Blob;
  };
  /** Return the labels and the vector of one point. */
  readonly 'GET point': {
    readonly request: PointRequest;
    readonly response: PointResponse;
  };
  /** Start a layout, or return the job of an equal request. */
  readonly 'POST project': {
    readonly request: ProjectionRequest;
    readonly response: JobStatus;
  };
  /** Cancel a job; its last intermediate result stays. */
  readonly 'DELETE project': {
    readonly request: JobRequest;
    readonly response: JobStatus;
  };
  /** Return the state of a layout and its current coordinates. */
  readonly 'GET layout': {
    readonly request: LayoutRequest;
    readonly response: ProjectorLayoutResponse;
  };
  /** Return the trustworthiness of a layout. */
  readonly 'GET quality': {
    readonly request: QualityRequest;
    readonly response: QualityResponse;
  };
  /** Return the bounds of a layout, and prepare its tiles. */
  readonly 'GET density': {
    readonly request: LayoutPlaneRequest;
    readonly response: DensityResponse;
  };
  /** Return a tile of the density of a layout. */
  readonly 'GET tile': {
    readonly request: ProjectorTileRequest;
    readonly response: TileResponse;
  };
  /** Return the point of a layout that is nearest to a position. */
  readonly 'GET nearest': {
    readonly request: NearestRequest;
    readonly response: NearestResponse;
  };
  /** Return the points of a layout inside a polygon. */
  readonly 'POST inside': {
    readonly request: OutlineRequest;
    readonly response: ProjectorSearchResponse;
  };
  /** Return the positions of some points of a layout. */
  readonly 'POST positions': {
    readonly request: PositionsRequest;
    readonly response: PositionsResponse;
  };
  /** Return the dense regions of a layout, named by typical words of their labels. */
  readonly 'GET regions': {
    readonly request: RegionsRequest;
    readonly response: RegionsResponse;
  };
  /** Return the exact nearest neighbors of a point, or of the mean of some points. */
  readonly 'POST neighbors': {
    readonly request: NeighborsRequest;
    readonly response: NeighborsResponse;
  };
  /** Return the points nearest to a text or an image that another embedding has. */
  readonly 'POST similar': {
    readonly request: SimilarRequest;
    readonly response: SimilarResponse;
  };
  /** Return the points whose labels contain a text or match a regular expression. */
  readonly 'POST search': {
    readonly request: ProjectorSearchRequest;
    readonly response: ProjectorSearchResponse;
  };
  /** Return the labels of some points, sorted by a column and page by page. */
  readonly 'POST rows': {
    readonly request: PointRowsRequest;
    readonly response: PointRowsResponse;
  };
  /** Return histograms of columns, each of the points that pass the filters of all others. */
  readonly 'POST histograms': {
    readonly request: ColumnHistogramsRequest;
    readonly response: ColumnHistogramsResponse;
  };
  /** Return which points of two embeddings are the same. */
  readonly 'POST match': {
    readonly request: MatchRequest;
    readonly response: MatchResponse;
  };
  /** Start a clustering with k-means or HDBSCAN, or return the job of an equal request. */
  readonly 'POST cluster': {
    readonly request: ClusterRequest;
    readonly response: JobStatus;
  };
  /** Return the cluster of each point; clusters are named by typical words of their labels. */
  readonly 'GET clusters': {
    readonly request: JobRequest;
    readonly response: ClustersResponse;
  };
  /** Change a label of some points. Edits are stored beside the notes on the log. */
  readonly 'POST edit': {
    readonly request: EditRequest;
    readonly response: EditResponse;
  };
  /** Return the bookmarks of TensorBoard and the views saved here. */
  readonly 'GET bookmarks': {
    readonly request: EmbeddingRequest;
    readonly response: BookmarksResponse;
  };
  /** Save a view under a name, or delete it. */
  readonly 'POST bookmark': {
    readonly request: BookmarkRequest;
    readonly response: BookmarksResponse;
  };
  /** Return labels with edits, vectors, or a layout with labels as a file. */
  readonly 'GET file': {
    readonly request: EmbeddingFileRequest;
    readonly response: Blob;
  };
  /**
   * Add a file with vectors, or labels or a sprite image for an uploaded embedding. Uploads are
   * kept in memory until the server stops or there are too many of them.
   */
  readonly 'POST upload': {
    readonly request: ProjectorUploadRequest;
    readonly response: EmbeddingRow;
  };
}

/** One end of a custom axis: the mean of the given rows, or of the rows that a search finds. */
export interface AxisEnd {
  readonly query: string;
  readonly regex: boolean;
  readonly column: string | null;
  readonly rows: Base64 | null;
}

/** One end of a custom axis: the mean of the given rows, or of the rows that a search finds. */
export interface AxisEndInput {
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `false`. */
  readonly regex?: boolean;
  readonly column?: string | null;
  readonly rows?: Base64 | null;
}

/** One saved view. The coordinates of the points and unknown fields are dropped. */
export interface Bookmark {
  readonly label: string;
  readonly isSelected: boolean;
  readonly selectedProjection: string;
  readonly dataSetDimensions: readonly number[];
  readonly selectedPoints: readonly number[];
  readonly filteredPoints: readonly number[] | null;
  readonly cameraDef: CameraDef | null;
  readonly pcaComponentDimensions: readonly number[];
  readonly tSNEPerplexity: number | null;
  readonly tSNEIteration: number | null;
  readonly tSNEis3d: boolean | null;
  readonly umapIs3d: boolean | null;
  readonly umapNeighbors: number | null;
  readonly umapMinDist: number | null;
  readonly customSelectedSearchByMetadataOption: string | null;
  readonly customXLeftText: string | null;
  readonly customXLeftRegex: boolean | null;
  readonly customXRightText: string | null;
  readonly customXRightRegex: boolean | null;
  readonly customYDownText: string | null;
  readonly customYDownRegex: boolean | null;
  readonly customYUpText: string | null;
  readonly customYUpRegex: boolean | null;
  readonly selectedColorOptionName: string | null;
  readonly forceCategoricalColoring: boolean | null;
  readonly selectedLabelOption: string | null;
}

/** A view to save under a name; it is deleted if `state` is null. */
export interface BookmarkRequest {
  readonly id: string;
  readonly name: string;
  readonly state?: string | null;
}

/** Bookmarks that TensorBoard saved beside the vectors, and views saved in the dashboard. */
export interface BookmarksResponse {
  readonly bookmarks: readonly Bookmark[];
  readonly saved: readonly SavedView[];
  /** What is wrong with bookmarks in the file that are left out. */
  readonly notes: readonly Sentence[];
}

/** A camera position. The points fill a cube from -1 to 1, with y pointing up. */
export interface CameraDef {
  readonly orthographic: boolean;
  readonly position: readonly [number, number, number];
  readonly target: readonly [number, number, number];
  readonly zoom: number;
}

/** A cluster and the words that are typical of it; without any, its name is its number. */
export interface ClusterInfo {
  readonly name: string;
  readonly count: number;
  readonly words: readonly string[];
}

/**
 * Clusters of points, by their vectors or by their positions in the layout of `layout_job`.
 * `name_column` is the column whose words name the clusters; all columns if null.
 */
export interface ClusterRequest extends EmbeddingRequest {
  /** Default: `{"type":"kmeans","count":10}`. */
  readonly method?: KmeansMethod | HdbscanMethod;
  readonly rows?: Base64 | null;
  readonly layout_job?: string | null;
  /** Default: `false`. */
  readonly spherize?: boolean;
  /** Default: `0`. */
  readonly seed?: number;
  readonly name_column?: string | null;
}

/** The cluster of each row, -1 for none. */
export interface ClustersResponse {
  readonly job: JobStatus;
  readonly codes: Int32Array;
  readonly clusters: readonly ClusterInfo[];
}

/** Points with a number in `range`, with both ends, or with one of the texts `values`. */
export interface ColumnFilter {
  readonly range?: readonly [number, number] | null;
  readonly values?: readonly string[] | null;
}

/**
 * Histograms of columns, each of the points that pass the filters of all other columns. The columns
 * `ranges` are counted in `bins` of equal width between their lowest and highest number, the
 * columns `values` by their most frequent values.
 */
export interface ColumnHistogramsRequest extends EmbeddingRequest {
  /** Default: `[]`. */
  readonly ranges?: readonly string[];
  /** Default: `[]`. */
  readonly values?: readonly string[];
  /** Default: `{}`. */
  readonly filters?: Readonly<Record<string, ColumnFilter>>;
  /** Default: `24`. */
  readonly bins?: number;
  /** Default: `0`. */
  readonly revision?: number;
}

/**
 * The number of points that pass all filters, and the counts of each column. Values are counted in
 * the order in which the description of the embedding lists them.
 */
export interface ColumnHistogramsResponse {
  readonly passing: number;
  readonly counts: Readonly<Record<string, readonly number[]>>;
}

/** A column of labels; `values` are the most frequent, empty if most are unique. */
export interface ColumnInfo {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly distinct: number;
  readonly missing: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly values: readonly LabelCount[];
}

/** A column of labels. `revision` keeps caches from returning labels before an edit. */
export interface ColumnRequest extends EmbeddingRequest {
  readonly name: string;
  /** Default: `0`. */
  readonly revision?: number;
}

/**
 * A column of labels. `text` has all values one after another, `ends` where each ends. `codes` is
 * the value of each row; null if there is one value per row.
 */
export interface ColumnResponse {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  readonly codes: Int32Array | null;
  readonly text: Uint8Array;
  readonly ends: Int32Array;
}

/** A projection onto custom axes. */
export interface CustomAxesMethod {
  readonly type: 'custom';
  readonly axes: readonly CustomAxis[];
}

/** A projection onto custom axes. */
export interface CustomAxesMethodInput {
  readonly type: 'custom';
  readonly axes: readonly CustomAxisInput[];
}

/** The direction from one mean to another. */
export interface CustomAxis {
  readonly from: AxisEnd;
  readonly to: AxisEnd;
}

/** The direction from one mean to another. */
export interface CustomAxisInput {
  readonly from: AxisEndInput;
  readonly to: AxisEndInput;
}

/**
 * The bounds of a layout: most of its points are within `radius` of the center. The tile at zoom 0
 * is the square around the center whose half side is `extent`.
 */
export interface DensityResponse {
  readonly center: readonly number[];
  readonly radius: number;
  readonly extent: number;
  readonly point_count: number;
  readonly max_zoom: number;
}

export type Device = 'cpu' | 'cuda' | 'mps';

/**
 * cosine is 1 - cos, euclidean the length of the difference, dot the negative product. Smaller is
 * always nearer.
 */
export type DistanceMetric = 'cosine' | 'euclidean' | 'dot';

/** A new label for some points, in an existing or a new column. */
export interface EditRequest extends EmbeddingRequest {
  readonly rows: Base64;
  readonly column: string;
  readonly text: string;
}

/** The new revision of the labels and the number of changed points. */
export interface EditResponse {
  readonly revision: number;
  readonly changed: number;
}

/** Labels, vectors or the layout of a job as a file. */
export interface EmbeddingFileRequest extends EmbeddingRequest {
  readonly content: 'labels' | 'vectors' | 'layout';
  /** Default: `"tsv"`. */
  readonly format?: 'tsv' | 'npy';
  readonly job?: string | null;
}

/**
 * A loaded embedding. `usable` marks the rows with finite vectors, null if all are. `label_column`,
 * `color_column` and `sequence_column` are suggested columns, `spherize` a suggested setting.
 */
export interface EmbeddingInfo {
  readonly id: string;
  readonly index: number;
  readonly step: number | null;
  readonly mark: string;
  readonly rows: number;
  readonly dimensions: number;
  readonly revision: number;
  readonly problems: readonly Sentence[];
  readonly usable: Uint8Array | null;
  readonly columns: readonly ColumnInfo[];
  readonly label_column: string | null;
  readonly color_column: string | null;
  readonly sequence_column: string | null;
  readonly sprite: SpriteTiles | null;
  readonly spherize: boolean;
}

/**
 * An embedding at one of its steps, by default the last. `mark` is the fingerprint of the files in
 * the list of embeddings.
 */
export interface EmbeddingRequest {
  readonly id: string;
  readonly index?: number | null;
  readonly mark?: string | null;
}

/** An embedding in the list; `problem` says why it cannot be read, null if it can. */
export interface EmbeddingRow {
  readonly id: string;
  readonly run: string;
  readonly name: string;
  readonly source: 'log' | 'upload';
  readonly file: string;
  readonly has_labels: boolean;
  readonly has_sprite: boolean;
  readonly has_bookmarks: boolean;
  readonly problem: Sentence | null;
  readonly versions: readonly VersionRow[];
}

/** All embeddings, those with labels first, and the devices that can compute layouts. */
export interface EmbeddingsResponse {
  readonly cursor: string;
  readonly embeddings: readonly EmbeddingRow[];
  readonly devices: readonly Device[];
}

/** HDBSCAN; `min_size` is the smallest number of points of a cluster. */
export interface HdbscanMethod {
  readonly type: 'hdbscan';
  /** Default: `15`. */
  readonly min_size?: number;
}

/** A job that was started before. */
export interface JobRequest {
  readonly job: string;
}

/**
 * The state of a job; `frame` increases with every intermediate result. `stage` names the current
 * stage, `problem` says why the job failed.
 */
export interface JobStatus {
  readonly job: string;
  readonly state: JobState;
  readonly stage: Sentence;
  readonly done: number;
  readonly total: number;
  readonly problem: Sentence | null;
  readonly frame: number;
  readonly device: Device;
}

/** k-means with a given number of clusters. */
export interface KmeansMethod {
  readonly type: 'kmeans';
  /** Default: `10`. */
  readonly count?: number;
}

/** A label of a point in one column. */
export interface LabelCell {
  readonly name: string;
  readonly text: string;
}

/** A label and the number of points that have it. */
export interface LabelCount {
  readonly text: string;
  readonly count: number;
}

/** A layout along two axes. */
export interface LayoutPlaneRequest extends JobRequest {
  /** Default: `[0,1]`. */
  readonly axes?: readonly number[];
}

/**
 * The coordinates along some axes, unless `known_frame` is the current frame of the job. A client
 * that draws tiles needs no `coordinates`.
 */
export interface LayoutRequest extends JobRequest {
  /** Default: `0`. */
  readonly known_frame?: number;
  /** Default: `true`. */
  readonly coordinates?: boolean;
  /** Default: `[0,1,2]`. */
  readonly axes?: readonly number[];
}

/**
 * The rows of two embeddings that are the same point. Rows are matched by a column of both, by row
 * number if `column` is null, or by what fits best if it is empty.
 */
export interface MatchRequest extends EmbeddingRequest {
  readonly other: EmbeddingRequest;
  /** Default: `""`. */
  readonly column?: string | null;
}

/** For each row, the same point of the other embedding, -1 for none. */
export interface MatchResponse {
  readonly rows: Int32Array;
  readonly matched: number;
}

/**
 * The point of a layout that is nearest to a position, at most `radius` away. `filters` are those
 * of a `ColumnHistogramsRequest` as JSON: other points are left out.
 */
export interface NearestRequest extends LayoutPlaneRequest {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  /** Default: `""`. */
  readonly filters?: string;
  /** Default: `0`. */
  readonly revision?: number;
}

/** The row and position of the nearest point, null if there is none. */
export interface NearestResponse {
  readonly row: number | null;
  readonly x: number;
  readonly y: number;
}

/** The nearest points of a row, or of the mean of some rows, among the rows `within`. */
export interface NeighborsRequest extends EmbeddingRequest {
  readonly row?: number | null;
  readonly rows?: Base64 | null;
  /** Default: `"cosine"`. */
  readonly metric?: DistanceMetric;
  /** Default: `100`. */
  readonly count?: number;
  /** Default: `false`. */
  readonly spherize?: boolean;
  readonly within?: Base64 | null;
}

/** The nearest rows and their distances. */
export interface NeighborsResponse {
  readonly rows: Int32Array;
  readonly distances: Float32Array;
  readonly exact: boolean;
}

/**
 * The points of a layout inside a polygon, given as `x, y` of each corner. Points that do not pass
 * the `filters` are left out.
 */
export interface OutlineRequest extends LayoutPlaneRequest {
  readonly outline: readonly number[];
  /** Default: `{}`. */
  readonly filters?: Readonly<Record<string, ColumnFilter>>;
}

/** Principal component analysis. */
export interface PcaMethod {
  readonly type: 'pca';
  readonly components: number;
}

/** Principal component analysis. */
export interface PcaMethodInput {
  readonly type: 'pca';
  /** Default: `10`. */
  readonly components?: number;
}

/** One point. */
export interface PointRequest extends EmbeddingRequest {
  /** Default: `0`. */
  readonly row?: number;
}

/** The labels and the vector of a point; `length` is the norm of the vector. */
export interface PointResponse {
  readonly row: number;
  readonly cells: readonly LabelCell[];
  readonly vector: Float32Array;
  readonly length: number;
}

/**
 * The labels of at most `limit` points from `offset` on, of all or of those `within`. Points that
 * do not pass the `filters` are left out. Points are sorted by the column `sort`, by row number if
 * it is null.
 */
export interface PointRowsRequest extends EmbeddingRequest {
  /** Default: `[]`. */
  readonly columns?: readonly string[];
  readonly within?: Base64 | null;
  /** Default: `{}`. */
  readonly filters?: Readonly<Record<string, ColumnFilter>>;
  /** Default: `0`. */
  readonly revision?: number;
  readonly sort?: string | null;
  /** Default: `false`. */
  readonly descending?: boolean;
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
}

/** A page of points; `cells` has the texts of each requested column. */
export interface PointRowsResponse {
  readonly total: number;
  readonly rows: Int32Array;
  readonly cells: readonly (readonly string[])[];
}

/**
 * The positions of some rows, of a sample of them if they are more than `limit`. Rows that do not
 * pass the `filters` are left out.
 */
export interface PositionsRequest extends LayoutPlaneRequest {
  readonly rows: Base64;
  /** Default: `20000`. */
  readonly limit?: number;
  /** Default: `{}`. */
  readonly filters?: Readonly<Record<string, ColumnFilter>>;
  /** Default: `0`. */
  readonly revision?: number;
}

/** The positions of rows that have one. */
export interface PositionsResponse {
  readonly rows: Int32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
}

export type ProjectionMethod = PcaMethod | TsneMethod | UmapMethod | CustomAxesMethod;

export type ProjectionMethodInput =
  | PcaMethodInput
  | TsneMethodInput
  | UmapMethodInput
  | CustomAxesMethodInput;

/**
 * A layout of all points, or of some rows. `align_to` is the job of another layout to compare with.
 * If the method is iterative, the new layout starts from that one; in any case it is rotated onto
 * it. `align_by` is the column that identifies points, as in a match.
 */
export interface ProjectionRequest extends EmbeddingRequest {
  /** Default: `{"type":"pca","components":10}`. */
  readonly method?: ProjectionMethodInput;
  readonly rows?: Base64 | null;
  /** Default: `false`. */
  readonly spherize?: boolean;
  /** Default: `0`. */
  readonly seed?: number;
  /** Default: `"auto"`. */
  readonly device?: 'auto' | 'cpu';
  readonly align_to?: string | null;
  /** Default: `""`. */
  readonly align_by?: string | null;
}

/** The coordinates of `rows`, or of all rows, by axis; empty if the client has this frame. */
export interface ProjectorLayoutResponse {
  readonly job: JobStatus;
  readonly rows: Int32Array | null;
  readonly coordinates: readonly Float32Array[];
  readonly explained_ratio: readonly number[];
  readonly is_exact: boolean;
  readonly notes: readonly Sentence[];
}

/** The rows whose labels contain a text or match a regular expression, in one column or any. */
export interface ProjectorSearchRequest extends EmbeddingRequest {
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `false`. */
  readonly regex?: boolean;
  readonly column?: string | null;
}

/** The matching rows. */
export interface ProjectorSearchResponse {
  readonly count: number;
  readonly rows: Int32Array;
}

/**
 * A tile of the density of a layout; at `zoom` 0, one tile has all points. `color` is a column
 * whose most frequent values color the points. `filters` are those of a `ColumnHistogramsRequest`
 * as JSON: other points are left out. `revision` keeps caches from returning colors before an edit.
 */
export interface ProjectorTileRequest extends LayoutPlaneRequest {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
  readonly color?: string | null;
  /** Default: `""`. */
  readonly filters?: string;
  /** Default: `0`. */
  readonly revision?: number;
}

/** An uploaded file: vectors, or labels or a sprite image for an earlier upload. */
export interface ProjectorUploadRequest {
  readonly name: string;
  /** The body of the HTTP request. */
  readonly body: Blob;
  readonly labels_of?: string | null;
  readonly sprite_of?: string | null;
}

/** The trustworthiness of a layout along some axes. */
export interface QualityRequest extends JobRequest {
  /** Default: `[0,1]`. */
  readonly axes?: readonly number[];
}

/**
 * The trustworthiness of a layout, from 0 to 1, on a sample of its points. `explanation` says what
 * it means for this layout.
 */
export interface QualityResponse {
  readonly trustworthiness: number;
  readonly point_count: number;
  readonly sample_size: number;
  readonly n_neighbors: number;
  readonly explanation: readonly Sentence[];
}

/** A dense region: the words that are typical of its labels, and its densest place. */
export interface RegionInfo {
  readonly name: string;
  readonly count: number;
  readonly position: readonly number[];
}

/** The dense regions of a layout along some axes, named by words of the labels. */
export interface RegionsRequest extends JobRequest {
  /** Default: `[0,1]`. */
  readonly axes?: readonly number[];
  /** Default: `0`. */
  readonly revision?: number;
}

/** The dense regions that have a name, the largest first. */
export interface RegionsResponse {
  readonly regions: readonly RegionInfo[];
}

/** A view that was saved in the dashboard. */
export interface SavedView {
  readonly name: string;
  readonly state: string;
}

/**
 * The points nearest to a text or an image, whose vector is in the embedding `source`. `source` has
 * as many dimensions, for example the texts of a model of texts and images. The vector of a text is
 * that of the point with this label, or the mean of the points with its words as labels, or of
 * those whose labels contain it. That of an image is the vector of the point with the most similar
 * image.
 */
export interface SimilarRequest extends EmbeddingRequest {
  readonly source: EmbeddingRequest;
  /** Default: `""`. */
  readonly text?: string;
  readonly image?: Base64 | null;
  /** Default: `"cosine"`. */
  readonly metric?: DistanceMetric;
  /** Default: `20`. */
  readonly count?: number;
  readonly within?: Base64 | null;
}

/**
 * The nearest rows and their distances. `source_rows` are points of the source that the query
 * vector is the mean of (the first of them), `source_labels` their labels, `source_count` is their
 * number.
 */
export interface SimilarResponse {
  readonly rows: Int32Array;
  readonly distances: Float32Array;
  readonly source_rows: readonly number[];
  readonly source_labels: readonly string[];
  readonly source_count: number;
}

/** One tile of the images. */
export interface SpriteTileRequest extends EmbeddingRequest {
  /** Default: `0`. */
  readonly tile?: number;
}

/** An embedding without a server. `vectors` are flattened; null if there are too many. */
export interface StaticEmbedding {
  readonly info: EmbeddingInfo;
  readonly columns: readonly ColumnResponse[];
  readonly layouts: readonly StaticLayout[];
  readonly vectors: Float32Array | null;
}

/** A layout as in the response of `layout`, and the method that computed it. */
export interface StaticLayout {
  readonly method: ProjectionMethod;
  readonly rows: Int32Array | null;
  readonly coordinates: readonly Float32Array[];
  readonly explained_ratio: readonly number[];
}

/**
 * The pixels of a tile, row by row from the top. `density` is 0 without points, else from 1 to 255,
 * logarithmic. `colors` is the most frequent value of the points of a pixel, as an index of the
 * values of the column; 255 for none.
 */
export interface TileResponse {
  readonly density: Uint8Array;
  readonly colors: Uint8Array | null;
}

/** t-SNE. Neighbors with another label in `supervise_column` weigh less. */
export interface TsneMethod {
  readonly type: 'tsne';
  readonly dimensions: 2 | 3;
  readonly perplexity: number;
  readonly iterations: number;
  readonly learning_rate: number | null;
  readonly early_exaggeration: number;
  readonly metric: DistanceMetric;
  readonly supervise_column: string | null;
  readonly supervise_factor: number;
}

/** t-SNE. Neighbors with another label in `supervise_column` weigh less. */
export interface TsneMethodInput {
  readonly type: 'tsne';
  /** Default: `2`. */
  readonly dimensions?: 2 | 3;
  /** Default: `30.0`. */
  readonly perplexity?: number;
  /** Default: `750`. */
  readonly iterations?: number;
  readonly learning_rate?: number | null;
  /** Default: `12.0`. */
  readonly early_exaggeration?: number;
  /** Default: `"euclidean"`. */
  readonly metric?: DistanceMetric;
  readonly supervise_column?: string | null;
  /** Default: `0.0`. */
  readonly supervise_factor?: number;
}

/** UMAP, supervised as in t-SNE. */
export interface UmapMethod {
  readonly type: 'umap';
  readonly dimensions: 2 | 3;
  readonly n_neighbors: number;
  readonly min_dist: number;
  readonly metric: DistanceMetric;
  readonly epochs: number | null;
  readonly supervise_column: string | null;
  readonly supervise_factor: number;
}

/** UMAP, supervised as in t-SNE. */
export interface UmapMethodInput {
  readonly type: 'umap';
  /** Default: `2`. */
  readonly dimensions?: 2 | 3;
  /** Default: `15`. */
  readonly n_neighbors?: number;
  /** Default: `0.1`. */
  readonly min_dist?: number;
  /** Default: `"euclidean"`. */
  readonly metric?: DistanceMetric;
  readonly epochs?: number | null;
  readonly supervise_column?: string | null;
  /** Default: `0.0`. */
  readonly supervise_factor?: number;
}

/** An embedding at one step; `rows` and `dimensions` are 0 if they are not known yet. */
export interface VersionRow {
  readonly index: number;
  readonly step: number | null;
  readonly mark: string;
  readonly rows: number;
  readonly dimensions: number;
}

// ---- Dashboard: debugger

/** Requests and responses by method and path below `api/v1/debugger/`. */
export interface DebuggerRoutes {
  /** List all dumps and recordings of the log. */
  readonly 'GET sources': {
    readonly request: Empty;
    readonly response: DebugSourcesResponse;
  };
  /** Return the root cause and the number of alerts of each kind. */
  readonly 'GET overview': {
    readonly request: DebugSourceRequest;
    readonly response: DebugOverviewResponse;
  };
  /** Return alerts in chronological order, filtered by kind, name, dtype and step. */
  readonly 'POST alerts': {
    readonly request: DebugAlertsRequest;
    readonly response: DebugAlertsResponse;
  };
  /** Return a statistic of all tensors of a recording over its steps. */
  readonly 'POST heatmap': {
    readonly request: HeatmapRequest;
    readonly response: HeatmapResponse;
  };
  /** Return all statistics of one tensor of a recording. */
  readonly 'GET tensor': {
    readonly request: WatchedTensorRequest;
    readonly response: WatchedTensorResponse;
  };
  /** Return executions of a dump. */
  readonly 'POST executions': {
    readonly request: RowsRequest;
    readonly response: EventColumns;
  };
  /** Return graph execution traces of a dump. */
  readonly 'POST graph_executions': {
    readonly request: RowsRequest;
    readonly response: EventColumns;
  };
  /** Return the number of executions and traces of a dump over time. */
  readonly 'POST timeline': {
    readonly request: ExecutionTimelineRequest;
    readonly response: ExecutionTimelineResponse;
  };
  /** Return an execution or trace with its tensors, inputs and stack. */
  readonly 'GET event': {
    readonly request: DebugEventRequest;
    readonly response: DebugEventResponse;
  };
  /** Return a tensor that a recording stored when a value became non-finite. */
  readonly 'GET value': {
    readonly request: StoredValueRequest;
    readonly response: StoredValueResponse;
  };
  /** Return histograms of the values of a tensor of a graph over its executions. */
  readonly 'GET histogram': {
    readonly request: TensorHistogramRequest;
    readonly response: TensorHistogramResponse;
  };
  /** Return an operation of a graph with its neighbors. */
  readonly 'GET op': {
    readonly request: OpRequest;
    readonly response: OpResponse;
  };
  /** Return a source file as it was when the program ran. */
  readonly 'GET source_file': {
    readonly request: SourceFileRequest;
    readonly response: SourceFileResponse;
  };
  /** Return where two recordings first differ. */
  readonly 'POST compare': {
    readonly request: CompareSourcesRequest;
    readonly response: CompareRecordingsResponse;
  };
  /** Return where two dumps first differ. */
  readonly 'POST compare_dumps': {
    readonly request: CompareSourcesRequest;
    readonly response: CompareDumpsResponse;
  };
  /** Download all alerts as CSV or JSON. */
  readonly 'GET export': {
    readonly request: AlertExportRequest;
    readonly response: Blob;
  };
}

/** All alerts as a file. */
export interface AlertExportRequest extends DebugSourceRequest {
  /** Default: `"csv"`. */
  readonly format?: 'csv' | 'json';
}

/** Where two dumps first differ. */
export interface CompareDumpsResponse {
  readonly cursor: string;
  readonly difference: DumpDifferenceRow | null;
  /** Number of tensors that both dumps have, in the same mode. */
  readonly compared: number;
  /** Whether only the first values were compared. */
  readonly is_limited: boolean;
  readonly only_first: readonly string[];
  readonly only_second: readonly string[];
}

/** Where two recordings first differ; `step` is null if they do not. */
export interface CompareRecordingsResponse {
  readonly cursor: string;
  readonly step: number | null;
  readonly tensor: WatchedTensorRow | null;
  readonly stat: string;
  readonly first: number | null;
  readonly second: number | null;
  readonly only_first: readonly string[];
  readonly only_second: readonly string[];
  /** Number of steps that both recorded, with tensors of the same name. */
  readonly shared_steps: number;
  readonly message: string;
}

/**
 * Two recordings or two dumps. Values that differ by less than `tolerance`, relatively, are equal.
 */
export interface CompareSourcesRequest {
  readonly first: string;
  readonly second: string;
  /** Default: `0.001`. */
  readonly tolerance?: number;
}

/**
 * Some alerts in chronological order. Empty filters match all alerts. `query` is a part of the name
 * or type of an operation or layer.
 */
export interface DebugAlertsRequest extends DebugSourceRequest {
  /** Default: `[]`. */
  readonly kinds?: readonly string[];
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `""`. */
  readonly dtype?: string;
  readonly first_step?: number | null;
  readonly last_step?: number | null;
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
}

/** Some of the alerts that match; `indexes` are their positions among all alerts. */
export interface DebugAlertsResponse {
  readonly cursor: string;
  readonly total: number;
  readonly indexes: Float64Array;
  readonly alerts: readonly HealthAlert[];
}

/** An execution or a graph execution trace of a dump, and a part of one of its tensors. */
export interface DebugEventRequest extends DebugSourceRequest {
  /** Default: `"execution"`. */
  readonly kind?: 'execution' | 'graph_execution';
  /** Default: `0`. */
  readonly index?: number;
  /** Default: `0`. */
  readonly slot?: number;
  /** Default: `0`. */
  readonly first_row?: number;
}

/** One execution or trace. */
export interface DebugEventResponse {
  readonly cursor: string;
  readonly kind: string;
  readonly index: number;
  readonly wall_time: number;
  readonly op_type: string;
  readonly op_name: string;
  readonly graphs: readonly string[];
  readonly device: string;
  /** For a trace, the execution during which it was recorded. */
  readonly execution: number | null;
  /** For an execution of a function, the first and the last trace that it recorded. */
  readonly graph_executions: readonly [number, number] | null;
  readonly inputs: readonly string[];
  /** For an execution, those that produced its inputs. */
  readonly input_executions: readonly (number | null)[];
  readonly tensors: readonly TensorSummaryRow[];
  readonly stack: readonly SourceLine[];
}

/** What went wrong. Counts of a recording are 0 where they belong to dumps, and vice versa. */
export interface DebugOverviewResponse {
  readonly cursor: string;
  readonly source: DebugSourceRow;
  readonly root_cause: RootCause | null;
  readonly alerts: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly executions: number;
  readonly graph_executions: number;
  readonly graphs: number;
  /** Host and path. */
  readonly source_files: readonly (readonly [string, string])[];
  readonly steps: number;
  readonly tensors: number;
  readonly notes: readonly Sentence[];
  readonly damage: readonly DumpDamageRow[];
  /** What to look at, for the root cause of a recording. */
  readonly curve: StatCurve | null;
  /** Tensors that were stored when a value became non-finite. */
  readonly values: readonly string[];
  /** Random number generators whose state was stored then. */
  readonly random_states: readonly string[];
}

/** A dump or recording by its name. */
export interface DebugSourceRequest {
  readonly source: string;
}

/** A dump or recording of the log. */
export interface DebugSourceRow {
  readonly name: string;
  readonly run: string;
  readonly kind: 'dump' | 'recording';
  readonly framework: string;
  readonly version: string;
  /** The step of the root cause of a recording; None if another rank has the cause. */
  readonly problem_step: number | null;
  /** The wall time of the root cause of a recording, or of the first NaN or Inf of a dump. */
  readonly problem_time: number | null;
  readonly problem: Problem | null;
}

/** All dumps and recordings. */
export interface DebugSourcesResponse {
  readonly cursor: string;
  readonly sources: readonly DebugSourceRow[];
}

/** What differs: the operation itself, or a property of its output. */
export type DifferenceKind =
  | 'operation'
  | 'dtype'
  | 'shape'
  | 'size'
  | 'non_finite'
  | 'nan'
  | 'neg_inf'
  | 'pos_inf'
  | 'negative'
  | 'zero'
  | 'positive'
  | 'value';

/** A part of a dump that is missing or cannot be read. */
export interface DumpDamageRow {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  readonly reason: Sentence;
}

/** An event of the first dump, and how its counterpart in the second differs. */
export interface DumpDifferenceRow {
  readonly event: 'execution' | 'graph_execution';
  readonly index: number;
  readonly other_index: number;
  readonly op_type: string;
  readonly op_name: string;
  readonly slot: number;
  readonly kind: DifferenceKind;
  readonly first: string;
  readonly second: string;
  /** Position of the first value that differs. */
  readonly element: readonly number[] | null;
}

/** Rows of executions or traces. `health` is 0 unknown, 1 finite, 2 non-finite. */
export interface EventColumns {
  readonly cursor: string;
  readonly total: number;
  readonly index: Float64Array;
  readonly wall_time: Float64Array;
  readonly op_type: readonly string[];
  readonly op_name: readonly string[];
  readonly slot: Int32Array;
  readonly graph: readonly string[];
  readonly health: Uint8Array;
  /** Where the event of `locate` is, or would be, among the rows that match. */
  readonly position: number | null;
}

/** Executions and traces counted in intervals of time, in seconds since the start. */
export interface ExecutionTimelineRequest extends DebugSourceRequest {
  readonly start_s?: number | null;
  readonly end_s?: number | null;
  /** Default: `500`. */
  readonly columns?: number;
}

/** Counts per interval of the same width. Times are in seconds since the start. */
export interface ExecutionTimelineResponse {
  readonly cursor: string;
  readonly start_s: number;
  readonly end_s: number;
  readonly executions: Float64Array;
  readonly graph_executions: Float64Array;
  readonly non_finite: Float64Array;
  /** Number of executions before the first interval. */
  readonly first_execution: number;
  readonly first_graph_execution: number;
  /** The start as a wall time. */
  readonly origin: number;
  /** Time between the first and the last event. */
  readonly duration_s: number;
}

/** One alert. Numbers that are not recorded are None. */
export interface HealthAlert {
  readonly kind:
    | 'nan'
    | 'inf'
    | 'nan_or_inf'
    | 'overflow'
    | 'underflow'
    | 'exploding_gradient'
    | 'vanishing_gradient'
    | 'dead_units'
    | 'constant_output'
    | 'loss_scale'
    | 'shape_change'
    | 'retracing';
  /** Type of the operation or of the layer. */
  readonly op_type: string;
  /** Name of the operation, or of the tensor of a recording. */
  readonly op_name: string;
  readonly output_slot: number;
  readonly wall_time: number;
  readonly step: number | null;
  readonly size: number | null;
  readonly nan: number | null;
  readonly neg_inf: number | null;
  readonly pos_inf: number | null;
  /** Index of the execution in the dump. */
  readonly execution: number | null;
  /** Index of the graph execution trace in the dump. */
  readonly graph_execution: number | null;
  readonly dtype: string;
  /** What the tensor of a recording is, such as `gradient`. */
  readonly role: string;
  /** Row of the tensor in the recording. */
  readonly tensor: number | null;
  readonly message: string;
  /** With `args`, what the page translates the message by. */
  readonly code: string;
  readonly args: Readonly<Record<string, string | number>>;
}

/** A statistic of all tensors over the steps of a recording. */
export interface HeatmapRequest extends DebugSourceRequest {
  /** Default: `"norm"`. */
  readonly stat?: Statistic;
  /** Default: `[]`. */
  readonly roles?: readonly string[];
  /** Default: `""`. */
  readonly query?: string;
  readonly first_step?: number | null;
  readonly last_step?: number | null;
  /** Default: `500`. */
  readonly columns?: number;
}

/**
 * `values` are the rows of a matrix, one after another. It has a row for each of `tensors` and a
 * column for each interval of steps. Intervals of several steps hold the largest value. NaN means
 * not computed.
 */
export interface HeatmapResponse {
  readonly cursor: string;
  readonly tensors: readonly WatchedTensorRow[];
  readonly first_step: Float64Array;
  readonly last_step: Float64Array;
  readonly values: Float32Array;
}

/** An input of the operation that went wrong. */
export interface InputSummary {
  readonly name: string;
  /** None if it was not recorded. */
  readonly is_finite: boolean | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly zeros: number | null;
  readonly negatives: number | null;
  readonly size: number | null;
  readonly shape: readonly number[] | null;
  readonly dtype: string;
}

/** The part of a graph around its first node; edges are pairs of indexes of nodes. */
export interface NeighborhoodGraph {
  readonly nodes: readonly NeighborhoodNode[];
  readonly edges: readonly (readonly [number, number])[];
  readonly is_truncated: boolean;
}

/** A node of a part of a graph: an operation of a dump, or a tensor of a recording. */
export interface NeighborhoodNode {
  readonly name: string;
  readonly type: string;
  /** What the tensor of a recording is; empty for an operation. */
  readonly role: string;
  /** 0 unknown, 1 finite, 2 non-finite. */
  readonly health: number;
  /** Row of the tensor of a recording. */
  readonly tensor: number | null;
}

/** An operation next to another one. */
export interface OpNeighborRow {
  readonly op_name: string;
  readonly op_type: string;
  readonly slot: number;
  /** Of its last trace: 0 unknown, 1 finite, 2 non-finite. */
  readonly health: number;
}

/** An operation of a graph. */
export interface OpRequest extends DebugSourceRequest {
  readonly graph: string;
  readonly op_name: string;
}

/** An operation with what it is computed from and what uses it. */
export interface OpResponse {
  readonly cursor: string;
  readonly graph: string;
  readonly graph_names: readonly string[];
  readonly op_name: string;
  readonly op_type: string;
  readonly inputs: readonly OpNeighborRow[];
  readonly consumers: readonly OpNeighborRow[];
  readonly neighborhood: NeighborhoodGraph;
  readonly traces: number;
  readonly stack: readonly SourceLine[];
}

/** The first non-finite value, or the problem that began first. */
export interface RootCause {
  readonly kind:
    | 'nan'
    | 'inf'
    | 'nan_or_inf'
    | 'overflow'
    | 'underflow'
    | 'exploding_gradient'
    | 'vanishing_gradient'
    | 'dead_units'
    | 'constant_output'
    | 'loss_scale'
    | 'shape_change'
    | 'retracing';
  readonly op_type: string;
  readonly op_name: string;
  /** One sentence: what happened, where and when. */
  readonly message: string;
  /** What is wrong, for gradual problems; `code` and `args` translate it. */
  readonly detail: string;
  readonly code: string;
  readonly args: Readonly<Record<string, string | number>>;
  /** What to look at or to change; `hint_code` and `hint_args` translate it. */
  readonly hint: string;
  readonly hint_code: string;
  readonly hint_args: Readonly<Record<string, string | number>>;
  /** What the tensor of a recording is, such as `gradient`. */
  readonly role: string;
  /** Row of the tensor in the recording. */
  readonly tensor: number | null;
  readonly dtype: string;
  readonly size: number | null;
  readonly nan: number | null;
  readonly neg_inf: number | null;
  readonly pos_inf: number | null;
  readonly output_slot: number;
  readonly step: number | null;
  readonly execution: number | null;
  readonly graph_execution: number | null;
  readonly inputs: readonly InputSummary[];
  readonly source: SourceLine | null;
  readonly stack: readonly SourceLine[];
  /** Number of later alerts, which are mostly consequences. */
  readonly followers: number;
  /** False if what happened before is not recorded, such as in a circular buffer. */
  readonly is_certain: boolean;
}

/**
 * Rows of executions or of graph execution traces. `query` is a part of the type or name of an
 * operation; `op_name` and `graph` select the traces of one operation. `locate` is the index of an
 * event whose position is wanted.
 */
export interface RowsRequest extends DebugSourceRequest {
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `""`. */
  readonly graph?: string;
  /** Default: `""`. */
  readonly op_name?: string;
  /** Default: `false`. */
  readonly only_non_finite?: boolean;
  readonly locate?: number | null;
  /** Default: `0`. */
  readonly offset?: number;
  /** Default: `200`. */
  readonly limit?: number;
}

/** A source file of a dump or recording. */
export interface SourceFileRequest extends DebugSourceRequest {
  readonly path: string;
  readonly host?: string | null;
}

/** The lines of a source file; null if it was not stored. */
export interface SourceFileResponse {
  readonly path: string;
  readonly lines: readonly string[] | null;
}

/** A line of the user's program. */
export interface SourceLine {
  readonly path: string;
  readonly line: number;
  readonly function: string;
  readonly code: string;
  /** Whether the file belongs to a package or to Python itself. */
  readonly is_library: boolean;
}

/** A statistic of one tensor over the steps, or the loss scale (`loss_scale`). */
export interface StatCurve {
  readonly stat: string;
  readonly step: Float64Array;
  readonly value: Float32Array;
}

export type Statistic =
  | 'nan'
  | 'neg_inf'
  | 'pos_inf'
  | 'non_finite'
  | 'zeros'
  | 'negatives'
  | 'min'
  | 'max'
  | 'mean'
  | 'std'
  | 'norm'
  | 'overflow'
  | 'underflow'
  | 'dead';

/** A tensor that a recording stored when a value became non-finite. */
export interface StoredValueRequest extends DebugSourceRequest {
  readonly name: string;
  /** Default: `0`. */
  readonly first_row?: number;
}

/** A stored tensor of a recording. */
export interface StoredValueResponse {
  readonly cursor: string;
  readonly name: string;
  readonly step: number;
  readonly tensor: TensorSummaryRow;
}

/** A tensor of a graph, in the executions up to that with the index `last`. */
export interface TensorHistogramRequest extends DebugSourceRequest {
  readonly graph: string;
  readonly op_name: string;
  readonly last: number;
  /** Default: `0`. */
  readonly slot?: number;
}

/**
 * Histograms of the finite values of a tensor, one per execution, in mode FULL_TENSOR. `counts` are
 * the rows of a matrix, one after another, with a row for each of `index`.
 */
export interface TensorHistogramResponse {
  readonly cursor: string;
  /** The graph executions. */
  readonly index: Float64Array;
  /** Of the bins; one more than there are bins. */
  readonly edges: Float64Array;
  readonly counts: Float32Array;
  readonly non_finite: Float64Array;
}

/** What a dump contains of a tensor. Unknown numbers are null. */
export interface TensorSummaryRow {
  readonly mode: string;
  readonly dtype: string | null;
  readonly rank: number | null;
  readonly size: number | null;
  readonly shape: readonly (number | null)[] | null;
  readonly nan: number | null;
  readonly neg_inf: number | null;
  readonly pos_inf: number | null;
  readonly negative: number | null;
  readonly zero: number | null;
  readonly positive: number | null;
  readonly has_non_finite: boolean | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Some rows of the tensor as a table, one after another, in mode FULL_TENSOR. */
  readonly values: Float64Array | null;
  /** Rows of the whole table; its columns are the last dimension of the tensor. */
  readonly rows: number;
  /** Columns in `values`, which may be fewer than the tensor has. */
  readonly columns: number;
}

/**
 * Histograms of a tensor over the steps, from a sample of its finite values. `shares` are the rows
 * of a matrix, one after another, with a row for each of `step`; 255 is all values.
 */
export interface WatchedTensorHistogram {
  readonly step: Float64Array;
  /** Of the bins; one more than there are bins. */
  readonly edges: Float64Array;
  readonly shares: Uint8Array;
}

/** A tensor of a recording, by its row in the layout. */
export interface WatchedTensorRequest extends DebugSourceRequest {
  readonly tensor: number;
}

/** All statistics of one tensor over the steps. */
export interface WatchedTensorResponse {
  readonly cursor: string;
  readonly tensor: WatchedTensorRow;
  readonly inputs: readonly WatchedTensorRow[];
  readonly consumers: readonly WatchedTensorRow[];
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly stats: Readonly<Record<string, Float32Array>>;
  readonly stack: readonly SourceLine[];
  readonly histogram: WatchedTensorHistogram | null;
  /** Marked by the health at the step of the root cause, or at the last step. */
  readonly neighborhood: NeighborhoodGraph;
}

/** A watched tensor. */
export interface WatchedTensorRow {
  readonly tensor: number;
  readonly name: string;
  readonly role: string;
  readonly type: string;
  readonly dtype: string;
  readonly size: number;
  readonly shape: readonly number[];
  readonly source: SourceLine | null;
}

// ---- Dashboard: fairness

/** Requests and responses by method and path below `api/v1/fairness/`. */
export interface FairnessRoutes {
  /** Return the evaluations of the log, without reading them. */
  readonly 'POST evaluations': {
    readonly request: EvaluationsRequest;
    readonly response: EvaluationsResponse;
  };
  /** Return the evaluations of the log, without reading them. */
  readonly 'GET evaluations': {
    readonly request: EvaluationsRequest;
    readonly response: EvaluationsResponse;
  };
  /** Return slices, metrics and values with intervals of one model of an evaluation. */
  readonly 'POST result': {
    readonly request: ResultRequest;
    readonly response: ResultResponse;
  };
  /** Return slices, metrics and values with intervals of one model of an evaluation. */
  readonly 'GET result': {
    readonly request: ResultRequest;
    readonly response: ResultResponse;
  };
  /** Return differences to a baseline slice or another evaluation, and the largest gaps. */
  readonly 'POST difference': {
    readonly request: DifferenceRequest;
    readonly response: DifferenceResponse;
  };
  /** Return ROC, PR and calibration curves, score distributions and confusion matrices. */
  readonly 'POST plots': {
    readonly request: PlotsRequest;
    readonly response: PlotsResponse;
  };
  /** Return a metric of some slices at each step. */
  readonly 'POST history': {
    readonly request: FairnessHistoryRequest;
    readonly response: FairnessHistoryResponse;
  };
  /** Return the file and the conditions by which What-If shows the rows of a slice. */
  readonly 'GET datapoints': {
    readonly request: SliceDatapointsRequest;
    readonly response: SliceDatapointsResponse;
  };
  /** Return a result as CSV or JSON, or as a section of a model card in Markdown. */
  readonly 'GET export': {
    readonly request: FairnessExportRequest;
    readonly response: Blob;
  };
}

export interface AttributionRow {
  readonly slice: string;
  readonly metric: string;
  readonly feature: string;
  readonly value: number | string;
}

/**
 * A metric at a threshold, and the class or average of a multi-class model. `direction` is `higher`
 * or `lower` if such values are better, else `neutral`.
 */
export interface ColumnRow {
  readonly metric: string;
  readonly threshold: number | null;
  readonly output: string | null;
  readonly direction: string;
}

/** Weights by label (rows) and predicted class (columns), row-major. */
export interface ConfusionRow {
  readonly slice: number;
  readonly classes: readonly string[];
  readonly weight: Float64Array;
}

export type CorrectionName = 'none' | 'bonferroni' | 'holm' | 'benjamini-hochberg';

/**
 * Differences to a baseline slice, or to the same slices of another evaluation. With `other`, each
 * slice is compared with the slice of the same name of that evaluation, and `baseline` is ignored.
 */
export interface DifferenceRequest {
  readonly id: string;
  readonly model?: string | null;
  /** Default: `"Overall"`. */
  readonly baseline?: string;
  readonly columns?: readonly number[] | null;
  /** Default: `"holm"`. */
  readonly correction?: CorrectionName;
  readonly other?: string | null;
  readonly other_model?: string | null;
  /** Default: `50`. */
  readonly max_gaps?: number;
}

/**
 * Differences of slices and metric columns (row-major), NaN where undefined. `gaps` lists the
 * largest differences, significant ones first. `columns` are positions in the columns of the
 * result.
 */
export interface DifferenceResponse {
  readonly slices: readonly string[];
  readonly columns: readonly number[];
  readonly baseline_value: Float64Array;
  readonly difference: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly relative: Float64Array;
  readonly relative_lower: Float64Array;
  readonly relative_upper: Float64Array;
  readonly p_value: Float64Array;
  readonly adjusted_p_value: Float64Array;
  readonly comparisons: number;
  readonly gaps: readonly GapRow[];
}

/**
 * An evaluation that can be opened. `kind` is `logged` (by `tracklight.fairness`), `summary` (a
 * path in an event file) or `folder` (found below a log directory); folders have no step.
 */
export interface EvaluationRow {
  readonly id: string;
  readonly run: string;
  readonly tag: string;
  readonly step: number | null;
  readonly wall_time: number | null;
  readonly kind: string;
  readonly version: string;
}

/** The evaluations of some runs; of all runs by default. Folders are always listed. */
export interface EvaluationsRequest {
  readonly runs?: readonly string[] | null;
}

export interface EvaluationsResponse {
  readonly cursor: string;
  readonly evaluations: readonly EvaluationRow[];
}

/** A metric that is outside its bounds. */
export interface FailureRow {
  readonly slice: string;
  readonly metric: string;
  readonly value: number | string;
  readonly bounds: string;
  readonly message: string;
}

export type FairnessExportFormat = 'csv' | 'json' | 'markdown';

/** A result as a file: a table as CSV or JSON, or a section of a model card as Markdown. */
export interface FairnessExportRequest {
  readonly id: string;
  readonly model?: string | null;
  /** Default: `"csv"`. */
  readonly format?: FairnessExportFormat;
  /** Default: `"Overall"`. */
  readonly baseline?: string;
}

/** A metric of some slices over the steps of a logged evaluation. */
export interface FairnessHistoryRequest {
  readonly run: string;
  readonly tag: string;
  readonly metric: string;
  readonly slices: readonly string[];
  readonly threshold?: number | null;
  readonly output?: string | null;
}

/** One value per step; NaN where a slice or the metric is missing at a step. */
export interface FairnessHistoryResponse {
  readonly cursor: string;
  readonly steps: Float64Array;
  readonly wall_time: Float64Array;
  readonly ids: readonly string[];
  readonly series: readonly HistorySeries[];
  readonly problems: readonly Problem[];
}

/** One of the largest differences; positions refer to the slices and columns of the response. */
export interface GapRow {
  readonly slice: number;
  readonly column: number;
  readonly difference: number;
  readonly significant: boolean;
}

export interface HistorySeries {
  readonly slice: string;
  readonly value: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly count: Float64Array;
}

export interface ModelRow {
  readonly name: string;
  readonly is_baseline: boolean;
}

/**
 * The curves of one slice and output. A score is positive if it is greater than the threshold.
 * Thresholds descend.
 */
export interface PlotRow {
  readonly slice: number;
  readonly output: string;
  readonly roc_threshold: Float64Array;
  readonly false_positive_rate: Float64Array;
  readonly true_positive_rate: Float64Array;
  readonly pr_threshold: Float64Array;
  readonly precision: Float64Array;
  readonly recall: Float64Array;
  readonly calibration_edges: Float64Array;
  readonly mean_score: Float64Array;
  readonly positive_share: Float64Array;
  readonly calibration_weight: Float64Array;
  readonly distribution_edges: Float64Array;
  readonly negative: Float64Array;
  readonly positive: Float64Array;
}

/** The plots of some slices, by position; of all outputs, or one of a multi-class model. */
export interface PlotsRequest {
  readonly id: string;
  readonly slices: readonly number[];
  readonly model?: string | null;
  readonly output?: string | null;
  /** Default: `10`. */
  readonly buckets?: 5 | 10 | 20;
}

/** `missing` are slices without plots; `exact` is false if scores were binned. */
export interface PlotsResponse {
  readonly plots: readonly PlotRow[];
  readonly confusion: readonly ConfusionRow[];
  readonly missing: readonly number[];
  readonly exact: boolean;
}

/**
 * One evaluation; `model` is needed if it has several models. Without `columns`, all metric columns
 * are returned. `replicates` includes the values of the jackknife or bootstrap replicates.
 */
export interface ResultRequest {
  readonly id: string;
  readonly model?: string | null;
  readonly columns?: readonly number[] | null;
  /** Default: `false`. */
  readonly replicates?: boolean;
}

/**
 * Slices, metric columns, and values with their intervals (NaN where undefined). `keys` are the
 * pairs of column and value of each slice. `problems` are files that could not be read, `warnings`
 * rows that were left out, `omitted` slices below the minimum size. `has_replicates` tells whether
 * intervals of differences take shared rows into account; `replicates` has their values by
 * replicate, slice and column if they were requested.
 */
export interface ResultResponse {
  readonly id: string;
  readonly model: string;
  readonly models: readonly ModelRow[];
  readonly task: string;
  readonly slices: readonly string[];
  readonly keys: readonly (readonly (readonly [string, string])[])[];
  readonly counts: Float64Array;
  readonly columns: readonly ColumnRow[];
  readonly value: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly method: string;
  readonly samples: number;
  readonly confidence: number;
  readonly has_replicates: boolean;
  readonly replicates: Float64Array | null;
  readonly plot_slices: Float64Array;
  readonly outputs: readonly string[];
  readonly warnings: readonly Sentence[];
  readonly omitted: readonly string[];
  readonly problems: readonly Sentence[];
  readonly validation: ValidationRow | null;
  readonly attributions: readonly AttributionRow[];
  readonly columns_used: Readonly<Record<string, string>>;
}

/** A row fits if its value equals `value`, is missing, or is in a range. */
export interface RowCondition {
  readonly column: string;
  readonly value: string | null;
  readonly is_missing: boolean;
  /** From here on. */
  readonly low: number | null;
  /** Below here, or up to here if `is_closed`. */
  readonly high: number | null;
  readonly is_closed: boolean;
}

/** The rows of a slice, for What-If. */
export interface SliceDatapointsRequest {
  readonly id: string;
  readonly model?: string | null;
  /** Default: `"Overall"`. */
  readonly slice?: string;
}

/**
 * Where What-If finds the rows of a slice, or why it cannot. `prediction` are the columns with
 * scores, one for each class of a multi-class model.
 */
export interface SliceDatapointsResponse {
  readonly path: string;
  readonly label: string;
  readonly prediction: readonly string[];
  readonly task: string;
  readonly conditions: readonly RowCondition[];
  readonly problem: Sentence | null;
}

/** Whether the model passed the thresholds of its configuration. */
export interface ValidationRow {
  readonly ok: boolean;
  readonly failures: readonly FailureRow[];
  readonly missing_slices: readonly string[];
  readonly has_no_thresholds: boolean;
  readonly is_rubber_stamped: boolean;
  readonly checked_slices: number;
}

// ---- Dashboard: profile

/** Requests and responses by method and path below `api/v1/profile/`. */
export interface ProfileRoutes {
  /** List all captures of the log, by run and time. */
  readonly 'GET captures': {
    readonly request: Empty;
    readonly response: CapturesResponse;
  };
  /** Return the progress of reading a capture, without starting to read it. */
  readonly 'GET opening': {
    readonly request: CaptureRequest;
    readonly response: OpeningResponse;
  };
  /** List the tools, and why some of them have nothing to show of a capture. */
  readonly 'GET tools': {
    readonly request: CaptureRequest;
    readonly response: ToolsResponse;
  };
  /** Return the average step of every host of a capture. */
  readonly 'GET hosts': {
    readonly request: CaptureRequest;
    readonly response: HostsResponse;
  };
  /** Download a capture file as it is, or in the Chrome trace format for Perfetto. */
  readonly 'GET file': {
    readonly request: CaptureFileRequest;
    readonly response: Blob;
  };
  /**
   * Open a capture file: XPlane, Chrome trace or memory profile. It is kept until the server stops
   * or eight other files have been uploaded.
   */
  readonly 'POST upload': {
    readonly request: CaptureUploadRequest;
    readonly response: CaptureRow;
  };
  /** Return the overview of a capture: steps, where their time went, and findings. */
  readonly 'GET overview': {
    readonly request: CaptureRequest;
    readonly response: ProfileSummary;
  };
  /** Return what the time of every step went into. */
  readonly 'GET steps': {
    readonly request: CaptureRequest;
    readonly response: ProfileStepsResponse;
  };
  /** Return how long the program waited for input, stage by stage. */
  readonly 'GET input': {
    readonly request: CaptureRequest;
    readonly response: InputAnalysis;
  };
  /** Return the tracks, the duration and the steps of a trace. */
  readonly 'POST timeline': {
    readonly request: CaptureRequest;
    readonly response: TimelineResponse;
  };
  /**
   * Return what is visible of some tracks, in tiles of one level of detail. Neighboring events that
   * are shorter than 2 ** level ps and start in the same cell of that width are one entry: `count`
   * is their number and `event` the longest of them.
   */
  readonly 'POST timeline/tiles': {
    readonly request: TilesRequest;
    readonly response: Tiles;
  };
  /** Return the arguments, stack, children and flows of an event, and its rank by name. */
  readonly 'POST timeline/event': {
    readonly request: EventRequest;
    readonly response: EventDetails;
  };
  /**
   * Search the whole trace for events by name, or also by argument. All words of the query have to
   * occur, in any order. An asterisk matches anything. A query in quotation marks has to be the
   * whole name. Arguments are searched as `key=value`.
   */
  readonly 'POST timeline/search': {
    readonly request: ProfileSearchRequest;
    readonly response: SearchResult;
  };
  /** Sum up the events of some tracks in a range of time, by name and by track. */
  readonly 'POST timeline/selection': {
    readonly request: TimeRangeRequest;
    readonly response: SelectionSummary;
  };
  /** Return the positions of selected events, and sum them up by name. */
  readonly 'POST timeline/events': {
    readonly request: EventSetRequest;
    readonly response: EventSet;
  };
  /** Return recorded counters, the memory in use and the queues of devices in a range. */
  readonly 'POST timeline/counters': {
    readonly request: CountersRequest;
    readonly response: CountersResponse;
  };
  /** Return the flows between some tracks in a range of time, as from launches to kernels. */
  readonly 'POST timeline/flows': {
    readonly request: TimeRangeRequest;
    readonly response: FlowArrows;
  };
  /** Return the notes that users added at times of a trace. */
  readonly 'GET timeline/notes': {
    readonly request: CaptureRequest;
    readonly response: TimeNotesResponse;
  };
  /** Add a note at a time. Notes are stored beside those on the log. */
  readonly 'POST timeline/add-note': {
    readonly request: AddNoteRequest;
    readonly response: TimeNotesResponse;
  };
  /** Delete a note. */
  readonly 'POST timeline/delete-note': {
    readonly request: DeleteNoteRequest;
    readonly response: TimeNotesResponse;
  };
  /** Return calls merged by their stack, for a flame graph or call tree. */
  readonly 'GET calls': {
    readonly request: CallTreeRequest;
    readonly response: CallTreeResponse;
  };
  /** Return how long each op took, with and without nested ops. */
  readonly 'GET ops': {
    readonly request: CaptureRequest;
    readonly response: OpsResponse;
  };
  /** Return PyTorch's operators or modules with their time on the host and on devices. */
  readonly 'GET operators': {
    readonly request: OperatorsRequest;
    readonly response: OperatorsResponse;
  };
  /** Return the kernels that ran on devices, and how they were launched. */
  readonly 'GET kernels': {
    readonly request: CaptureRequest;
    readonly response: KernelsResponse;
  };
  /** Return collectives by kind and size with their bandwidth, exposed and overlapped. */
  readonly 'GET communication': {
    readonly request: CaptureRequest;
    readonly response: CommunicationResponse;
  };
  /** Return the collectives of all ranks on one time axis, and how long each rank waited. */
  readonly 'GET communication/ranks': {
    readonly request: CaptureRequest;
    readonly response: RanksResponse;
  };
  /** Return memory over time, what was in use at the peak, and leaks. */
  readonly 'GET memory': {
    readonly request: CaptureRequest;
    readonly response: MemoryResponse;
  };
  /** Return what a memory profile holds, by the line of code that allocated it. */
  readonly 'GET heap': {
    readonly request: CaptureRequest;
    readonly response: HeapResponse;
  };
  /** Return a snapshot of PyTorch's CUDA allocator: memory over time and at the peak. */
  readonly 'GET memory/snapshot': {
    readonly request: CaptureRequest;
    readonly response: SnapshotResponse;
  };
  /** Return what XLA's programs keep in memory when they need most. */
  readonly 'GET memory/buffers': {
    readonly request: CaptureRequest;
    readonly response: BuffersResponse;
  };
  /** Return the XLA programs of a capture, and how long their instructions took. */
  readonly 'GET program': {
    readonly request: CaptureRequest;
    readonly response: ProgramsResponse;
  };
  /** Return the text of an XLA program with the time of each line. */
  readonly 'GET program/text': {
    readonly request: ProgramTextRequest;
    readonly response: ProgramTextResponse;
  };
  /** Return FLOPs, bytes and time of ops, and the peak rates of their device. */
  readonly 'GET roofline': {
    readonly request: CaptureRequest;
    readonly response: RooflineResponse;
  };
  /**
   * Run a SQL query over the events, steps, ops and kernels of a capture. It runs in a process
   * without access to files and networks, within limits of time and memory. At most 10,000 rows are
   * returned.
   */
  readonly 'POST query': {
    readonly request: SqlQueryRequest;
    readonly response: QueryResult;
  };
  /** Return the tables that queries can read, with their columns. */
  readonly 'GET query/tables': {
    readonly request: CaptureRequest;
    readonly response: QueryTablesResponse;
  };
  /** Return the saved queries. */
  readonly 'GET query/saved': {
    readonly request: Empty;
    readonly response: SavedQueriesResponse;
  };
  /** Save a query under a name, or delete it. */
  readonly 'POST query/save': {
    readonly request: SaveQueryRequest;
    readonly response: SavedQueriesResponse;
  };
  /** Return what changed since another capture: parts of a step, ops and findings. */
  readonly 'GET compare': {
    readonly request: CaptureRequest;
    readonly response: Comparison;
  };
  /** Return whether another capture is of the same program. */
  readonly 'GET compare/same-program': {
    readonly request: CaptureRequest;
    readonly response: SameProgramResponse;
  };
}

/** A note to add to a capture. */
export interface AddNoteRequest extends CaptureRequest {
  readonly time_ps: number;
  readonly text: string;
}

/**
 * Groups of equal allocations, largest first. `bytes` and `requested` are totals of each group.
 * `regions` is `before` for memory that was in use before the capture, mostly weights. `events` are
 * the first allocations, -1 if they are not in the capture. `steps` is, for leaks, the number of
 * steps that made such an allocation.
 */
export interface AllocationColumns {
  readonly ops: readonly string[];
  readonly bytes: Float64Array;
  readonly requested: Float64Array;
  readonly counts: Int32Array;
  readonly regions: readonly string[];
  readonly types: readonly string[];
  readonly shapes: readonly string[];
  readonly events: Int32Array;
  readonly steps: Int32Array;
}

/**
 * An allocator and columns of its use over time: `ms` since the start, and bytes. If there are too
 * many events, minima and maxima are kept. `capacity` is null if unknown.
 */
export interface AllocatorRow {
  readonly name: string;
  readonly is_device: boolean;
  readonly allocations: number;
  readonly frees: number;
  readonly capacity: number | null;
  readonly peak: MemoryPeak;
  readonly ms: Float64Array;
  readonly heap: Float64Array;
  readonly stack: Float64Array;
  readonly cache: Float64Array;
  readonly events: Int32Array;
  /** What was in use at the peak. */
  readonly peak_allocations: AllocationColumns;
  readonly leaks: AllocationColumns;
  /** Heap in use at the end of each step. */
  readonly step_heap_bytes: Float64Array;
}

export type BufferKind = 'parameter' | 'output' | 'constant' | 'temporary';

/** Programs with a buffer assignment, largest first. */
export interface BuffersResponse {
  readonly programs: readonly ProgramMemoryRow[];
}

/**
 * Calls to merge by their stack. `first_step` and `last_step` are indexes; -1 for all of the
 * capture. `tracks` are threads or streams; all if empty. With `below`, only calls of this name and
 * what they called. With a `baseline`, the trees of both captures are merged, without their tracks.
 */
export interface CallTreeRequest extends CaptureRequest {
  /** Default: `"host"`. */
  readonly time_on?: TimeOn;
  /** Default: `"all"`. */
  readonly frames?: FrameKind;
  /** Default: `-1`. */
  readonly first_step?: number;
  /** Default: `-1`. */
  readonly last_step?: number;
  /** Default: `[]`. */
  readonly tracks?: readonly number[];
  /** Default: `""`. */
  readonly below?: string;
}

/**
 * Nodes of a tree, each after its parent, which is -1 for a root. `names` are indexes into
 * `unique_names`. Times are totals over `steps` steps. `events` are the longest events, -1 for
 * tracks. The columns of the baseline are empty without one.
 */
export interface CallTreeResponse {
  readonly unique_names: readonly string[];
  readonly names: Int32Array;
  readonly parents: Int32Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly self_ms: Float64Array;
  readonly events: Int32Array;
  readonly baseline_total_ms: Float64Array;
  readonly baseline_self_ms: Float64Array;
  readonly steps: number;
  readonly baseline_steps: number;
  /** Nodes with too little time to be drawn. */
  readonly omitted_nodes: number;
  readonly tracks: readonly CallTreeTrack[];
  readonly step_names: readonly string[];
  readonly frame_kinds: readonly FrameKind[];
  readonly has_device: boolean;
}

/** A thread or stream that calls can be selected from; `id` as in the timeline. */
export interface CallTreeTrack {
  readonly id: number;
  readonly name: string;
  readonly is_device: boolean;
}

/** A capture file: as it is, or in the Chrome trace format, which Perfetto opens. */
export interface CaptureFileRequest extends CaptureRequest {
  /** Default: `"original"`. */
  readonly format?: 'original' | 'chrome';
}

/** A "snapshot" is that of PyTorch's CUDA allocator. */
export type CaptureKind = 'xplane' | 'chrome' | 'pprof' | 'snapshot';

/** A capture by its `id` in the listing, and one of its hosts; by default the first. */
export interface CaptureRequest {
  readonly capture: string;
  /** Default: `""`. */
  readonly host?: string;
  /** Name of the events that mark steps; detected if empty. Default: `""`. */
  readonly marker?: string;
  /** Default: `"ours"`. */
  readonly rules?: StepRules;
  /** Id of another capture to compare with. Default: `""`. */
  readonly baseline?: string;
  /** Default: `""`. */
  readonly baseline_host?: string;
  /** Version of the capture. With it, the response can be cached forever. */
  readonly version?: number | null;
  /** Thresholds of findings in percent, if not the defaults: `input:10,host:30`. Default: `""`. */
  readonly thresholds?: string;
}

/**
 * A capture. Its `version` changes when one of its files does; null in a static export. `run` is
 * empty for an uploaded capture.
 */
export interface CaptureRow {
  readonly id: string;
  readonly run: string;
  readonly session: string;
  readonly title: string;
  readonly kind: CaptureKind;
  readonly wall_s: number;
  /** The last step at which the run logged a scalar before the capture; null if it logged none. */
  readonly step: number | null;
  readonly bytes: number;
  readonly version: number | null;
  readonly hosts: readonly HostRow[];
}

/** An uploaded capture; `body` is its content. */
export interface CaptureUploadRequest {
  readonly name: string;
  /** The body of the HTTP request. */
  readonly body: Blob;
}

/** All captures, by run and time. */
export interface CapturesResponse {
  readonly cursor: string;
  readonly captures: readonly CaptureRow[];
}

/** Memory of one category over time, in bytes. */
export interface CategoryColumn {
  readonly name: string;
  readonly bytes: Float64Array;
  /** In use at the peak of all categories together. */
  readonly peak_bytes: number;
}

export type ColumnType = 'number' | 'text' | 'bool';

/**
 * Collectives by kind, size, group and algorithm, longest total time first. `bytes` and bandwidths
 * (bytes/s) are NaN if unknown; they are those of nccl-tests. `group_sizes` are 0 if unknown.
 * `best_bus_bandwidths` are those of the shortest calls.
 */
export interface CommunicationResponse {
  readonly devices: readonly DeviceCommunication[];
  readonly kinds: readonly string[];
  readonly groups: readonly string[];
  readonly group_sizes: Int32Array;
  readonly bytes: Float64Array;
  readonly algorithms: readonly string[];
  readonly protocols: readonly string[];
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly min_ms: Float64Array;
  readonly max_ms: Float64Array;
  readonly exposed_ms: Float64Array;
  readonly algorithm_bandwidths: Float64Array;
  readonly bus_bandwidths: Float64Array;
  readonly best_bus_bandwidths: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
}

/** What changed between two captures; the 200 ops that changed most. */
export interface Comparison {
  readonly verdict: readonly Sentence[];
  readonly step: StepPair;
  readonly parts: readonly PartPair[];
  readonly ops: readonly OpPair[];
  readonly findings: readonly FindingPair[];
  readonly environment: readonly FactPair[];
}

export type CounterKind = 'memory' | 'queue' | 'recorded';

/**
 * The part of a counter in a range of time. From each time to the next it had the value, or if
 * there are too many changes, at most the value. `peak` is the highest value of the whole capture,
 * `low` the lowest if it is negative and otherwise 0.
 */
export interface CounterTrack {
  readonly kind: CounterKind;
  readonly name: string;
  /** The process or device of a recorded counter. */
  readonly process: string;
  readonly peak: number;
  readonly low: number;
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** A range of time in picoseconds; `cells` is the number of values that can be shown. */
export interface CountersRequest extends CaptureRequest {
  /** Default: `0.0`. */
  readonly start?: number;
  /** Default: `0.0`. */
  readonly end?: number;
  /** Default: `1000`. */
  readonly cells?: number;
}

/** The counters of a capture: recorded ones, memory in use, and queues of devices. */
export interface CountersResponse {
  readonly counters: readonly CounterTrack[];
}

/** A note to delete. */
export interface DeleteNoteRequest extends CaptureRequest {
  /** Default: `""`. */
  readonly id?: string;
}

/** How long a device communicated. Collectives at the same time count once. */
export interface DeviceCommunication {
  readonly name: string;
  readonly total_ms: number;
  /** While no other kernel computed. */
  readonly exposed_ms: number;
  readonly compute_ms: number;
}

/** A device. Unknown numbers are 0, unknown texts are empty. */
export interface DeviceRow {
  readonly name: string;
  readonly multiprocessors: number;
  readonly memory_bytes: number;
  readonly capability: string;
}

/** How long a device was busy, over all its streams. */
export interface DeviceUse {
  readonly name: string;
  /** Of an average step; `idle_ms` is the rest of the step. */
  readonly busy_ms: number;
  readonly idle_ms: number;
  /** Of the whole capture. */
  readonly total_ms: number;
  /** Of the whole capture, in no step: launched before, between or after the steps. */
  readonly outside_ms: number;
  /** Idle between its first and its last event, because the next work was not yet launched. */
  readonly host_wait_ms: number;
  /** Idle although the next work was launched, for less than 30 µs. */
  readonly kernel_wait_ms: number;
  /** Idle for other or unknown reasons. */
  readonly other_wait_ms: number;
}

/** A property of the program or the machine it ran on. */
export interface EnvironmentFact {
  readonly name: Sentence;
  readonly value: Sentence;
}

export interface EventArgument {
  readonly key: string;
  readonly value: number | string;
}

/** A rectangle of the timeline: a range of time in neighboring lanes of a track. */
export interface EventBox {
  readonly start: number;
  readonly end: number;
  readonly track: number;
  readonly first_lane: number;
  readonly last_lane: number;
}

export interface EventDetails {
  readonly row: EventRow;
  readonly category: string;
  readonly self_ps: number;
  readonly arguments: readonly EventArgument[];
  /** Enclosing events, outermost first. */
  readonly stack: readonly EventRow[];
  /** Direct children by name. */
  readonly children: readonly NameRow[];
  /** Sources of flows to this event. */
  readonly incoming: readonly EventRow[];
  /** Targets of flows from this event. */
  readonly outgoing: readonly EventRow[];
  readonly same_name: SameNameStats;
}

/** An event by its number in the trace. */
export interface EventRequest extends CaptureRequest {
  /** Default: `0`. */
  readonly event?: number;
}

export interface EventRow {
  readonly event: number;
  readonly name: string;
  readonly track: number;
  readonly lane: number;
  readonly start_ps: number;
  readonly duration_ps: number;
}

/**
 * Selected events, with sums of their whole durations. The columns have a row per event, by start;
 * of very many events, only the first.
 */
export interface EventSet {
  readonly count: number;
  readonly total_ps: number;
  /** Without the time of children, selected or not. */
  readonly self_ps: number;
  /** Number of unique names, of which only the longest are listed. */
  readonly unique_names: number;
  readonly names: readonly SelectedName[];
  readonly event: Int32Array;
  readonly track: Int32Array;
  readonly lane: Int32Array;
  readonly start_ps: Float64Array;
  readonly duration_ps: Float64Array;
}

/**
 * Events by their numbers, and those in rectangles. An event that is in a rectangle and also given
 * by its number is left out.
 */
export interface EventSetRequest extends CaptureRequest {
  /** Default: `[]`. */
  readonly events?: readonly number[];
  /** Default: `[]`. */
  readonly boxes?: readonly EventBox[];
}

/** An event that proves a finding, or with `is_gap` the time after it without events. */
export interface EvidenceRow {
  readonly event: number;
  readonly is_gap: boolean;
  readonly name: string;
  readonly track: string;
  readonly start_ps: number;
  readonly duration_ps: number;
}

/** A difference in the environment. */
export interface FactPair {
  readonly name: Sentence;
  /** Null if only the other capture has it. */
  readonly before: Sentence | null;
  readonly after: Sentence | null;
}

/** Something to change in the program. */
export interface Finding {
  readonly name: string;
  readonly title: Sentence;
  /** What was measured. */
  readonly summary: Sentence;
  /** Share of a step. */
  readonly share: number;
  /** The values for which it is reported. */
  readonly threshold: Sentence;
  readonly advice: readonly Sentence[];
  /** Lines to paste; empty if there are none. */
  readonly code: string;
  /** Time of a step that would be saved if all of it went away. */
  readonly savings_ms: number;
  /** The longest events, at most twenty. */
  readonly evidence: readonly EvidenceRow[];
  readonly events: number;
  /** A search of the trace for the events with the longest total time. */
  readonly query: string;
  /** Start and end of the step with the longest event. */
  readonly start_ps: number;
  readonly end_ps: number;
}

/** How a finding changed, by the time it would save. */
export interface FindingPair {
  readonly name: string;
  readonly title: Sentence;
  readonly state: 'gone' | 'new' | 'less' | 'more' | 'same';
  readonly before_ms: number;
  readonly after_ms: number;
}

/** Columns of the arrows to draw; `count` is the number of visible flows. */
export interface FlowArrows {
  readonly count: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly source_track: Int32Array;
  readonly target_track: Int32Array;
  readonly source_lane: Int32Array;
  readonly target_lane: Int32Array;
  /** Start of the source event. */
  readonly source_ps: Float64Array;
  readonly target_ps: Float64Array;
}

/** Memory of a device when the snapshot was taken, in bytes. */
export interface FragmentationRow {
  readonly reserved: number;
  readonly active: number;
  readonly requested: number;
  /** Free, in segments that are partly in use. */
  readonly split_free: number;
  readonly unused_segments: number;
  readonly largest_free: number;
  /** Share of the free memory outside of the largest free block; null without any. */
  readonly share: number | null;
}

export type FrameKind = 'all' | 'ops' | 'python' | 'modules';

/**
 * The program that recorded a trace. "python" is the built-in sampler, "chrome" any other writer of
 * the Chrome trace format.
 */
export type Framework = 'tensorflow' | 'torch' | 'jax' | 'python' | 'chrome';

/**
 * Samples of a memory profile, largest first. `locations` are function, file and line in the user's
 * code. `stacks` are call stacks, one frame per line, innermost first. `total_bytes` includes
 * samples that were left out.
 */
export interface HeapResponse {
  readonly locations: readonly string[];
  readonly stacks: readonly string[];
  readonly kinds: readonly string[];
  readonly devices: readonly string[];
  readonly counts: Int32Array;
  readonly bytes: Float64Array;
  readonly total_bytes: number;
}

/** The file of one host of a capture. */
export interface HostRow {
  readonly name: string;
  readonly bytes: number;
}

/** The average step of one host; `step_ms` is null if its file cannot be read. */
export interface HostStepRow {
  readonly name: string;
  readonly step_ms: number | null;
  readonly parts_ms: Readonly<Record<string, number>>;
  readonly problem: Problem | null;
}

/** All hosts of a capture, by name. */
export interface HostsResponse {
  readonly hosts: readonly HostStepRow[];
}

/**
 * How long an average step waits for input (`ms`), and behind other work (`hidden_ms`). `copy_ms`
 * is the time of copying data to the device while nothing is computed, which is not part of `ms`.
 */
export interface InputAnalysis {
  readonly share: number;
  readonly ms: number;
  readonly hidden_ms: number;
  readonly copy_ms: number;
  readonly verdict: readonly Sentence[];
  readonly parts: readonly InputPart[];
  readonly pipelines: readonly PipelineRow[];
  readonly loaders: readonly LoaderRow[];
  readonly findings: readonly Finding[];
  /** Why there is neither a pipeline nor a loader; null if there is one. */
  readonly empty_reason: Sentence | null;
}

/**
 * Time of an average step in which the program waited for this kind of work only. The parts add up
 * to the waiting time of the step.
 */
export interface InputPart {
  readonly name: string;
  readonly label: Sentence;
  readonly description: Sentence;
  readonly ms: number;
  readonly share: number;
}

/**
 * Kernels, longest total time first; one row per kernel, op and launch configuration. `grids` and
 * `blocks` are comma-separated sizes. `occupancy` is in percent, NaN if unknown; `occupancy_kind`
 * says whether it is the maximum for the launch or an estimate of what was achieved. `fill` is the
 * share of the multiprocessors that the grid has blocks for. `tensor_cores` is 0 for no, 1 for yes
 * and 2 for unknown; `eligible` is 1 if the kernel could use them.
 */
export interface KernelsResponse {
  readonly devices: readonly DeviceRow[];
  readonly names: readonly string[];
  readonly ops: readonly string[];
  readonly types: readonly string[];
  readonly grids: readonly string[];
  readonly blocks: readonly string[];
  readonly registers: Int32Array;
  readonly shared_bytes: Int32Array;
  readonly occupancy: Float32Array;
  readonly occupancy_kind: 'theoretical' | 'achieved';
  readonly fill: Float32Array;
  readonly tensor_cores: Uint8Array;
  readonly eligible: Uint8Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly min_ms: Float64Array;
  readonly max_ms: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
}

/**
 * What was in use at the peak, by the stack that allocated it, largest first. `categories` are
 * names of categories. `locations` are the innermost frames in the user's code. `stacks` have one
 * frame per line, innermost first.
 */
export interface LiveColumns {
  readonly categories: readonly string[];
  readonly locations: readonly string[];
  readonly stacks: readonly string[];
  readonly bytes: Float64Array;
  readonly counts: Int32Array;
  readonly largest: Float64Array;
}

/** A PyTorch DataLoader and the waits for its batches. */
export interface LoaderRow {
  readonly name: string;
  readonly calls: number;
  readonly total_ms: number;
  readonly mean_ms: number;
  readonly max_ms: number;
  /** The longest wait. */
  readonly event: number;
}

/** State of an allocator when most memory was in use. Unknown numbers are null. */
export interface MemoryPeak {
  readonly ms: number;
  readonly event: number;
  readonly heap: number;
  readonly stack: number;
  readonly cache: number;
  readonly free: number | null;
  readonly fragmentation: number | null;
  /** Most memory in use since the start of the program. */
  readonly lifetime_peak_bytes: number | null;
}

/** All allocators, those of devices first; start and end of steps in milliseconds. */
export interface MemoryResponse {
  readonly allocators: readonly AllocatorRow[];
  readonly step_names: readonly string[];
  readonly step_starts: Float64Array;
  readonly step_ends: Float64Array;
}

/** Events of one name. */
export interface NameRow {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  readonly total_ps: number;
  /** The longest event. */
  readonly longest: number;
}

/** Names by their id. */
export interface NameTable {
  readonly ids: Int32Array;
  readonly texts: readonly string[];
}

/** Self time and number of calls of an op per step; 0 if it did not run. */
export interface OpPair {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly before_count: number;
  readonly after_count: number;
  readonly before_ms: number;
  readonly after_ms: number;
  readonly delta_ms: number;
}

/** Total self time and number of op calls on the host and on devices. */
export interface OpPlacement {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly host_ops: number;
  readonly device_ops: number;
}

/** An op. `share` is its share of the self time of all ops on the same side. */
export interface OpRow {
  readonly name: string;
  readonly type: string;
  readonly side: 'host' | 'device';
  readonly count: number;
  readonly total_ms: number;
  readonly self_ms: number;
  readonly share: number;
  /** The longest call. */
  readonly event: number;
}

/** Progress of reading a capture; `share` is null if it is not being read. */
export interface OpeningResponse {
  readonly state: 'idle' | 'opening' | 'failed' | 'ready';
  readonly share: number | null;
  /** Size of the file. */
  readonly bytes: number;
  readonly problem: Problem | null;
}

export type OperatorGrouping = 'name' | 'shape' | 'stack' | 'module';

export type OperatorKind = 'op' | 'annotation' | 'call';

/** The operators of a capture, by name, input shapes, stack or module. */
export interface OperatorsRequest extends CaptureRequest {
  /** Default: `"name"`. */
  readonly group_by?: OperatorGrouping;
}

/**
 * PyTorch's operators: longest self time on devices first, or modules as a tree. `groups` are the
 * shapes of the inputs, or the innermost frames of the stack, one per line. `depths` say how deep
 * modules are nested. `longest` is the longest call of each row.
 */
export interface OperatorsResponse {
  /** What this capture can be grouped by. */
  readonly groupings: readonly OperatorGrouping[];
  readonly names: readonly string[];
  readonly groups: readonly string[];
  readonly kinds: readonly OperatorKind[];
  readonly depths: Int32Array;
  readonly counts: Int32Array;
  readonly host_self_ms: Float64Array;
  readonly host_total_ms: Float64Array;
  readonly device_self_ms: Float64Array;
  readonly device_total_ms: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
}

/**
 * Ops, longest self time first. `sides` are 0 for the host, 1 for devices and 2 for Python
 * functions. `longest` is the longest event of each op. `steps` is the number of steps of the
 * capture.
 */
export interface OpsResponse {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly sides: Uint8Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly self_ms: Float64Array;
  readonly longest: Int32Array;
  readonly host_idle_ms: number;
  readonly device_idle_ms: number;
  readonly steps: number;
}

/** A call that failed for lack of memory; `free_bytes` of the device is null if unknown. */
export interface OutOfMemoryRow {
  readonly ms: number;
  readonly requested_bytes: number;
  readonly free_bytes: number | null;
  readonly location: string;
}

/** How long host and devices were busy in an average step. */
export interface Overlap {
  readonly host_ms: number;
  readonly device_ms: number;
  readonly both_ms: number;
  readonly neither_ms: number;
}

/** Time of every step in one part, in milliseconds. */
export interface PartColumns {
  readonly name: string;
  readonly label: Sentence;
  /** Every instant counted once, for the part of the highest priority. */
  readonly exclusive_ms: Float64Array;
  /** As if there were no other part. */
  readonly inclusive_ms: Float64Array;
}

/** Time of an average step in one part. */
export interface PartPair {
  readonly name: string;
  readonly label: Sentence;
  readonly before_ms: number;
  readonly after_ms: number;
  readonly before_hidden_ms: number;
  readonly after_hidden_ms: number;
}

/** Time of an average step in one part. */
export interface PartTime {
  readonly name: string;
  readonly label: Sentence;
  readonly ms: number;
  readonly share: number;
  /** Time that ran behind a part of higher priority. */
  readonly hidden_ms: number;
  readonly description: Sentence;
}

export interface PipelineRow {
  /** From 1. */
  readonly number: number;
  readonly stages: readonly StageRow[];
}

/** TF32 are numbers of 32 bits on tensor cores; FP16 is also bfloat16. */
export type PrecisionName = 'fp4' | 'fp8' | 'fp16' | 'tf32' | 'fp32' | 'fp64' | 'unknown';

/** FLOP/s of all devices in one precision. The peak is null if it is unknown. */
export interface PrecisionRate {
  readonly precision: PrecisionName;
  readonly flops_per_s: number;
  readonly peak_flops_per_s: number | null;
}

/** How long kernels ran in each precision. */
export interface PrecisionTimes {
  /** In at most 16 bits. */
  readonly low_ms: number;
  /** In at most 8 bits; a part of `low_ms`. */
  readonly byte_ms: number;
  readonly full_ms: number;
  readonly unknown_ms: number;
  /** Share of the time of known precision; null if there is none. */
  readonly low_share: number | null;
}

/**
 * A search for names, and with `arguments` for arguments of events. The query is a list of words,
 * or with `regex` a regular expression. `offset` is the number of matching events to skip.
 */
export interface ProfileSearchRequest extends CaptureRequest {
  /** Default: `""`. */
  readonly query?: string;
  /** Default: `false`. */
  readonly regex?: boolean;
  /** Default: `false`. */
  readonly arguments?: boolean;
  /** Default: `0`. */
  readonly offset?: number;
}

/** Columns with one row per step, in milliseconds. */
export interface ProfileStepsResponse {
  readonly names: readonly string[];
  readonly start_ms: Float64Array;
  readonly total_ms: Float64Array;
  readonly parts: readonly PartColumns[];
  readonly other_ms: Float64Array;
  /** The steps that averages are taken over. */
  readonly averaged: StepRange;
}

/** The overview of the capture of one host. */
export interface ProfileSummary {
  readonly events: number;
  readonly span_ms: number;
  readonly framework: Framework;
  /** How the steps were found. */
  readonly step_rule: Sentence;
  readonly markers: readonly StepMarker[];
  readonly steps: StepTimes;
  readonly parts: readonly PartTime[];
  readonly overlap: Overlap | null;
  readonly devices: readonly DeviceUse[];
  readonly placement: OpPlacement;
  readonly precision: PrecisionTimes;
  readonly ops: readonly OpRow[];
  readonly environment: readonly EnvironmentFact[];
  readonly findings: readonly Finding[];
  /** The thresholds of the findings. */
  readonly thresholds: readonly ThresholdRow[];
  readonly problems: readonly Sentence[];
}

/** What a program of XLA keeps in memory at its peak, largest first. */
export interface ProgramMemoryRow {
  readonly name: string;
  readonly allocated_bytes: number;
  readonly peak_bytes: number;
  /** Whether it is known which temporary values are live at the same time. */
  readonly has_order: boolean;
  readonly kinds: readonly BufferKind[];
  readonly instructions: readonly string[];
  readonly scopes: readonly string[];
  readonly sources: readonly string[];
  readonly bytes: Float64Array;
  readonly omitted: number;
}

/** An XLA program; `index` identifies it in requests for its text. */
export interface ProgramRow {
  readonly index: number;
  readonly name: string;
  readonly module_id: number;
  readonly instructions: number;
  readonly total_ms: number;
}

/** The text of the XLA program with the index `program`. */
export interface ProgramTextRequest extends CaptureRequest {
  /** Default: `0`. */
  readonly program?: number;
}

/**
 * The lines of a program; `ms` is NaN for lines that did not run on their own. `omitted_lines` is
 * the number of lines that were left out at the end.
 */
export interface ProgramTextResponse {
  readonly name: string;
  readonly lines: readonly string[];
  /** The instruction of each line; empty for none. */
  readonly names: readonly string[];
  readonly ms: Float64Array;
  readonly omitted_lines: number;
}

/**
 * XLA programs and their executed instructions, longest total time first. `program_indices` are
 * indices into `programs`. `scopes` are the framework's names of what an instruction was compiled
 * from, with slashes between their parts. `flops` and `bytes` are computed from shapes, for all
 * runs together; NaN if unknown. `unmapped_ms` is the device time of events that belong to no known
 * instruction.
 */
export interface ProgramsResponse {
  readonly programs: readonly ProgramRow[];
  readonly names: readonly string[];
  readonly opcodes: readonly string[];
  readonly kinds: readonly string[];
  readonly scopes: readonly string[];
  readonly sources: readonly string[];
  readonly shapes: readonly string[];
  readonly program_indices: Int32Array;
  readonly counts: Int32Array;
  readonly total_ms: Float64Array;
  readonly flops: Float64Array;
  readonly bytes: Float64Array;
  readonly longest: Int32Array;
  readonly unmapped_ms: number;
  readonly steps: number;
}

/** A column of a result. Integers beyond 2 ** 53, dates and nested values are texts. */
export interface QueryColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: readonly (boolean | number | string | null)[];
}

/** The result of a query. */
export interface QueryResult {
  readonly columns: readonly QueryColumn[];
  /** Whether rows were left out at the end. */
  readonly has_more: boolean;
}

/** A table that queries can read. */
export interface QueryTable {
  readonly name: string;
  readonly rows: number;
  readonly columns: readonly QueryTableColumn[];
}

/** A column that queries can use. */
export interface QueryTableColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** The tables of a capture. */
export interface QueryTablesResponse {
  readonly tables: readonly QueryTable[];
}

/**
 * A rank and its collectives on the time axis of all ranks, in milliseconds. `wait_ms` is the part
 * of each collective before the last rank was ready, NaN if it was found on no other rank.
 * `offset_ms` was added to the times of the rank, as clocks differ.
 */
export interface RankRow {
  readonly rank: number;
  readonly host: string;
  readonly offset_ms: number;
  readonly collectives: number;
  readonly total_wait_ms: number;
  readonly transfer_ms: number;
  /** How often it was the last rank that was ready. */
  readonly last_count: number;
  readonly exposed_ms: number;
  readonly kinds: readonly string[];
  readonly start_ms: Float64Array;
  readonly duration_ms: Float64Array;
  readonly wait_ms: Float64Array;
}

/** All ranks of a capture; `matched` is the number of collectives found on several ranks. */
export interface RanksResponse {
  readonly ranks: readonly RankRow[];
  readonly matched: number;
  /** Hosts whose file cannot be read. */
  readonly unreadable: readonly string[];
}

/** Peak rate of a device in one precision; all but `fp32` are on tensor cores. */
export interface Roof {
  readonly precision: 'fp32' | 'tf32' | 'fp16' | 'fp8' | 'fp4';
  readonly flops_per_s: number;
}

/**
 * Ops with a known cost, longest self time first. `flops` and `bytes` are computed from shapes, for
 * all calls together. `roofs` is empty if the peak rates of the device are unknown; `is_estimate`
 * if they were computed from its units.
 */
export interface RooflineResponse {
  readonly device: string;
  readonly roofs: readonly Roof[];
  readonly bytes_per_s: number;
  readonly is_estimate: boolean;
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly counts: Int32Array;
  readonly self_ms: Float64Array;
  readonly flops: Float64Array;
  readonly bytes: Float64Array;
  readonly longest: Int32Array;
  readonly steps: number;
  readonly utilization: Utilization | null;
}

/** How an event compares with all events of the same name. */
export interface SameNameStats {
  readonly count: number;
  readonly total_ps: number;
  readonly mean_ps: number;
  readonly min_ps: number;
  readonly max_ps: number;
  /** Position of the event among them by start, from 0. */
  readonly index: number;
  /** How many took longer. */
  readonly rank: number;
  readonly previous: number | null;
  readonly next: number | null;
  readonly longest: number;
}

/** Whether two captures have enough ops in common to be of the same program. */
export interface SameProgramResponse {
  readonly is_same_program: boolean;
}

/** A query to save under a name; null deletes it. */
export interface SaveQueryRequest {
  readonly name: string;
  readonly sql?: string | null;
}

/** All saved queries, by name. */
export interface SavedQueriesResponse {
  readonly queries: readonly SavedQuery[];
}

/** A SQL query that was saved under a name, for all captures. */
export interface SavedQuery {
  readonly name: string;
  readonly sql: string;
}

/** The matching events: totals over all of them, and columns of one page. */
export interface SearchResult {
  readonly count: number;
  readonly total_ps: number;
  /** By total duration, longest first. */
  readonly names: readonly NameRow[];
  /** All matching names. */
  readonly name_ids: Int32Array;
  /** One bit per event of the trace if arguments were searched; empty otherwise. */
  readonly matches: Uint8Array;
  /** Number of matching events, by start, before the first one in the columns. */
  readonly offset: number;
  readonly event: Int32Array;
  readonly track: Int32Array;
  readonly lane: Int32Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  /** For each thousandth of the trace, whether it contains a match. */
  readonly marks: Uint8Array;
}

/**
 * Segments, largest first, and their blocks. `block_segments` are indices of segments.
 * `block_offsets` and `block_sizes` are in bytes. `block_categories` are indices of categories, -1
 * for free blocks.
 */
export interface SegmentColumns {
  readonly sizes: Float64Array;
  readonly active: Float64Array;
  readonly largest_free: Float64Array;
  readonly streams: Int32Array;
  readonly kinds: readonly string[];
  readonly block_segments: Int32Array;
  readonly block_offsets: Float64Array;
  readonly block_sizes: Float64Array;
  readonly block_categories: Int32Array;
  readonly omitted_segments: number;
}

/** For how much of the range at least one kernel or copy of a device ran. */
export interface SelectedDevice {
  readonly name: string;
  readonly busy_ps: number;
  readonly idle_ps: number;
}

/** Events of one name. In a range of time, `total_ps` and `self_ps` count only their part in it. */
export interface SelectedName {
  readonly id: number;
  readonly text: string;
  readonly count: number;
  readonly total_ps: number;
  readonly self_ps: number;
  readonly min_ps: number;
  readonly max_ps: number;
  readonly longest: number;
}

/** For how much of the range at least one event of a track ran. */
export interface SelectedTrack {
  readonly track: number;
  readonly count: number;
  readonly busy_ps: number;
}

export interface SelectionSummary {
  readonly count: number;
  /** Number of unique names, of which only the longest are listed. */
  readonly unique_names: number;
  readonly names: readonly SelectedName[];
  readonly tracks: readonly SelectedTrack[];
  /** The devices of the selected tracks, over all their streams. */
  readonly devices: readonly SelectedDevice[];
}

/**
 * The memory of a device. If there are too many calls, minima and maxima are kept. `ms` is the time
 * since the first call, or the number of the call without `has_times`.
 */
export interface SnapshotDevice {
  readonly device: number;
  readonly calls: number;
  readonly has_times: boolean;
  /** Whether the recorded calls explain all memory in use. */
  readonly is_complete: boolean;
  readonly ms: Float64Array;
  readonly categories: readonly CategoryColumn[];
  readonly reserved: Float64Array;
  readonly peak_ms: number;
  readonly peak_bytes: number;
  readonly peak_reserved_bytes: number;
  readonly live: LiveColumns;
  readonly fragmentation: FragmentationRow;
  readonly segments: SegmentColumns;
  readonly out_of_memory: readonly OutOfMemoryRow[];
}

/** A snapshot: its devices, and the settings of the allocator. */
export interface SnapshotResponse {
  readonly devices: readonly SnapshotDevice[];
  readonly settings: Readonly<Record<string, string>>;
}

/** A SELECT statement in the dialect of DuckDB. */
export interface SqlQueryRequest extends CaptureRequest {
  /** Default: `""`. */
  readonly sql?: string;
}

/** A stage of a pipeline; times per average step, summed over all threads. */
export interface StageRow {
  readonly id: number;
  readonly name: string;
  readonly op: string;
  readonly parent: number | null;
  readonly calls: number;
  readonly total_ms: number;
  readonly self_ms: number;
  /** How long the program waited for this stage and no other. */
  readonly critical_ms: number;
  readonly parallelism: number | null;
  readonly is_slowest: boolean;
  readonly advice: Sentence | null;
  /** The longest call. */
  readonly event: number;
}

/** The timeline of a static export, with the exported tiles of all tracks, and counters. */
export interface StaticTimeline {
  readonly timeline: TimelineResponse;
  readonly tiles: Tiles;
  readonly counters: CountersResponse;
}

/** The steps of a trace, in picoseconds. */
export interface StepColumns {
  /** How the steps were found. */
  readonly rule: Sentence;
  readonly names: readonly string[];
  readonly start_ps: Float64Array;
  readonly end_ps: Float64Array;
}

/** Events that could mark steps. */
export interface StepMarker {
  readonly name: string;
  readonly count: number;
}

/** Duration of an average step. */
export interface StepPair {
  readonly before_ms: number;
  readonly after_ms: number;
}

/** The indexes of some consecutive steps, without `stop`; an array in JSON. */
export type StepRange = readonly [start: number, stop: number];

/** "ours" are the rules of this module; "xprof" are those of `analysis.profiles.xprof`. */
export type StepRules = 'ours' | 'xprof';

/** Durations of steps. Averages leave out the first and the last of many steps. */
export interface StepTimes {
  readonly count: number;
  /** Number of steps that the other numbers are computed from. */
  readonly averaged: number;
  readonly mean_ms: number;
  readonly median_ms: number;
  readonly min_ms: number;
  readonly max_ms: number;
  readonly std_ms: number;
}

/** Threshold of a finding, in percent of a step; for precision, of the device's compute time. */
export interface ThresholdRow {
  readonly name: string;
  readonly title: Sentence;
  readonly percent: number;
  readonly default: number;
}

/** The tiles from `first` to `last` of a level of detail. */
export interface TileRange {
  readonly level: number;
  readonly first: number;
  readonly last: number;
}

/** Columns of the visible entries, sorted by tile, track, lane and start. */
export interface Tiles {
  /** Where the entries of each track end: all tracks of the first tile, then of the next. */
  readonly ends: Int32Array;
  readonly lane: Uint8Array;
  readonly start: Float64Array;
  readonly duration: Float64Array;
  /** The longest event of the entry. */
  readonly event: Int32Array;
  readonly count: Int32Array;
  readonly name: Int32Array;
  readonly hue: Uint8Array;
  /** Share of the time in which an event ran, from 0 to 255. */
  readonly busy: Uint8Array;
  /** Names of the entries that are wide enough for a label. */
  readonly names: NameTable;
}

/** The tiles from `first` to `last` of some tracks; each is 1,024 * 2 ** level ps wide. */
export interface TilesRequest extends CaptureRequest {
  /** Default: `0`. */
  readonly level?: number;
  /** Default: `0`. */
  readonly first?: number;
  /** Default: `0`. */
  readonly last?: number;
  /** Default: `[]`. */
  readonly tracks?: readonly number[];
}

/** A note at a time, in picoseconds since the start of the capture. */
export interface TimeNote {
  readonly id: string;
  readonly time_ps: number;
  readonly text: string;
}

/** The notes of a capture, by time. */
export interface TimeNotesResponse {
  readonly notes: readonly TimeNote[];
}

export type TimeOn = 'host' | 'device';

/** A range of time in some tracks, in picoseconds. */
export interface TimeRangeRequest extends CaptureRequest {
  /** Default: `0.0`. */
  readonly start?: number;
  /** Default: `0.0`. */
  readonly end?: number;
  /** Default: `[]`. */
  readonly tracks?: readonly number[];
}

/** An overview of a trace. Times are picoseconds since the start of the capture. */
export interface TimelineResponse {
  readonly start_ps: number;
  readonly end_ps: number;
  readonly events: number;
  /** In display order: the main thread, devices, other threads. */
  readonly tracks: readonly TrackRow[];
  readonly steps: StepColumns;
  /** Number of flows between events. */
  readonly flows: number;
  readonly has_counters: boolean;
  readonly problems: readonly Sentence[];
  /** The only tiles there are, in a static export; null with a server. */
  readonly exported: TileRange | null;
}

/** A tool of the dashboard; if it is empty, `empty_reason` and `hint` say why. */
export interface ToolRow {
  readonly name: string;
  readonly empty_reason: Sentence | null;
  readonly hint: Sentence | null;
}

/** All tools in display order, whether or not they have something to show. */
export interface ToolsResponse {
  readonly tools: readonly ToolRow[];
  /** What is missing in the file or was corrected while reading it. */
  readonly problems: readonly Sentence[];
  /** Whether only a part of the file could be read. */
  readonly is_partial: boolean;
  /** Whether the rules of xprof can be applied: only to captures without a device. */
  readonly has_xprof_rules: boolean;
}

/** A track in the viewer. */
export interface TrackRow {
  readonly id: number;
  readonly process: string;
  readonly name: string;
  readonly is_device: boolean;
  readonly is_main: boolean;
  readonly lanes: number;
  readonly events: number;
  /** For how long at least one event ran. */
  readonly busy_ps: number;
}

/**
 * What the devices achieved together, from the first event on one of them to the last. Idle time is
 * included. Rates are computed from the ops of known cost, whose share of the time of all device
 * ops is `known_share`. Peak rates are null if they are unknown.
 */
export interface Utilization {
  readonly window_ms: number;
  readonly devices: number;
  /** Of all devices. Ops of unknown cost are not counted, so it may be more. */
  readonly flops_per_s: number;
  /** If every input and output is transferred once. */
  readonly bytes_per_s: number;
  readonly known_share: number;
  /** The one of most matrix products and convolutions, by FLOPs. */
  readonly precision: PrecisionName;
  /** If each precision ran at its peak; null if one of them is unknown. */
  readonly peak_flops_per_s: number | null;
  readonly peak_bytes_per_s: number | null;
  /** Most FLOPs first. Other ops than matrix products and convolutions are part of the first. */
  readonly precisions: readonly PrecisionRate[];
}

// ---- Dashboard: what_if

/** Requests and responses by method and path below `api/v1/what_if/`. */
export interface WhatIfRoutes {
  /** List the data files and model files that can be opened. */
  readonly 'GET files': {
    readonly request: Empty;
    readonly response: DataFilesResponse;
  };
  /** List the open data sets. */
  readonly 'GET sessions': {
    readonly request: Empty;
    readonly response: DataSessionsResponse;
  };
  /** Start to read data files that a link opens next; returns at once. */
  readonly 'GET read_ahead': {
    readonly request: ReadAheadRequest;
    readonly response: ReadAheadResponse;
  };
  /** Open data files as a new session. */
  readonly 'POST open': {
    readonly request: OpenRequest;
    readonly response: SessionInfo;
  };
  /** Describe an open data set with its columns and models. */
  readonly 'GET about': {
    readonly request: SessionRequest;
    readonly response: SessionInfo;
  };
  /** Close a data set; its edits are lost. Returns the others. */
  readonly 'POST close': {
    readonly request: SessionRequest;
    readonly response: DataSessionsResponse;
  };
  /** Choose the label, the inputs of models, and the names of the classes. */
  readonly 'POST configure': {
    readonly request: ConfigureRequest;
    readonly response: SessionInfo;
  };
  /** Connect to a model. Predictions are computed by the route `predict`. */
  readonly 'POST models': {
    readonly request: AddModelRequest;
    readonly response: SessionInfo;
  };
  /** Remove a model. */
  readonly 'DELETE models': {
    readonly request: ModelRequest;
    readonly response: SessionInfo;
  };
  /** Return columns for charts, of the data or computed from predictions. */
  readonly 'POST columns': {
    readonly request: DataColumnsRequest;
    readonly response: DataColumnsResponse;
  };
  /** Return all values of one row, and its predictions so far. */
  readonly 'GET row': {
    readonly request: RowRequest;
    readonly response: RowResponse;
  };
  /** Return an image of one row as PNG. */
  readonly 'GET image': {
    readonly request: RowImageRequest;
    readonly response: Blob;
  };
  /** Return how much each pixel of an image contributes to the prediction. */
  readonly 'POST saliency': {
    readonly request: SaliencyRequest;
    readonly response: SaliencyResponse;
  };
  /** Return how the images of a column are laid out on tiles. */
  readonly 'GET thumbnails': {
    readonly request: ThumbnailsRequest;
    readonly response: SpriteTiles;
  };
  /** Return small images of many rows as one PNG. */
  readonly 'GET thumbnail_tile': {
    readonly request: ThumbnailTileRequest;
    readonly response: Blob;
  };
  /** Change, add, duplicate, delete, reset or undo, and predict the changed row again. */
  readonly 'POST edit': {
    readonly request: RowEditRequest;
    readonly response: RowEditResponse;
  };
  /** Add a column with a value in one row, and predict that row again. */
  readonly 'POST feature': {
    readonly request: AddFeatureRequest;
    readonly response: RowEditResponse;
  };
  /**
   * Save a named set of rows as a column, for slices, colors and filters. Those of data files are
   * stored beside the notes on the log.
   */
  readonly 'POST slice': {
    readonly request: SaveSliceRequest;
    readonly response: SessionInfo;
  };
  /** Remove a named set of rows; the rows stay. */
  readonly 'DELETE slice': {
    readonly request: SliceRequest;
    readonly response: SessionInfo;
  };
  /**
   * Return the distance of all rows to one row. If it takes long, the response has the state of a
   * job instead; send the request again.
   */
  readonly 'POST distances': {
    readonly request: DistanceRequest;
    readonly response: DistancesResponse;
  };
  /**
   * Return the nearest rows with another prediction, and the smallest edits if requested. A search
   * that takes long is a job, whose result has them.
   */
  readonly 'POST counterfactuals': {
    readonly request: CounterfactualRequest;
    readonly response: CounterfactualsResponse;
  };
  /** Start the predictions of all new and edited rows. */
  readonly 'POST predict': {
    readonly request: ModelRequest;
    readonly response: ModelJobStatus;
  };
  /** Start partial dependence, or return the job of an equal request. */
  readonly 'POST dependence': {
    readonly request: DependenceRequest;
    readonly response: ModelJobStatus;
  };
  /** Start permutation importance, or return the job of an equal request. */
  readonly 'POST importance': {
    readonly request: FeatureImportanceRequest;
    readonly response: ModelJobStatus;
  };
  /** Start Shapley values, or return the job of an equal request. */
  readonly 'POST shapley': {
    readonly request: ShapleyRequest;
    readonly response: ModelJobStatus;
  };
  /** Return the state of a job, and its result when it is done. */
  readonly 'GET job': {
    readonly request: ModelJobRequest;
    readonly response: JobResult;
  };
  /** Cancel a job. */
  readonly 'DELETE job': {
    readonly request: ModelJobRequest;
    readonly response: ModelJobStatus;
  };
  /**
   * Return metrics by slice, and the counts at 101 thresholds of binary models. Of large tables,
   * the response may have the state of a job instead; send the request again.
   */
  readonly 'POST performance': {
    readonly request: PerformanceRequest;
    readonly response: PerformanceResponse;
  };
  /**
   * Return how the metrics of two models differ by slice, with intervals. Of large tables, the
   * response may have the state of a job instead; send the request again.
   */
  readonly 'POST comparison': {
    readonly request: ComparisonRequest;
    readonly response: ComparisonResponse;
  };
  /** Choose thresholds by a strategy. */
  readonly 'POST optimize': {
    readonly request: OptimizeRequest;
    readonly response: OptimizeResponse;
  };
  /** Return what a smaller gap of a rate between slices costs. */
  readonly 'POST frontier': {
    readonly request: FrontierRequest;
    readonly response: FrontierResponse;
  };
  /** Return statistics of all columns, and the drift to other open data sets. */
  readonly 'POST statistics': {
    readonly request: FeatureStatisticsRequest;
    readonly response: FeatureStatisticsResponse;
  };
  /** Return the rows with edits and predictions as CSV or JSON lines. */
  readonly 'GET export': {
    readonly request: DataExportRequest;
    readonly response: Blob;
  };
}

/**
 * A new column with a value in one row; the others are missing. With `is_input`, models get it
 * unless they name their inputs.
 */
export interface AddFeatureRequest extends RowRequest {
  readonly name: string;
  readonly type: 'integer' | 'float' | 'boolean' | 'string';
  readonly value: unknown;
  /** Default: `true`. */
  readonly is_input?: boolean;
}

/** A model to add; `features` are the columns that it gets, by default all inputs. */
export interface AddModelRequest extends SessionRequest {
  readonly spec: ModelSpec;
  /** Default: `"classification"`. */
  readonly task?: Task;
  readonly features?: readonly string[] | null;
}

/** Predictions that are columns of the data. */
export interface ColumnModel {
  readonly type: 'columns';
  readonly name: string;
  readonly columns: readonly string[];
}

/** The values of one column. Strings are codes, -1 for missing; numbers have NaN for missing. */
export interface ColumnValues {
  readonly name: string;
  readonly type: ValueType;
  readonly numbers: Float64Array | null;
  readonly codes: Int32Array | null;
  readonly categories: readonly string[];
}

/**
 * How the metrics of the model `other` differ from those of `model`. `thresholds` are those of
 * slices with two classes by name, with an empty name for all others; 0.5 by default.
 * `model_thresholds` are those of computed columns in `slice_by`, by model.
 */
export interface ComparisonRequest extends SessionRequest {
  readonly model: string;
  readonly other: string;
  /** Default: `[]`. */
  readonly slice_by?: readonly string[];
  /** Default: `{}`. */
  readonly buckets?: Readonly<Record<string, number | readonly number[] | QuantileBuckets>>;
  /** Default: `{}`. */
  readonly thresholds?: Readonly<Record<string, number>>;
  /** Default: `{}`. */
  readonly other_thresholds?: Readonly<Record<string, number>>;
  /** Default: `{}`. */
  readonly model_thresholds?: Readonly<Record<string, number>>;
  /** Default: `"bootstrap"`. */
  readonly intervals?: 'bootstrap' | 'jackknife' | 'exact' | 'none';
}

/**
 * Differences of metrics by slice, with intervals; the first slice is all rows. Metrics of models
 * with two classes are at the thresholds of the slices. Both models are resampled together, so the
 * intervals are those of the difference. They are not adjusted for the number of slices.
 */
export interface ComparisonResponse {
  readonly version: number;
  readonly slices: readonly string[];
  readonly differences: readonly MetricValues[];
  /** As in `PerformanceResponse`. */
  readonly status: ModelJobStatus | null;
}

/**
 * The label, the inputs of models, and the names of the classes; null keeps the last two.
 * `classes_path` is a text file with one class name per line.
 */
export interface ConfigureRequest extends SessionRequest {
  readonly label?: string | null;
  readonly features?: readonly string[] | null;
  readonly class_names?: readonly string[] | null;
  readonly classes_path?: string | null;
}

/**
 * The nearest rows with another prediction, and optionally the smallest edits. `embedding` is a
 * column of vectors by which rows are compared, instead of their features; with `by_attributions`,
 * those of the model are compared.
 */
export interface CounterfactualRequest extends RowRequest {
  /** Default: `"l1"`. */
  readonly metric?: Metric;
  /** Default: `{}`. */
  readonly weights?: Readonly<Record<string, number>>;
  readonly embedding?: string | null;
  /** Default: `false`. */
  readonly by_attributions?: boolean;
  readonly model?: string | null;
  /** Default: `1`. */
  readonly count?: number;
  /** Default: `[]`. */
  readonly locked?: readonly string[];
  readonly threshold?: number | null;
  readonly slice_thresholds?: SliceThresholds | null;
  /** Default: `false`. */
  readonly search_edits?: boolean;
  /** Default: `5`. */
  readonly max_changes?: number;
}

/**
 * The nearest rows with another prediction, and the smallest edits if requested. A search that
 * takes long is a job: `status` is set, and its result has the rows. The job is cancelled if its
 * state is not requested for some seconds.
 */
export interface CounterfactualsResponse {
  readonly rows: readonly Neighbor[];
  readonly edits: readonly EditSuggestion[];
  readonly status: ModelJobStatus | null;
}

/** A column of the data, or one that is computed from predictions. */
export interface DataColumnInfo {
  readonly name: string;
  readonly type: ValueType;
  readonly is_list: boolean;
  readonly is_sequence: boolean;
  readonly is_computed: boolean;
  readonly is_input: boolean;
  readonly missing: number;
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly distinct: number | null;
  /** Length of the vectors of an embedding. */
  readonly dimensions: number | null;
}

/** Columns of the data, or computed ones, for charts. */
export interface DataColumnsRequest extends SessionRequest {
  readonly names: readonly string[];
  /** Default: `0.5`. */
  readonly threshold?: number;
  readonly slice_thresholds?: SliceThresholds | null;
}

/** Columns for charts. `rows` are the numbers of the rows that are not deleted. */
export interface DataColumnsResponse {
  readonly version: number;
  readonly rows: Int32Array;
  readonly columns: readonly ColumnValues[];
}

/**
 * The rows with edits and predictions, as a file. `thresholds` are those of `models` with two
 * classes, in the same order; 0.5 by default.
 */
export interface DataExportRequest extends SessionRequest {
  /** Default: `"csv"`. */
  readonly format?: 'csv' | 'jsonl';
  /** Default: `[]`. */
  readonly models?: readonly string[];
  /** Default: `[]`. */
  readonly thresholds?: readonly number[];
  readonly slice_thresholds?: SliceThresholds | null;
}

/** A file that can be opened. */
export interface DataFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
}

/** Data files and model files, and what the server allows. */
export interface DataFilesResponse {
  readonly data: readonly DataFile[];
  readonly models: readonly DataFile[];
  readonly allow_model_execution: boolean;
  readonly model_hosts: readonly string[];
  readonly is_truncated: boolean;
}

/** All open data sets. */
export interface DataSessionsResponse {
  readonly sessions: readonly SessionInfo[];
}

/** The partial dependence of one feature, or of a pair. Matrices are flattened row by row. */
export interface DependenceCurve {
  readonly features: readonly string[];
  readonly values: readonly (readonly unknown[])[];
  readonly is_numeric: readonly boolean[];
  readonly class_names: readonly string[];
  readonly mean: Float64Array;
  readonly standard_error: Float64Array;
  /** Curves of some rows: rows x points x classes. */
  readonly individual: Float32Array;
  readonly rows: Int32Array;
  readonly variation: number;
  /** The threshold of each varied copy of a row; empty without thresholds of slices. */
  readonly thresholds: Float64Array;
}

/**
 * Partial dependence of features, or of one pair if `is_pair`. `name[3]` is an item of a list.
 * Without features, all are evaluated; `items` then chooses items of lists, such as `0,2,4-6`. With
 * `slice_thresholds`, the curves of a `row` have the threshold of each varied copy; `threshold` is
 * that of all other slices.
 */
export interface DependenceRequest extends SessionRequest {
  /** Default: `[]`. */
  readonly features?: readonly string[];
  /** Default: `""`. */
  readonly items?: string;
  readonly model?: string | null;
  readonly row?: number | null;
  /** Default: `false`. */
  readonly is_pair?: boolean;
  /** Default: `10`. */
  readonly points?: number;
  /** Default: `"even"`. */
  readonly grid?: GridKind;
  readonly value_range?: readonly [number, number] | null;
  /** Default: `1000`. */
  readonly sample?: number;
  /** Default: `0`. */
  readonly curves?: number;
  /** Default: `0.5`. */
  readonly threshold?: number;
  readonly slice_thresholds?: SliceThresholds | null;
  /** Default: `0`. */
  readonly seed?: number;
}

/**
 * The distance of all rows to one row. Rows are compared by all features, by the vectors of the
 * column `embedding`, or `by_attributions` of a model.
 */
export interface DistanceRequest extends RowRequest {
  /** Default: `"l1"`. */
  readonly metric?: Metric;
  /** Default: `{}`. */
  readonly weights?: Readonly<Record<string, number>>;
  readonly embedding?: string | null;
  /** Default: `false`. */
  readonly by_attributions?: boolean;
  readonly model?: string | null;
}

/**
 * The distance of each row, in the order of the rows; ignored features have unique values. With
 * `status`, the distances are being computed: send the request again.
 */
export interface DistancesResponse {
  readonly distances: Float32Array;
  readonly features: readonly string[];
  readonly ignored: readonly string[];
  readonly status: ModelJobStatus | null;
}

/** A change of the data that can be undone. */
export interface EditInfo {
  readonly kind: EditKind;
  readonly row: number;
  readonly changes: readonly ValueChange[];
}

export type EditKind = 'edit' | 'add' | 'duplicate' | 'delete' | 'add_feature';

/** Changes of features that change the prediction. */
export interface EditSuggestion {
  readonly changes: Readonly<Record<string, unknown>>;
  readonly source_row: number;
  readonly distance: number;
}

/** How much a metric decreases when a feature is shuffled. */
export interface FeatureImportance {
  readonly feature: string;
  readonly importance: number;
  readonly std: number;
}

/** Permutation importance. */
export interface FeatureImportanceRequest extends SessionRequest {
  readonly model?: string | null;
  readonly metric?: string | null;
  /** Default: `5`. */
  readonly repeats?: number;
  /** Default: `0`. */
  readonly seed?: number;
}

/** Statistics of all columns, and the drift to other open data sets. */
export interface FeatureStatisticsRequest extends SessionRequest {
  /** Default: `[]`. */
  readonly others?: readonly string[];
}

/** Statistics of all columns. */
export interface FeatureStatisticsResponse {
  readonly version: number;
  readonly rows: readonly StatisticsRow[];
}

/**
 * One value of a row; images and bytes have only a size. The value of a sequence is a list of
 * steps, each a list. Long lists and texts are truncated. `attributions` are those of each model
 * that returns some.
 */
export interface FeatureValue {
  readonly name: string;
  readonly type: ValueType;
  readonly is_list: boolean;
  readonly is_sequence: boolean;
  readonly value: unknown;
  readonly original: unknown;
  readonly is_truncated: boolean;
  readonly bytes: number | null;
  readonly attributions: Readonly<Record<string, number>>;
}

/** A model file below the log directories or `--data-dir`. */
export interface FileModel {
  readonly type: 'file';
  readonly name: string;
  readonly path: string;
  /** Default: `"probabilities"`. */
  readonly output?: Output;
}

/** What a smaller gap of a rate between slices costs. */
export interface FrontierRequest extends PerformanceRequest {
  /** Default: `1.0`. */
  readonly cost_ratio?: number;
  /** Default: `"positive_rate"`. */
  readonly measure?: Measure;
}

/**
 * Choices that no other beats in both cost and gap, the smallest gap first. `thresholds` are
 * choices x slices, flattened.
 */
export interface FrontierResponse {
  readonly slices: readonly string[];
  readonly gaps: Float64Array;
  readonly costs: Float64Array;
  readonly thresholds: Float64Array;
}

export type GridKind = 'even' | 'quantiles';

/** TensorFlow Serving over gRPC. */
export interface GrpcModel {
  readonly type: 'grpc';
  readonly name: string;
  readonly address: string;
  readonly model: string;
  readonly version?: number | null;
  readonly signature?: string | null;
  readonly method?: ServingMethod | null;
  readonly input?: string | null;
  readonly output?: string | null;
  /** Default: `30.0`. */
  readonly timeout_s?: number;
}

/** The state of a job, and its result when it is done. */
export interface JobResult {
  readonly status: ModelJobStatus;
  readonly dependence: readonly DependenceCurve[];
  readonly importance: readonly FeatureImportance[];
  readonly shapley: readonly ShapleyRow[];
  readonly features: readonly string[];
  readonly expected: number | null;
  readonly baseline: number | null;
  readonly predicted_rows: number | null;
  readonly counterfactuals: CounterfactualsResponse | null;
  readonly distances: DistancesResponse | null;
  readonly performance: PerformanceResponse | null;
  readonly comparison: ComparisonResponse | null;
}

/** Any JSON endpoint. */
export interface JsonModel {
  readonly type: 'json';
  readonly name: string;
  readonly url: string;
  /** Default: `"{\"instances\": \"$rows\"}"`. */
  readonly template?: string;
  /** Default: `"predictions"`. */
  readonly scores_path?: string;
  /** Default: `30.0`. */
  readonly timeout_s?: number;
}

/** A server of the KServe v2 protocol. */
export interface KserveModel {
  readonly type: 'kserve';
  readonly name: string;
  readonly address: string;
  readonly model: string;
  readonly version?: string | null;
  readonly input?: string | null;
  readonly output?: string | null;
  /** Default: `30.0`. */
  readonly timeout_s?: number;
}

export type Measure =
  | 'positive_rate'
  | 'true_positive_rate'
  | 'accuracy'
  | 'false_positive_rate'
  | 'precision';

/** How rows are compared; `custom` is a function that the program gave. */
export type Metric = 'l1' | 'l2' | 'cosine' | 'custom';

/** One metric for all slices. */
export interface MetricValues {
  readonly metric: string;
  readonly threshold: number | null;
  readonly class_name: string | null;
  readonly value: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

/** A model of a session. */
export interface ModelInfo {
  readonly name: string;
  readonly task: Task;
  readonly is_static: boolean;
  readonly is_predicted: boolean;
  readonly features: readonly string[];
  readonly class_names: readonly string[];
}

/** A job that was started before. */
export interface ModelJobRequest {
  readonly job: string;
}

/** The state of a job; `problem` says why it failed. */
export interface ModelJobStatus {
  readonly job: string;
  readonly state: JobState;
  readonly stage: Sentence;
  readonly done: number;
  readonly total: number;
  readonly problem: Sentence | null;
}

/** One model; by default the first. */
export interface ModelRequest extends SessionRequest {
  readonly model?: string | null;
}

/** The scores of one row by class, from the first prediction to the current one. */
export interface ModelScores {
  readonly model: string;
  readonly class_names: readonly string[];
  readonly history: readonly (readonly number[])[];
}

export type ModelSpec = GrpcModel | RestModel | KserveModel | JsonModel | FileModel | ColumnModel;

/** A counterfactual row. */
export interface Neighbor {
  readonly row: number;
  readonly distance: number;
  readonly feature_distances: Readonly<Record<string, number>>;
}

/**
 * Data files to open. `prediction` are columns with scores, one or one for each class, which become
 * a model. `class_names` are the names of the classes; by default those that models give them.
 */
export interface OpenRequest {
  readonly path: string;
  /** Default: `1000000`. */
  readonly max_rows?: number;
  /** Default: `1.0`. */
  readonly sampling_ratio?: number;
  /** Default: `0`. */
  readonly seed?: number;
  /** Default: `{}`. */
  readonly types?: Readonly<Record<string, string>>;
  readonly label?: string | null;
  /** Default: `[]`. */
  readonly prediction?: readonly string[];
  /** Default: `"classification"`. */
  readonly task?: Task;
  /** Default: `[]`. */
  readonly class_names?: readonly string[];
}

/** A strategy that chooses thresholds. */
export interface OptimizeRequest extends PerformanceRequest {
  /** Default: `"single"`. */
  readonly strategy?: Strategy;
  /** Default: `1.0`. */
  readonly cost_ratio?: number;
  /** Default: `"positive_rate"`. */
  readonly measure?: Measure;
  /** Default: `0.05`. */
  readonly max_gap?: number;
}

/** One threshold per slice, and what it costs. */
export interface OptimizeResponse {
  readonly slices: readonly string[];
  readonly thresholds: Float64Array;
  readonly is_defined: readonly boolean[];
  readonly cost: number;
  readonly single_cost: number;
  readonly gap: number | null;
  readonly measures: Readonly<Record<string, Float64Array>>;
}

/** A column in another data set, and how much its distribution differs. */
export interface OtherStatistics {
  readonly rows: number;
  readonly count: number;
  readonly missing: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly minimum: number;
  readonly median: number;
  readonly maximum: number;
  readonly unique: number;
  readonly top: string;
  readonly histogram: Float64Array;
  readonly quantiles: Float64Array;
  readonly session: string;
  readonly jensen_shannon: number;
  readonly population_stability: number;
  readonly chi_square: number;
  readonly kolmogorov_smirnov: number;
}

export type Output = 'probabilities' | 'logits';

/**
 * Metrics overall and by slice; several columns are crossed. `model_thresholds` are those of
 * computed columns in `slice_by`, by model; 0.5 by default.
 */
export interface PerformanceRequest extends SessionRequest {
  readonly model?: string | null;
  /** Default: `[]`. */
  readonly slice_by?: readonly string[];
  /** Default: `{}`. */
  readonly buckets?: Readonly<Record<string, number | readonly number[] | QuantileBuckets>>;
  /** Default: `[0.5]`. */
  readonly thresholds?: readonly number[];
  /** Default: `"bootstrap"`. */
  readonly intervals?: 'bootstrap' | 'jackknife' | 'exact' | 'none';
  /** Default: `{}`. */
  readonly model_thresholds?: Readonly<Record<string, number>>;
}

/**
 * Metrics by slice; the first slice is all rows. `thresholds` and the confusion counts (slices x
 * 101, flattened) are only set for models with two classes, and let the page compute everything
 * that depends on a threshold. Models with more classes have confusion `matrices` (slices x classes
 * x classes), and true and false positives of each class against the others (`class_tp`,
 * `class_fp`: slices x classes x 101). `edges` are the bounds between the buckets of numeric
 * columns, `label_values` the values of the label column for the classes, and `attributions` the
 * mean attribution of each feature by slice, with the bounds of its interval. With `status`, the
 * metrics of a large table are being computed: send the request again. The job is cancelled if that
 * is not done for some seconds.
 */
export interface PerformanceResponse {
  readonly version: number;
  readonly task: Task;
  readonly slices: readonly string[];
  readonly counts: Float64Array;
  readonly metrics: readonly MetricValues[];
  readonly class_names: readonly string[];
  readonly thresholds: Float64Array;
  readonly tp: Float64Array;
  readonly fp: Float64Array;
  readonly tn: Float64Array;
  readonly fn: Float64Array;
  readonly matrices: Float64Array;
  readonly calibration_score: Float64Array;
  readonly calibration_share: Float64Array;
  readonly calibration_count: Float64Array;
  readonly warnings: readonly Sentence[];
  readonly edges: Readonly<Record<string, Float64Array>>;
  readonly label_values: readonly string[];
  readonly class_tp: Float64Array | null;
  readonly class_fp: Float64Array | null;
  readonly attributions: Readonly<Record<string, Float64Array>>;
  readonly attribution_lower: Readonly<Record<string, Float64Array>>;
  readonly attribution_upper: Readonly<Record<string, Float64Array>>;
  readonly status: ModelJobStatus | null;
}

/** Buckets with about the same number of rows. */
export interface QuantileBuckets {
  readonly quantiles: number;
}

/** Data files that are opened next, unless `session` is still open. */
export interface ReadAheadRequest {
  readonly path: string;
  /** Default: `1000000`. */
  readonly max_rows?: number;
  /** Default: `1.0`. */
  readonly sampling_ratio?: number;
  /** Default: `0`. */
  readonly seed?: number;
  /** Default: `{}`. */
  readonly types?: Readonly<Record<string, string>>;
  /** Default: `""`. */
  readonly session?: string;
}

/** Whether the files are being read. */
export interface ReadAheadResponse {
  readonly is_reading: boolean;
}

/** TensorFlow Serving over REST. */
export interface RestModel {
  readonly type: 'rest';
  readonly name: string;
  readonly address: string;
  readonly model: string;
  readonly version?: number | null;
  readonly signature?: string | null;
  /** Default: `"predict"`. */
  readonly method?: ServingMethod;
  readonly output?: string | null;
  /** Default: `30.0`. */
  readonly timeout_s?: number;
}

/**
 * A change of the data. `values` are the new values; bytes as `{"base64": …}`. With `step`, an edit
 * changes only that item of lists, or that step of sequences; the number of items appends one.
 * `predict` changes nothing: it calls models again that have failed.
 */
export interface RowEditRequest extends SessionRequest {
  /** Default: `"edit"`. */
  readonly kind?: 'edit' | 'add' | 'duplicate' | 'delete' | 'undo' | 'reset' | 'predict';
  /** Default: `0`. */
  readonly row?: number;
  /** Default: `{}`. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly step?: number | null;
}

/**
 * The row after a change; null if it was deleted or nothing was left to undo. `problems` say why
 * models could not predict it; then it has no scores.
 */
export interface RowEditResponse {
  readonly version: number;
  readonly edit_count: number;
  readonly active_count: number;
  readonly row: RowResponse | null;
  readonly problems: readonly Sentence[];
}

/** An image of one row, scaled down to `max_px` if given; `step` of a list or sequence. */
export interface RowImageRequest extends RowRequest {
  readonly feature: string;
  /** Default: `0`. */
  readonly version?: number;
  /** Default: `0`. */
  readonly step?: number;
  readonly max_px?: number | null;
}

/** One row. */
export interface RowRequest extends SessionRequest {
  /** Default: `0`. */
  readonly row?: number;
}

/** One row with its predictions. */
export interface RowResponse {
  readonly version: number;
  readonly row: number;
  readonly values: readonly FeatureValue[];
  readonly scores: readonly ModelScores[];
}

/** The attributions of the pixels of an image; the model is called. */
export interface SaliencyRequest extends RowRequest {
  readonly feature: string;
  /** Default: `0`. */
  readonly step?: number;
  readonly model?: string | null;
}

/** The attributions of an image, pixel by pixel in rows; a grid may have fewer pixels. */
export interface SaliencyResponse {
  readonly width: number;
  readonly height: number;
  readonly values: Float32Array;
}

/**
 * A named set of rows, which becomes a boolean column that is no input of models. Many rows are
 * sent as `row_bits`: bit `n % 8` of byte `n // 8` is row `n`.
 */
export interface SaveSliceRequest extends SessionRequest {
  readonly name: string;
  /** Default: `[]`. */
  readonly rows?: readonly number[];
  readonly row_bits?: Base64 | null;
}

export type ServingMethod = 'classify' | 'regress' | 'predict';

/**
 * An open data set. `version` changes with every edit. `path` is the path with which it was opened;
 * empty for data of a program. With `has_distance` the program gave a function for the metric
 * `custom`. `edits` are the last changes, the newest first. `slices` are the columns that are named
 * sets of rows.
 */
export interface SessionInfo {
  readonly session: string;
  readonly title: string;
  readonly version: number;
  readonly row_count: number;
  readonly active_count: number;
  readonly label: string | null;
  readonly columns: readonly DataColumnInfo[];
  readonly models: readonly ModelInfo[];
  readonly edit_count: number;
  readonly problems: readonly Sentence[];
  readonly path: string;
  readonly has_distance: boolean;
  readonly edits: readonly EditInfo[];
  readonly slices: readonly string[];
}

/** An open data set. */
export interface SessionRequest {
  readonly session: string;
}

/** Shapley values of some rows. */
export interface ShapleyRequest extends SessionRequest {
  readonly rows: readonly number[];
  readonly model?: string | null;
  readonly class_name?: string | null;
  /** Default: `100`. */
  readonly background?: number;
  /** Default: `50`. */
  readonly permutations?: number;
  /** Default: `0`. */
  readonly seed?: number;
}

/** The contributions of the features to one prediction. */
export interface ShapleyRow {
  readonly row: number;
  readonly prediction: number;
  readonly contributions: Float64Array;
  readonly standard_error: Float64Array;
}

/** A set of rows that was saved. */
export interface SliceRequest extends SessionRequest {
  readonly name: string;
}

/**
 * Thresholds of slices, by model and slice, which decide the predicted classes of their rows. Other
 * rows have the threshold of their model. `model_thresholds` are those of computed columns in
 * `slice_by`, by model; 0.5 by default.
 */
export interface SliceThresholds {
  readonly slice_by: readonly string[];
  readonly thresholds: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Default: `{}`. */
  readonly buckets?: Readonly<Record<string, number | readonly number[] | QuantileBuckets>>;
  /** Default: `{}`. */
  readonly model_thresholds?: Readonly<Record<string, number>>;
}

/** The scores of a model: rows x classes, and the earlier ones of rows that were edited. */
export interface StaticScores {
  readonly class_names: readonly string[];
  readonly values: Float64Array;
  readonly earlier: Readonly<Record<string, readonly (readonly number[])[]>>;
}

/**
 * A data set without a server. It has the slices of all rows, by each column with few values or
 * with the bins that the page chooses at first, and those of the exported view. `lists` are the
 * values of columns of lists, `originals` the loaded values of edited rows.
 */
export interface StaticSession {
  readonly about: SessionInfo;
  readonly columns: DataColumnsResponse | null;
  readonly statistics: FeatureStatisticsResponse;
  readonly slicings: readonly StaticSlicing[];
  readonly scores: Readonly<Record<string, StaticScores>>;
  readonly lists: Readonly<Record<string, readonly unknown[]>>;
  readonly originals: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/**
 * The slices by some columns, with the metrics of each model. `codes` has the position of the slice
 * of each row that is not deleted in `slices`.
 */
export interface StaticSlicing {
  readonly slice_by: readonly string[];
  readonly buckets: Readonly<Record<string, number | readonly number[] | QuantileBuckets>>;
  readonly model_thresholds: Readonly<Record<string, number>>;
  readonly slices: readonly string[];
  readonly codes: Int32Array;
  readonly performance: Readonly<Record<string, PerformanceResponse>>;
}

/**
 * Statistics of one column. `others` are those of the data sets that have a column of the same
 * kind; the histograms of all have the same `edges` or `values`. `length_edges` and
 * `length_histogram` are the lengths of lists, and `list_length` is set if all are equal.
 */
export interface StatisticsRow {
  readonly rows: number;
  readonly count: number;
  readonly missing: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly minimum: number;
  readonly median: number;
  readonly maximum: number;
  readonly unique: number;
  readonly top: string;
  readonly histogram: Float64Array;
  readonly quantiles: Float64Array;
  readonly name: string;
  readonly type: ValueType;
  readonly is_list: boolean;
  readonly outliers: number;
  readonly top_count: number;
  readonly mean_length: number;
  readonly non_uniformity: number;
  readonly warnings: readonly string[];
  readonly edges: Float64Array;
  readonly values: readonly string[];
  readonly length_edges: Float64Array;
  readonly length_histogram: Float64Array;
  readonly list_length: number | null;
  readonly others: readonly OtherStatistics[];
}

export type Strategy =
  | 'single'
  | 'group'
  | 'demographic_parity'
  | 'equal_opportunity'
  | 'equal_accuracy'
  | 'predictive_parity'
  | 'equalized_odds'
  | 'bounded_gap';

export type Task = 'classification' | 'regression';

/** One tile of the images. `version` is that of the data set. */
export interface ThumbnailTileRequest extends ThumbnailsRequest {
  /** Default: `0`. */
  readonly version?: number;
  readonly tile: number;
}

/** The images of a column, of all rows that are not deleted. */
export interface ThumbnailsRequest extends SessionRequest {
  readonly feature: string;
}

/** The value of a feature before and after a change; images and bytes are null. */
export interface ValueChange {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

export type ValueType = 'integer' | 'float' | 'boolean' | 'string' | 'image' | 'bytes';

// ---- Dashboard: workspaces

/** Requests and responses by method and path below `api/v1/workspaces/`. */
export interface WorkspacesRoutes {
  /** Return all workspaces and reports, by name. */
  readonly 'GET documents': {
    readonly request: Empty;
    readonly response: DocumentListResponse;
  };
  /**
   * Save a workspace or report. Status 409 means that another revision than the expected one is
   * stored; nothing was changed then.
   */
  readonly 'PUT document': {
    readonly request: SaveDocumentRequest;
    readonly response: DocumentResponse;
  };
  /** Return a workspace or report. */
  readonly 'GET document': {
    readonly request: DocumentRequest;
    readonly response: DocumentResponse;
  };
  /** Set the workspace that is opened first and return all documents. */
  readonly 'PUT default': {
    readonly request: DefaultRequest;
    readonly response: DocumentListResponse;
  };
  /** Delete a workspace or report and return the others. */
  readonly 'DELETE document': {
    readonly request: DeleteDocumentRequest;
    readonly response: DocumentListResponse;
  };
  /** Return the earlier states of a document, newest first. */
  readonly 'GET versions': {
    readonly request: DocumentRequest;
    readonly response: VersionListResponse;
  };
  /** Return an earlier state of a document. */
  readonly 'GET version': {
    readonly request: VersionRequest;
    readonly response: DocumentResponse;
  };
  /** Return the text of a report as HTML and cards. */
  readonly 'POST render': {
    readonly request: RenderRequest;
    readonly response: RenderResponse;
  };
}

/** A card of a dashboard on a workspace or in a report. */
export interface BoardCard {
  readonly id: string;
  /** The dashboard that the card belongs to, as `scalars`. */
  readonly kind: string;
  /** What it shows: the id of the card in its dashboard, mostly a tag; or Markdown. */
  readonly target: string;
  /** Empty for the title that the card has in its dashboard. */
  readonly title: string;
  /** Settings of its dashboard, as URL parameters; others are those of the document. */
  readonly settings: Readonly<Record<string, string>>;
  /** The runs that it always shows; null for those selected in the page. */
  readonly runs: readonly string[] | null;
  /** The width, in twelfths of the board. */
  readonly columns: number;
  /** In pixels. */
  readonly height: number;
}

/** A card of a dashboard on a workspace or in a report. */
export interface BoardCardInput {
  readonly id: string;
  /** The dashboard that the card belongs to, as `scalars`. */
  readonly kind: string;
  /**
   * What it shows: the id of the card in its dashboard, mostly a tag; or Markdown. Default: `""`.
   */
  readonly target?: string;
  /** Empty for the title that the card has in its dashboard. Default: `""`. */
  readonly title?: string;
  /**
   * Settings of its dashboard, as URL parameters; others are those of the document. Default: `{}`.
   */
  readonly settings?: Readonly<Record<string, string>>;
  /** The runs that it always shows; null for those selected in the page. */
  readonly runs?: readonly string[] | null;
  /** The width, in twelfths of the board. Default: `4`. */
  readonly columns?: number;
  /** In pixels. Default: `280`. */
  readonly height?: number;
}

/** A workspace, or a report: Markdown in which `![[id]]` is replaced by a card. */
export interface BoardDocument {
  readonly id: string;
  readonly kind: DocumentKind;
  readonly name: string;
  /** The Markdown of a report. */
  readonly text: string;
  readonly sections: readonly BoardSection[];
  /** Settings of all cards of a kind. */
  readonly settings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A workspace, or a report: Markdown in which `![[id]]` is replaced by a card. */
export interface BoardDocumentInput {
  readonly id: string;
  readonly kind: DocumentKind;
  readonly name: string;
  /** The Markdown of a report. Default: `""`. */
  readonly text?: string;
  /** Default: `[]`. */
  readonly sections?: readonly BoardSectionInput[];
  /** Settings of all cards of a kind. Default: `{}`. */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Cards below a heading. */
export interface BoardSection {
  readonly id: string;
  readonly title: string;
  readonly collapsed: boolean;
  readonly cards: readonly BoardCard[];
}

/** Cards below a heading. */
export interface BoardSectionInput {
  readonly id: string;
  /** Default: `""`. */
  readonly title?: string;
  /** Default: `false`. */
  readonly collapsed?: boolean;
  /** Default: `[]`. */
  readonly cards?: readonly BoardCardInput[];
}

/** The workspace that is opened first; null for none. */
export interface DefaultRequest {
  readonly id?: string | null;
}

/** The document to delete, and the revision that is assumed to be stored. */
export interface DeleteDocumentRequest {
  readonly id: string;
  readonly expected: number;
}

export type DocumentKind = 'workspace' | 'report';

/** All documents by name, and the id of the workspace that is opened first. */
export interface DocumentListResponse {
  readonly documents: readonly DocumentRow[];
  readonly default: string | null;
}

/** The document to read. */
export interface DocumentRequest {
  readonly id: string;
}

/** A document, the blocks of its text, and those of its cards with texts by card id. */
export interface DocumentResponse {
  readonly document: BoardDocument;
  readonly revision: number;
  readonly modified: number;
  readonly blocks: readonly ReportBlock[];
  readonly notes: Readonly<Record<string, readonly ReportBlock[]>>;
}

/** A document in the list. */
export interface DocumentRow {
  readonly id: string;
  readonly kind: DocumentKind;
  readonly name: string;
  readonly revision: number;
  readonly modified: number;
  readonly cards: number;
}

/** An earlier state of a document in the list. */
export interface DocumentVersionRow {
  readonly revision: number;
  readonly modified: number;
  readonly name: string;
  readonly cards: number;
  readonly characters: number;
}

/** Markdown of a report. */
export interface RenderRequest {
  readonly text: string;
}

/** The blocks of a text, in their order. */
export interface RenderResponse {
  readonly blocks: readonly ReportBlock[];
}

/** A part of a report: HTML, or a card. `note` says why a text is shown as it is. */
export interface ReportBlock {
  readonly html: string | null;
  readonly text: string | null;
  readonly card: string | null;
  readonly note: Sentence | null;
}

/**
 * A document to save. `expected` is the revision that the change was made to, 0 for a new document.
 * If another one is stored, nothing is changed, and the response is an error with status 409. The
 * stored state becomes a version if the last version is older than a few minutes, or with
 * `keep_version`.
 */
export interface SaveDocumentRequest {
  readonly document: BoardDocumentInput;
  /** Default: `0`. */
  readonly expected?: number;
  /** Default: `false`. */
  readonly keep_version?: boolean;
}

/** The versions of a document, newest first. */
export interface VersionListResponse {
  readonly versions: readonly DocumentVersionRow[];
}

/** The version of a document to read. */
export interface VersionRequest {
  readonly id: string;
  readonly revision: number;
}

// ---- Shared

type RoutesBelow<Folder extends string, Routes> = {
  [
    Name in keyof Routes as Name extends `${infer Method} ${infer Path}`
      ? `${Method} ${Folder}/${Path}`
      : never
  ]: Routes[Name];
};

/** Requests and responses of all routes, by method and path below `api/v1/`. */
export type Routes = ServerRoutes &
  RoutesBelow<'scalars', ScalarsRoutes> &
  RoutesBelow<'images', ImagesRoutes> &
  RoutesBelow<'audio', AudioRoutes> &
  RoutesBelow<'text', TextRoutes> &
  RoutesBelow<'histograms', HistogramsRoutes> &
  RoutesBelow<'pr_curves', PrCurvesRoutes> &
  RoutesBelow<'mesh', MeshRoutes> &
  RoutesBelow<'custom_scalars', CustomScalarsRoutes> &
  RoutesBelow<'graphs', GraphsRoutes> &
  RoutesBelow<'hparams', HparamsRoutes> &
  RoutesBelow<'projector', ProjectorRoutes> &
  RoutesBelow<'debugger', DebuggerRoutes> &
  RoutesBelow<'fairness', FairnessRoutes> &
  RoutesBelow<'profile', ProfileRoutes> &
  RoutesBelow<'what_if', WhatIfRoutes> &
  RoutesBelow<'workspaces', WorkspacesRoutes>;

/** An empty request, or an empty response to a request that succeeded. */
export type Empty = Record<string, never>;

/**
 * The selected runs of one group, all if `group` is null. `split` is `train`, `validation`,
 * `evaluation`, `test`, or empty for runs whose names do not say what they were computed on; null
 * for all.
 */
export interface GroupQuery {
  /** Default: `""`. */
  readonly filter?: string;
  /** Default: `false`. */
  readonly show_hidden?: boolean;
  /** Default: `[]`. */
  readonly sort?: readonly string[];
  /** Default: `""`. */
  readonly group_by?: string;
  /** Default: `{"newest":null,"all_up_to":0,"on":[],"off":[]}`. */
  readonly selection?: RunSelection;
  readonly group?: string | null;
  readonly split?: string | null;
}

export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

/** A section of a custom layout; `closed` sections are collapsed at first. */
export interface LayoutCategory {
  readonly title: string;
  readonly closed: boolean;
  readonly charts: readonly LayoutChart[];
}

/** A section of a custom layout; `closed` sections are collapsed at first. */
export interface LayoutCategoryInput {
  readonly title: string;
  /** Default: `false`. */
  readonly closed?: boolean;
  /** Default: `[]`. */
  readonly charts?: readonly LayoutChartInput[];
}

/** One chart of a custom layout: `margins` if there are any, else lines of `tags`. */
export interface LayoutChart {
  readonly title: string;
  /** Regular expressions, matched at the start of tags. */
  readonly tags: readonly string[];
  readonly margins: readonly LayoutMargin[];
}

/** One chart of a custom layout: `margins` if there are any, else lines of `tags`. */
export interface LayoutChartInput {
  readonly title: string;
  /** Regular expressions, matched at the start of tags. Default: `[]`. */
  readonly tags?: readonly string[];
  /** Default: `[]`. */
  readonly margins?: readonly LayoutMargin[];
}

/** The tags of a line and of the lower and upper edge of the band around it. */
export interface LayoutMargin {
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

/**
 * An error for the page: what failed, and what to do about it. `code` and `args` identify the
 * message for translation, `hint_code` the hint. They are absent if the sentence has no code.
 */
export interface Problem {
  readonly message: string;
  readonly hint: string;
  readonly code?: string;
  readonly args?: Readonly<Record<string, string | number | Sentence>>;
  readonly hint_code?: string;
}

/**
 * Which of the runs that match a filter are selected: the newest ones, and exceptions. `newest`
 * null selects all, and so does a filter that at most `all_up_to` runs match. `on` and `off` name
 * runs that are selected or not in any case. A name that begins with a slash is that of a group;
 * runs take precedence over their group.
 */
export interface RunSelection {
  readonly newest?: number | null;
  /** Default: `0`. */
  readonly all_up_to?: number;
  /** Default: `[]`. */
  readonly on?: readonly string[];
  /** Default: `[]`. */
  readonly off?: readonly string[];
}

/** A sentence for the page: the English text, and what the page translates it by. */
export interface Sentence {
  /** Empty if there is no translation. */
  readonly code: string;
  readonly text: string;
  readonly args: Readonly<Record<string, string | number | Sentence>>;
}

/** The values of one tag of one run, in the order written. */
export interface SeriesSteps {
  readonly run: string;
  readonly tag: string;
  /** Identifies the value in requests. */
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  /** The fingerprint of the value. */
  readonly fingerprint: Int32Array;
}

/** How images are laid out on tiles. Each tile holds `per_tile` of them, row by row. */
export interface SpriteTiles {
  readonly cell_width: number;
  readonly cell_height: number;
  readonly tiles: number;
  readonly tile_columns: number;
  readonly tile_rows: number;
  readonly per_tile: number;
}

/** The steps of some tags; without `runs`, of all runs that have them. */
export interface StepsRequest {
  readonly tags: readonly string[];
  readonly runs?: readonly string[] | null;
  /** Include values that were overwritten after a restart. Default: `false`. */
  readonly overwritten?: boolean;
}

/** The steps of all requested series; `cursor` is the position in the stream of changes. */
export interface StepsResponse {
  readonly cursor: string;
  readonly series: readonly SeriesSteps[];
}

/** One value of a tag of a run, as listed in `SeriesSteps`. */
export interface ValueRequest {
  readonly run: string;
  readonly tag: string;
  readonly index: number;
  /** The fingerprint; with it the response never changes. */
  readonly fingerprint?: number | null;
}
