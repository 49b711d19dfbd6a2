import { defineQuery } from '../../api/query-definition';

/** How often the progress of reading a capture is requested. */
const PROGRESS_INTERVAL_MS = 300;
/** Responses have thousands of rows: keep those of a few captures. */
const MAX_CACHED_RESPONSES = 8;

/** With a `version` of the capture in the request, a response never changes. */
const immutable = { scope: 'immutable', maxCost: MAX_CACHED_RESPONSES } as const;

export const capturesQuery = defineQuery('GET profile/captures', {
  scope: 'log',
  select: ({ captures }) => captures,
});

/** Which tools have data; the server reads the capture first, which may take minutes. */
export const toolsQuery = defineQuery('GET profile/tools', immutable);

export const progressQuery = defineQuery('GET profile/opening', {
  scope: 'log',
  poll: () => PROGRESS_INTERVAL_MS,
  maxCost: 0,
});

export const overviewQuery = defineQuery('GET profile/overview', immutable);
export const stepsQuery = defineQuery('GET profile/steps', immutable);
export const hostsQuery = defineQuery('GET profile/hosts', immutable);
export const inputQuery = defineQuery('GET profile/input', immutable);
export const opsQuery = defineQuery('GET profile/ops', immutable);
export const operatorsQuery = defineQuery('GET profile/operators', immutable);
/** With a baseline, it can change with the log. */
export const callsQuery = defineQuery('GET profile/calls', {
  scope: 'log',
  maxCost: MAX_CACHED_RESPONSES,
});
export const kernelsQuery = defineQuery('GET profile/kernels', immutable);
export const memoryQuery = defineQuery('GET profile/memory', immutable);
export const heapQuery = defineQuery('GET profile/heap', immutable);
export const communicationQuery = defineQuery('GET profile/communication', immutable);
/** Names no version of the other hosts, so it can change with the log. */
export const ranksQuery = defineQuery('GET profile/communication/ranks', { scope: 'log' });
export const snapshotQuery = defineQuery('GET profile/memory/snapshot', immutable);
export const buffersQuery = defineQuery('GET profile/memory/buffers', immutable);
export const programQuery = defineQuery('GET profile/program', immutable);
export const programTextQuery = defineQuery('GET profile/program/text', immutable);
export const rooflineQuery = defineQuery('GET profile/roofline', immutable);

export const sqlQuery = defineQuery('POST profile/query', immutable);
export const sqlTablesQuery = defineQuery('GET profile/query/tables', immutable);
export const savedQueriesQuery = defineQuery('GET profile/query/saved', {
  scope: 'log',
  select: ({ queries }) => queries,
});

/** Names no version of the baseline capture, so it can change with the log. */
export const comparisonQuery = defineQuery('GET profile/compare', { scope: 'log' });

export const sameProgramQuery = defineQuery('GET profile/compare/same-program', { scope: 'log' });

export const timelineQuery = defineQuery('POST profile/timeline', immutable);
export const eventQuery = defineQuery('POST profile/timeline/event', {
  scope: 'immutable',
  priority: 'high',
});
export const notesQuery = defineQuery('GET profile/timeline/notes', {
  scope: 'log',
  select: ({ notes }) => notes,
});
export const selectionQuery = defineQuery('POST profile/timeline/selection', immutable);
export const eventSetQuery = defineQuery('POST profile/timeline/events', immutable);
export const searchQuery = defineQuery('POST profile/timeline/search', immutable);
export const countersQuery = defineQuery('POST profile/timeline/counters', immutable);
export const flowsQuery = defineQuery('POST profile/timeline/flows', immutable);
/** Tiles are kept by `TileCache`. */
export const tilesQuery = defineQuery('POST profile/timeline/tiles', {
  scope: 'immutable',
  maxCost: 0,
});
