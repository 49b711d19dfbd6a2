import { HttpTransport } from './http-transport';
import type {
  DashboardRow,
  FilesResponse,
  JsonNumber,
  RunsResponse,
  StatusResponse,
  TagNamesResponse,
  TagsResponse,
  ValueRequest,
} from './schemas';
import {
  encodeQuery,
  type HttpMethod,
  makePathRequest,
  type PathRequest,
  type Transport,
} from './transport';

let transport: Transport = new HttpTransport();

/** Replace the server by something else; call it before anything is requested. */
export function setTransport(other: Transport): void {
  transport = other;
}

export function getTransport(): Transport {
  return transport;
}

export const getStatus = (): Promise<StatusResponse> => apiRequest('api/v1/status');

export const getRuns = (): Promise<RunsResponse> => apiRequest('api/v1/runs');

export const getTags = (): Promise<TagsResponse> => apiRequest('api/v1/tags');

export const getTagNames = (
  runs: readonly string[],
  signal?: AbortSignal,
): Promise<TagNamesResponse> => apiRequest('api/v1/tags', postJson({ runs }, signal));

export const getDamagedFiles = (): Promise<FilesResponse> => apiRequest('api/v1/files?damaged=1');

export const getDashboards = (): Promise<readonly DashboardRow[]> =>
  apiRequest('api/v1/dashboards');

export function postJson(body: unknown, signal?: AbortSignal): PathRequest {
  return { method: 'POST', body, ...(signal ? { signal } : {}) };
}

const prefetched = new Map<string, Promise<unknown>>();

/** Request what will be requested soon, and use the response then. */
export function prefetch(path: string): void {
  const response = apiRequest(path);
  // Reported to whoever requests it.
  response.catch(() => undefined);
  prefetched.set(path, response);
}

/** Send a request and return the decoded response. */
export async function apiRequest<Response>(
  path: string,
  request: PathRequest = {},
): Promise<Response> {
  const response = request.method ? undefined : prefetched.get(path);
  prefetched.delete(path);
  const { signal = new AbortController().signal } = request;
  return (await (response ?? transport.send(makePathRequest(path, request), signal))) as Response;
}

export function apiRequestBlob(path: string, request: PathRequest = {}): Promise<Blob> {
  return apiRequest<Blob>(path, { ...request, isFile: true });
}

/** At which steps one tag of one run was logged, in the order of the steps. */
export interface SortedSteps {
  readonly run: string;
  readonly tag: string;
  /** What each value is asked for by. */
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  /** With it an address never stands for another value. */
  readonly mark: Int32Array;
}

/** The request for one value of a series, in the order of fields that static exports expect. */
export function makeValueRequest(
  { run, tag, index, mark }: Pick<SortedSteps, 'run' | 'tag' | 'index' | 'mark'>,
  position: number,
): Required<ValueRequest> {
  return { run, tag, index: index[position] ?? 0, mark: mark[position] ?? 0 };
}

/**
 * The address of a value, the same to the letter as `value_path` in `tracklight/analysis/media` makes it:
 * copies of boards carry values under it.
 */
export function valuePath(
  verb: string,
  steps: SortedSteps,
  place: number,
  extra: Readonly<Record<string, string | number>> = {},
): string {
  return `${verb}?${encodeQuery({ ...makeValueRequest(steps, place), ...extra })}`;
}

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

export type AlertRuleKind = 'above' | 'below' | 'nan' | 'stalled';

export interface AlertRule {
  readonly id: string;
  /** A pattern for series; see docs/patterns.md. */
  readonly tag: string;
  readonly kind: AlertRuleKind;
  /** The threshold; for `stalled`, the steps without improvement. */
  readonly value: number | null;
  /** Whether lower or higher is better, for `stalled`. */
  readonly goal: 'min' | 'max' | null;
}

/** A rule as the server has it; a fixed one was given on its command line. */
export interface AlertRuleRow extends AlertRule {
  readonly fixed: boolean;
}

/** One alarm: it comes again, under the same id, when it is resolved. */
export interface Alert {
  readonly id: string;
  /** The rule's id. */
  readonly rule: string;
  readonly run: string;
  readonly tag: string;
  readonly step: number;
  readonly value: JsonNumber;
  readonly wall_time: JsonNumber;
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
export interface ChartLayout {
  readonly name: string;
  readonly categories: readonly LayoutCategory[];
}

export interface NotesResponse {
  /** Grows with every change of what is kept. */
  readonly revision: number;
  readonly runs: Readonly<Record<string, RunNote>>;
  readonly annotations: readonly Annotation[];
  readonly layouts: readonly ChartLayout[];
  readonly alerts: {
    readonly rules: readonly AlertRuleRow[];
    /** The newest first. */
    readonly alerts: readonly Alert[];
    /** Whether alarms are also sent somewhere. */
    readonly webhook: boolean;
  };
}

export const getNotes = (): Promise<NotesResponse> => apiRequest('api/v1/notes');

/** Sets what is given for all these runs; an empty text takes it away. */
export function updateRunNotes(
  names: readonly string[],
  change: Partial<RunNote>,
): Promise<NotesResponse> {
  return sendJson('PATCH', 'api/v1/notes/runs', { runs: names, ...change });
}

export function addAnnotation(
  step: number,
  text: string,
  tag: string | null,
): Promise<NotesResponse> {
  return sendJson('POST', 'api/v1/notes/annotations', { step, text, tag });
}

export function deleteAnnotation(id: string): Promise<NotesResponse> {
  return apiRequest(`api/v1/notes/annotations/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

/** null takes the layout of that name away. */
export function saveLayout(
  name: string,
  categories: readonly LayoutCategory[] | null,
): Promise<NotesResponse> {
  return sendJson('PUT', 'api/v1/notes/layouts', { name, categories });
}

/** Replaces all rules but the fixed ones. */
export function saveAlertRules(rules: readonly AlertRule[]): Promise<NotesResponse> {
  return sendJson('PUT', 'api/v1/alerts/rules', rules);
}

function sendJson<Answer>(method: HttpMethod, path: string, body: unknown): Promise<Answer> {
  return apiRequest(path, { ...postJson(body), method });
}

/** A hyperparameter over all runs; `values` are the first of them. */
export interface HParamColumn {
  readonly name: string;
  readonly type: 'number' | 'string' | 'bool';
  readonly distinct: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly values: readonly ColumnCell[];
}

export interface ColumnListResponse {
  readonly hparams: readonly HParamColumn[];
  /** Tags of scalars, of which a column has the last, lowest or highest value. */
  readonly metrics: readonly string[];
}

/** The word that JSON lacks for a number, such as `NaN`, may stand where a number is meant. */
export type ColumnCell = boolean | string | JsonNumber | null;

/** Says which column is meant. */
export type RunColumnKey = `hparam:${string}` | `${'last' | 'min' | 'max'}:${string}`;

export interface ColumnsResponse {
  readonly runs: readonly string[];
  /** A value a run in the order of `runs`; null where a run has none. */
  readonly columns: Readonly<Record<string, readonly ColumnCell[]>>;
}

export const listRunColumns = (signal?: AbortSignal): Promise<ColumnListResponse> =>
  apiRequest('api/v1/runs/columns', signal ? { signal } : {});

export function getRunColumns(
  columns: readonly RunColumnKey[],
  signal?: AbortSignal,
): Promise<ColumnsResponse> {
  return apiRequest('api/v1/runs/columns', postJson({ columns }, signal));
}
