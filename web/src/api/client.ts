/** Requests that are not queries: the state of the page, notes, alerts and run columns. */
import { RUNS_PATH } from './prefetch';
import type {
  AlertRule,
  ChartRow as ServerChartRow,
  ChartsRequest,
  ColumnListResponse,
  ColumnsResponse,
  DashboardRow,
  FilesResponse,
  LayoutCategory,
  NotesResponse as ServerNotesResponse,
  RunNoteUpdate,
  RunsResponse,
  StatusResponse,
  TagNamesResponse,
  TagsResponse,
  ValueRequest,
} from './schemas';
import {
  encodeQuery,
  type HttpMethod,
  HttpTransport,
  makePathRequest,
  type PathRequest,
  type Transport,
} from './transport';

export type {
  Alert,
  AlertRule,
  AlertRuleRow,
  Cell as ColumnCell,
  ColumnListResponse,
  ColumnsResponse,
  HParamColumn,
  LayoutCategory,
  LayoutChart,
  LayoutMargin,
  RunNote,
} from './schemas';

let transport: Transport = new HttpTransport();

/** Replace the transport, before the first request. */
export function setTransport(other: Transport): void {
  transport = other;
}

export function getTransport(): Transport {
  return transport;
}

export const getStatus = (): Promise<StatusResponse> => apiRequest('api/v1/status');

export const getRuns = (): Promise<RunsResponse> => apiRequest(RUNS_PATH);

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

/** Send a request and return the decoded response. */
export async function apiRequest<Response>(
  path: string,
  request: PathRequest = {},
): Promise<Response> {
  const { signal = new AbortController().signal } = request;
  return (await transport.send(makePathRequest(path, request), signal)) as Response;
}

export function apiRequestBlob(path: string, request: PathRequest = {}): Promise<Blob> {
  return apiRequest<Blob>(path, { ...request, isFile: true });
}

/** The steps of one tag of one run, sorted. */
export interface SortedSteps {
  readonly run: string;
  readonly tag: string;
  /** Index of each value in the log, for requests. */
  readonly index: Int32Array;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  /** Fingerprint of each value: with it, a URL always refers to the same value. */
  readonly fingerprint: Int32Array;
}

/** Return the request for one value, with fields in the order that static exports expect. */
export function makeValueRequest(
  { run, tag, index, fingerprint }: Pick<SortedSteps, 'run' | 'tag' | 'index' | 'fingerprint'>,
  position: number,
): Required<ValueRequest> {
  return { run, tag, index: index[position] ?? 0, fingerprint: fingerprint[position] ?? 0 };
}

/**
 * Return the path of a value. It must be equal to that of `value_path` in `tracklight/analysis/media`,
 * by which static exports store values.
 */
export function valuePath(
  verb: string,
  steps: SortedSteps,
  position: number,
  extra: Readonly<Record<string, string | number>> = {},
): string {
  return `${verb}?${encodeQuery({ ...makeValueRequest(steps, position), ...extra })}`;
}

export type AlertRuleKind = AlertRule['kind'];

/** A saved layout; in requests, `categories` can be null to delete it. */
export interface ChartLayout {
  readonly name: string;
  readonly categories: readonly LayoutCategory[];
}

export interface NotesResponse extends Omit<ServerNotesResponse, 'layouts'> {
  readonly layouts: readonly ChartLayout[];
}

export const getNotes = (): Promise<NotesResponse> => apiRequest('api/v1/notes');

/** A change of the notes of runs; fields that are left out stay as they are. */
export type RunNoteChange = Omit<RunNoteUpdate, 'runs'>;

/** Set fields of the notes of some runs; an empty string removes a field. */
export function updateRunNotes(
  names: readonly string[],
  change: RunNoteChange,
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

/** Save a layout; null deletes it. */
export function saveLayout(
  name: string,
  categories: readonly LayoutCategory[] | null,
): Promise<NotesResponse> {
  return sendJson('PUT', 'api/v1/notes/layouts', { name, categories });
}

/**
 * Save a derived metric; null deletes it. `expected` is the expression that is assumed to be stored,
 * null for a new metric.
 */
export function saveMetric(
  name: string,
  expression: string | null,
  expected: string | null,
): Promise<NotesResponse> {
  return sendJson('PUT', 'api/v1/notes/metrics', { name, expression, expected });
}

/** Replace all rules except those of the command line. */
export function saveAlertRules(rules: readonly AlertRule[]): Promise<NotesResponse> {
  return sendJson('PUT', 'api/v1/alerts/rules', rules);
}

function sendJson<Response>(method: HttpMethod, path: string, body: unknown): Promise<Response> {
  return apiRequest(path, { ...postJson(body), method });
}

/** The key of a column of the run table. */
export type RunColumnKey = `hparam:${string}` | `${'last' | 'min' | 'max'}:${string}`;

export const NO_COLUMNS: ColumnListResponse = { hparams: [], metrics: [], display_names: {} };

export const listRunColumns = (signal?: AbortSignal): Promise<ColumnListResponse> =>
  apiRequest('api/v1/runs/columns', signal ? { signal } : {});

export function getRunColumns(
  columns: readonly RunColumnKey[],
  signal?: AbortSignal,
): Promise<ColumnsResponse> {
  return apiRequest('api/v1/runs/columns', postJson({ columns }, signal));
}

/** The fields of a request that all charts of a view share. */
export type ChartsView = Required<Omit<ChartsRequest, 'width' | 'charts'>>;

/** A chart; `thinned` if it is from a static export that does not have all of its points. */
export interface ChartRow extends ServerChartRow {
  readonly thinned?: boolean;
}
