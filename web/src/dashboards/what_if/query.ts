import { defineQuery } from '../../api/query-definition';
import type {
  ColumnValues,
  DataColumnsResponse,
  ModelJobStatus,
  SliceThresholds,
} from '../../api/schemas';

const MAX_COLUMN_BYTES = 200e6;
const MAX_THUMBNAIL_BYTES = 50e6;
const MAX_IMAGE_BYTES = 20e6;
const POLL_MS = 150;

// Data sets change only by the requests of a user, after which these queries are invalidated.
export const filesQuery = defineQuery('GET what_if/files', { scope: 'immutable' });
export const sessionsQuery = defineQuery('GET what_if/sessions', { scope: 'immutable' });

/** One column of a data set. */
export interface ColumnRequest {
  readonly session: string;
  readonly name: string;
  /** Scores from here on are predicted as positive. */
  readonly threshold: number;
  /** Slices with thresholds of their own. */
  readonly sliceThresholds: SliceThresholds | null;
}

/** The values of a column in the rows that are not deleted. */
export interface ColumnData extends ColumnValues {
  readonly version: number;
  /** The number of each row. */
  readonly rows: Int32Array;
}

export const columnQuery = defineQuery<
  'POST what_if/columns',
  ColumnRequest,
  ColumnData,
  ColumnData
>('POST what_if/columns', {
  scope: 'immutable',
  batch: {
    shared: ({ session, threshold, sliceThresholds }) => ({ session, threshold, sliceThresholds }),
    item: ({ name }) => name,
    maxItems: 20,
    join: (requests) => ({
      session: requests[0]?.session ?? '',
      threshold: requests[0]?.threshold ?? 0.5,
      slice_thresholds: requests[0]?.sliceThresholds ?? null,
      names: requests.map(({ name }) => name),
    }),
    split: ({ version, rows, columns }: DataColumnsResponse) =>
      columns.map((column) => ({ ...column, version, rows })),
  },
  cost: ({ numbers, codes }) => (numbers?.byteLength ?? 0) + (codes?.byteLength ?? 0),
  maxCost: MAX_COLUMN_BYTES,
});

export const thumbnailsQuery = defineQuery('GET what_if/thumbnails', { scope: 'immutable' });
export const thumbnailTileQuery = defineQuery('GET what_if/thumbnail_tile', {
  scope: 'immutable',
  isFile: true,
  cost: ({ size }) => size,
  maxCost: MAX_THUMBNAIL_BYTES,
});

/** An image of one row. In a static export, its thumbnail. */
export const imageQuery = defineQuery('GET what_if/image', {
  scope: 'immutable',
  isFile: true,
  cost: ({ size }) => size,
  maxCost: MAX_IMAGE_BYTES,
});

export const rowQuery = defineQuery('GET what_if/row', { scope: 'immutable' });
/** Polls while the server computes the distances. */
export const distancesQuery = defineQuery('POST what_if/distances', {
  scope: 'immutable',
  maxCost: 8,
  poll: ({ status }) => (status && isRunning(status) ? POLL_MS : null),
});
export const counterfactualsQuery = defineQuery('POST what_if/counterfactuals', {
  scope: 'immutable',
});
/** Polls while the server computes the metrics of a large table; so does the next one. */
export const performanceQuery = defineQuery('POST what_if/performance', {
  scope: 'immutable',
  poll: ({ status }) => (status && isRunning(status) ? POLL_MS : null),
});
export const comparisonQuery = defineQuery('POST what_if/comparison', {
  scope: 'immutable',
  poll: ({ status }) => (status && isRunning(status) ? POLL_MS : null),
});
export const optimizeQuery = defineQuery('POST what_if/optimize', { scope: 'immutable' });
export const frontierQuery = defineQuery('POST what_if/frontier', { scope: 'immutable' });
export const saliencyQuery = defineQuery('POST what_if/saliency', { scope: 'immutable' });
export const statisticsQuery = defineQuery('POST what_if/statistics', { scope: 'immutable' });

/** Follows a job until it has ended. */
export const jobQuery = defineQuery('GET what_if/job', {
  scope: 'immutable',
  poll: ({ status }) => (isRunning(status) ? POLL_MS : null),
});

/** The queries whose data belongs to one version of a data set. */
export const VERSIONED_QUERIES = [
  sessionsQuery,
  columnQuery,
  thumbnailsQuery,
  rowQuery,
  distancesQuery,
  counterfactualsQuery,
  performanceQuery,
  comparisonQuery,
  optimizeQuery,
  frontierQuery,
  saliencyQuery,
  statisticsQuery,
] as const;

export function isRunning({ state }: ModelJobStatus): boolean {
  return state === 'running' || state === 'waiting';
}
