import type { DebugAlertsRequest, DebugAlertsResponse, HeatmapResponse } from '../../api/schemas';
import type { StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';

const DEFAULT_ROWS = 200;

/** A static export has the first alerts and the heat maps of each source, without filters. */
export const debuggerHandlers: StaticHandlers = {
  'POST debugger/alerts': async (request, contents) => {
    const path = `api/v1/debugger/alerts?${encodeQuery({ source: request.source })}`;
    return selectAlerts((await contents.read(path)) as DebugAlertsResponse, request);
  },
  'POST debugger/heatmap': async ({ source, stat = 'norm', roles = [], query = '' }, contents) => {
    const path = `api/v1/debugger/heatmap?${encodeQuery({ source, stat })}`;
    return selectTensors((await contents.read(path)) as HeatmapResponse, roles, query);
  },
};

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
