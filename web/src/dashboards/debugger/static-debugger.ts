import type {
  CompareDumpsResponse,
  CompareRecordingsResponse,
  DebugAlertsRequest,
  DebugAlertsResponse,
  EventColumns,
  ExecutionTimelineResponse,
  HeatmapResponse,
  RowsRequest,
} from '../../api/schemas';
import type { StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';

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
