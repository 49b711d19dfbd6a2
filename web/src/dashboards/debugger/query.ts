import { defineQuery } from '../../api/query-definition';

/** A recording that grows is read again as a whole, so not more often than this. */
const REFRESH_MS = 2000;

/** All dumps and recordings of the log. */
export const sourcesQuery = defineQuery('GET debugger/sources', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

/** Root cause and number of alerts. */
export const overviewQuery = defineQuery('GET debugger/overview', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const alertsQuery = defineQuery('POST debugger/alerts', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const executionsQuery = defineQuery('POST debugger/executions', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const graphExecutionsQuery = defineQuery('POST debugger/graph_executions', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const timelineQuery = defineQuery('POST debugger/timeline', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const eventQuery = defineQuery('GET debugger/event', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const opQuery = defineQuery('GET debugger/op', { scope: 'log', minRefreshMs: REFRESH_MS });

/** Histograms of a tensor's values over its executions. */
export const histogramQuery = defineQuery('GET debugger/histogram', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

/** Source files do not change while a program runs. */
export const sourceFileQuery = defineQuery('GET debugger/source_file', {
  scope: 'immutable',
  maxCost: 20,
});

export const heatmapQuery = defineQuery('POST debugger/heatmap', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
  maxCost: 20,
});

/** All statistics of one tensor of a recording. */
export const tensorQuery = defineQuery('GET debugger/tensor', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

/** A tensor that was stored when a value became non-finite. */
export const storedValueQuery = defineQuery('GET debugger/value', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const compareQuery = defineQuery('POST debugger/compare', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});

export const compareDumpsQuery = defineQuery('POST debugger/compare_dumps', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});
