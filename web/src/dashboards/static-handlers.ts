/** What a static export answers for dashboards whose requests it has only in part. */
import { NotExportedError } from '../api/errors';
import type {
  CompareDumpsResponse,
  CompareRecordingsResponse,
  CounterTrack,
  DebugAlertsRequest,
  DebugAlertsResponse,
  EventColumns,
  ExecutionTimelineResponse,
  GraphRequest,
  GraphsSearchResponse,
  HeatmapResponse,
  ImportanceResponse,
  RowsRequest,
  SearchHitRow,
  SparklinesResponse,
  SpriteTiles,
  StaticGraph,
  StaticSession,
  StaticTimeline,
} from '../api/schemas';
import type { ExportContents, StaticHandlers } from '../api/static/static-transport';
import { encodeQuery } from '../api/transport';
import { makeBodyPath } from './graphs/graph-model';
import { makeRow, selectColumns, selectPerformance } from './what_if/static-decisions';

const DEFAULT_ROWS = 200;

/**
 * A static export has the first alerts and events and the heat maps of each source, without
 * filters, the timeline of the whole dump, and comparisons of the first sources of each kind.
 */
export const debuggerHandlers: StaticHandlers = {
  'POST debugger/alerts': async (request, contents) => {
    const path = `api/v1/debugger/alerts?${encodeQuery({ source: request.source })}`;
    return selectAlerts((await contents.read(path)) as DebugAlertsResponse, request);
  },
  'POST debugger/heatmap': async ({ source, stat = 'norm', roles = [], query = '' }, contents) => {
    const path = `api/v1/debugger/heatmap?${encodeQuery({ source, stat })}`;
    return selectTensors((await contents.read(path)) as HeatmapResponse, roles, query);
  },
  'POST debugger/executions': async (request, contents) => {
    const path = `api/v1/debugger/executions?${encodeQuery({ source: request.source })}`;
    return selectEvents((await contents.read(path)) as EventColumns, request);
  },
  'POST debugger/graph_executions': async (request, contents) => {
    const path = `api/v1/debugger/graph_executions?${encodeQuery({ source: request.source })}`;
    return selectEvents((await contents.read(path)) as EventColumns, request);
  },
  'POST debugger/timeline': async ({ source }, contents) => {
    const path = `api/v1/debugger/timeline?${encodeQuery({ source })}`;
    return (await contents.read(path)) as ExecutionTimelineResponse;
  },
  'POST debugger/compare': async ({ first, second }, contents) => {
    const path = `api/v1/debugger/compare?${encodeQuery({ first, second })}`;
    return (await contents.read(path)) as CompareRecordingsResponse;
  },
  'POST debugger/compare_dumps': async ({ first, second }, contents) => {
    const path = `api/v1/debugger/compare_dumps?${encodeQuery({ first, second })}`;
    return (await contents.read(path)) as CompareDumpsResponse;
  },
};

/** Return the events that match a request, as the server does. */
export function selectEvents(response: EventColumns, request: RowsRequest): EventColumns {
  const { query = '', graph = '', op_name = '', only_non_finite = false } = request;
  const { offset = 0, limit = DEFAULT_ROWS, locate = null } = request;
  const text = query.toLowerCase();
  const found = response.op_type.flatMap((type, at) => {
    const name = response.op_name[at] ?? '';
    const isMatch =
      `${name}\n${type}`.toLowerCase().includes(text) &&
      (graph === '' || response.graph[at] === graph) &&
      (op_name === '' || name === op_name) &&
      (!only_non_finite || response.health[at] === 2);
    return isMatch ? [at] : [];
  });
  const part = found.slice(offset, offset + limit);
  const position = found.findIndex((at) => (response.index[at] ?? at) >= (locate ?? 0));
  return {
    ...response,
    total: found.length,
    index: response.index.filter((_, at) => part.includes(at)),
    wall_time: response.wall_time.filter((_, at) => part.includes(at)),
    op_type: part.flatMap((at) => response.op_type[at] ?? []),
    op_name: part.flatMap((at) => response.op_name[at] ?? []),
    slot: response.slot.filter((_, at) => part.includes(at)),
    graph: part.flatMap((at) => response.graph[at] ?? []),
    health: response.health.filter((_, at) => part.includes(at)),
    position: locate === null ? null : position < 0 ? found.length : position,
  };
}

/** Return the alerts that match a request, as the server does. */
export function selectAlerts(
  response: DebugAlertsResponse,
  request: DebugAlertsRequest,
): DebugAlertsResponse {
  const { kinds = [], query = '', dtype = '', offset = 0, limit = DEFAULT_ROWS } = request;
  const [first, last] = [request.first_step ?? -Infinity, request.last_step ?? Infinity];
  const hasRange = first > -Infinity || last < Infinity;
  const text = query.toLowerCase();
  const found = response.alerts.flatMap((alert, at) => {
    const { step, op_name, op_type } = alert;
    const isInRange = !hasRange || (step !== null && step >= first && step <= last);
    const isMatch =
      isInRange &&
      (kinds.length === 0 || kinds.includes(alert.kind)) &&
      `${op_name}\n${op_type}`.toLowerCase().includes(text) &&
      (dtype === '' || alert.dtype === dtype);
    return isMatch ? [at] : [];
  });
  const part = found.slice(offset, offset + limit);
  return {
    ...response,
    total: found.length,
    indexes: Float64Array.from(part, (at) => response.indexes[at] ?? at),
    alerts: part.flatMap((at) => response.alerts[at] ?? []),
  };
}

function selectTensors(
  heatmap: HeatmapResponse,
  roles: readonly string[],
  query: string,
): HeatmapResponse {
  const text = query.toLowerCase();
  const columns = heatmap.first_step.length;
  const rows = heatmap.tensors.flatMap(({ name, type, role }, row) =>
    (roles.length === 0 || roles.includes(role)) && `${name}\n${type}`.toLowerCase().includes(text)
      ? [row]
      : [],
  );
  const values = new Float32Array(rows.length * columns);
  rows.forEach((row, at) =>
    values.set(heatmap.values.subarray(row * columns, (row + 1) * columns), at * columns),
  );
  return {
    ...heatmap,
    tensors: rows.flatMap((row) => heatmap.tensors[row] ?? []),
    values,
  };
}

const MAX_HITS = 100;

/** Responses about the graphs in a static export, which has one document per graph. */
export const graphHandlers: StaticHandlers = {
  'GET graphs/about': async (request, contents) => (await readGraph(request, contents)).about,
  'GET graphs/statistics': async (request, contents) =>
    (await readGraph(request, contents)).statistics,
  'POST graphs/groups': async (request, contents) => {
    const graph = await readGraph(request, contents);
    const { groups = [] } = request;
    return {
      groups: groups.map((group) => getExported(graph.groups.find(({ path }) => path === group))),
    };
  },
  'GET graphs/paint': async (request, contents) => {
    const { paints } = await readGraph(request, contents);
    const { group = '', by } = request;
    const colorings = paints.find((one) => one.group === group)?.paints ?? [];
    return getExported(colorings.find((coloring) => coloring.by === by));
  },
  'GET graphs/node': async (request, contents) => {
    const { nodes } = await readGraph(request, contents);
    return getExported(nodes.find(({ path }) => path === request.path));
  },
  'GET graphs/search': async (request, contents) =>
    searchNodes(await readGraph(request, contents), request.query ?? ''),
};

async function readGraph({ id }: GraphRequest, contents: ExportContents): Promise<StaticGraph> {
  const path = `api/v1/graphs/copy/${id}`;
  if (!contents.has(path)) throw new NotExportedError();
  return (await contents.read(path)) as StaticGraph;
}

function getExported<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new NotExportedError();
  return value;
}

/** Search names and operations; the prefix `op:` restricts a word to operations. */
function searchNodes(graph: StaticGraph, query: string): GraphsSearchResponse {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = graph.groups.flatMap(({ path: group, children }) => {
    const ancestors = [...listEnclosingGroups(graph, group), ...(group === '' ? [] : [group])];
    return children
      .filter(({ path, op }) => words.every((word) => matchesWord(word, path, op)))
      .map(({ path, kind, op, first, last }): SearchHitRow => ({
        ...{ path, kind, op, field: 'name', text: path },
        ...{ first, last, body: '', ancestors },
      }));
  });
  return { total: hits.length, hits: hits.slice(0, MAX_HITS) };
}

function matchesWord(word: string, path: string, op: string): boolean {
  if (word.startsWith('op:')) return op.toLowerCase().includes(word.slice('op:'.length));
  return `${path} ${op}`.toLowerCase().includes(word);
}

/** Return the groups around a group, outermost first. */
function listEnclosingGroups(graph: StaticGraph, group: string): string[] {
  const parent = graph.groups.find(({ children }) =>
    children.some(
      ({ path, functions }) =>
        path === group || functions.some((name) => makeBodyPath(path, name) === group),
    ),
  );
  if (!parent || parent.path === '') return [];
  return [...listEnclosingGroups(graph, parent.path), parent.path];
}

/** A static export has the importance and the sparklines of each metric, for all trials of a study. */
export const hparamsHandlers: StaticHandlers = {
  'POST hparams/importance': async (
    { metric, reduction, aggregation, sessions, study },
    contents,
  ) => {
    const isExported = reduction === 'last' && aggregation === null && sessions === null;
    if (!isExported) throw new NotExportedError();
    const query = encodeQuery({ metric, reduction: 'last', study });
    return (await contents.read(`api/v1/hparams/importance?${query}`)) as ImportanceResponse;
  },
  'POST hparams/sparklines': async ({ metric }, contents) => {
    const query = encodeQuery({ metric });
    return (await contents.read(`api/v1/hparams/sparklines?${query}`)) as SparklinesResponse;
  },
};

/** The timeline of a capture in a static export, which has one level of detail. */
export const profileHandlers: StaticHandlers = {
  'POST profile/timeline': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).timeline,
  'POST profile/timeline/tiles': async ({ capture }, contents) =>
    (await readTimeline(capture, contents)).tiles,
  'POST profile/timeline/counters': async ({ capture, start, end }, contents) => {
    const { counters } = (await readTimeline(capture, contents)).counters;
    return { counters: counters.map((counter) => selectTimes(counter, start ?? 0, end ?? 0)) };
  },
};

/** Return the part of a counter in a range of time, beginning with the value at its start. */
function selectTimes(counter: CounterTrack, start: number, end: number): CounterTrack {
  const first = Math.max(
    0,
    counter.times.findLastIndex((time) => time <= start),
  );
  const next = counter.times.findIndex((time) => time >= end);
  const last = next < 0 ? counter.times.length : next;
  const times = counter.times.slice(first, last).map((time) => Math.max(time, start));
  return { ...counter, times, values: counter.values.slice(first, last) };
}

async function readTimeline(capture: string, contents: ExportContents): Promise<StaticTimeline> {
  const path = `api/v1/profile/timeline?capture=${encodeURIComponent(capture)}`;
  return (await contents.read(path)) as StaticTimeline;
}

const API_PATH = 'api/v1/what_if/';

export const whatIfHandlers: StaticHandlers = {
  'POST what_if/columns': async (request, contents) =>
    selectColumns(await readSession(contents, request.session), request),
  'POST what_if/performance': async (request, contents) =>
    selectPerformance(await readSession(contents, request.session), request),
  'POST what_if/statistics': async ({ session }, contents) =>
    (await readSession(contents, session)).statistics,
  'GET what_if/image': async ({ session, feature, row = 0 }, contents) =>
    cutThumbnail(contents, session, feature, row),
  'GET what_if/row': async ({ session, row = 0 }, contents) =>
    makeRow(await readSession(contents, session), row),
};

async function readSession(contents: ExportContents, session: string): Promise<StaticSession> {
  const path = `${API_PATH}static?${encodeQuery({ session })}`;
  if (!contents.has(path)) throw new NotExportedError();
  return (await contents.read(path)) as StaticSession;
}

/** Return the small image of a row, of which the export has no larger one. */
async function cutThumbnail(
  contents: ExportContents,
  session: string,
  feature: string,
  row: number,
): Promise<Blob> {
  const { about, columns } = await readSession(contents, session);
  const query = encodeQuery({ session, feature });
  const at = columns?.rows.indexOf(row) ?? -1;
  if (at < 0 || !contents.has(`${API_PATH}thumbnails?${query}`)) throw new NotExportedError();
  const layout = (await contents.read(`${API_PATH}thumbnails?${query}`)) as SpriteTiles;
  const { per_tile: perTile, tile_columns: tileColumns } = layout;
  const { cell_width: width, cell_height: height } = layout;
  const tile = Math.floor(at / perTile);
  const path = `${API_PATH}thumbnail_tile?${query}&${encodeQuery({ version: about.version, tile })}`;
  const { content } = (await contents.read(path)) as { readonly content: Uint8Array };
  const place = at % perTile;
  const left = (place % tileColumns) * width;
  const top = Math.floor(place / tileColumns) * height;
  const sheet = new Blob([Uint8Array.from(content)], { type: 'image/png' });
  const image = await createImageBitmap(sheet, left, top, width, height);
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d')?.drawImage(image, 0, 0);
  return canvas.convertToBlob({ type: 'image/png' });
}
