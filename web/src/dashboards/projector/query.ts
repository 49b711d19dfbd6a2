import { defineQuery } from '../../api/query-definition';
import type { JobStatus, ProjectorLayoutResponse } from '../../api/schemas';
import { LabelColumn } from './label-columns';

const MAX_COLUMN_BYTES = 100e6;
const MAX_LAYOUT_BYTES = 100e6;
const MAX_SPRITE_BYTES = 50e6;
const MAX_TILE_BYTES = 50e6;

/** Pause between two requests for a running job, and after a request that brought nothing new. */
const POLL_MS = 150;
const IDLE_POLL_MS = 600;

export const embeddingsQuery = defineQuery('GET projector/embeddings', { scope: 'log' });

// Requests name the fingerprint of the files (`mark`). What depends on labels changes only when the
// user edits them: see `ProjectorState.reloadLabels`.
export const infoQuery = defineQuery('GET projector/about', { scope: 'immutable' });
export const pointQuery = defineQuery('GET projector/point', { scope: 'immutable' });
export const searchQuery = defineQuery('POST projector/search', { scope: 'immutable' });
export const rowsQuery = defineQuery('POST projector/rows', { scope: 'immutable', maxCost: 60 });
/** Histograms of embeddings whose columns are too long for the page. */
export const histogramsQuery = defineQuery('POST projector/histograms', { scope: 'immutable' });
export const neighborsQuery = defineQuery('POST projector/neighbors', { scope: 'immutable' });
export const similarQuery = defineQuery('POST projector/similar', { scope: 'immutable' });
export const matchQuery = defineQuery('POST projector/match', { scope: 'immutable' });
export const bookmarksQuery = defineQuery('GET projector/bookmarks', { scope: 'immutable' });

export const columnQuery = defineQuery('GET projector/column', {
  scope: 'immutable',
  select: (column) => new LabelColumn(column),
  cost: ({ sizeBytes }) => sizeBytes,
  maxCost: MAX_COLUMN_BYTES,
});

export const spriteQuery = defineQuery('GET projector/sprite', {
  scope: 'immutable',
  isFile: true,
  cost: ({ size }) => size,
  maxCost: MAX_SPRITE_BYTES,
});

// ---- Jobs

/** Starts a layout; the server returns the same job for equal requests. */
export const projectQuery = defineQuery('POST projector/project', { scope: 'immutable' });

/** Follows a layout until it has ended. Responses without coordinates keep the previous ones. */
export const layoutQuery = defineQuery('GET projector/layout', {
  scope: 'immutable',
  update: {
    // A job that has ended may have been started again: its frames are counted from 0.
    request: (request, { job }) => ({ ...request, known_frame: isRunning(job) ? job.frame : 0 }),
    merge: (data, item) =>
      item.coordinates.length > 0
        ? item
        : { ...item, rows: data.rows, coordinates: data.coordinates },
  },
  poll: ({ job }, previous) => getPollDelayMs(job, previous?.job),
  cost: getLayoutBytes,
  maxCost: MAX_LAYOUT_BYTES,
});

export const qualityQuery = defineQuery('GET projector/quality', { scope: 'immutable' });

export const regionsQuery = defineQuery('GET projector/regions', { scope: 'immutable' });

// ---- Layouts that are drawn as tiles

export const densityQuery = defineQuery('GET projector/density', { scope: 'immutable' });
export const nearestQuery = defineQuery('GET projector/nearest', { scope: 'immutable' });
export const positionsQuery = defineQuery('POST projector/positions', { scope: 'immutable' });

export const tileQuery = defineQuery('GET projector/tile', {
  scope: 'immutable',
  cost: ({ density, colors }) => density.byteLength + (colors?.byteLength ?? 0),
  maxCost: MAX_TILE_BYTES,
});

// ---- Clusters

export const clustersQuery = defineQuery('GET projector/clusters', {
  scope: 'immutable',
  poll: ({ job }, previous) => getPollDelayMs(job, previous?.job),
  cost: ({ codes }) => codes.byteLength,
  maxCost: MAX_LAYOUT_BYTES,
});

export function isRunning({ state }: JobStatus): boolean {
  return state === 'running' || state === 'waiting';
}

function getPollDelayMs(job: JobStatus, previous: JobStatus | undefined): number | null {
  if (!isRunning(job)) return null;
  return job.frame === previous?.frame ? IDLE_POLL_MS : POLL_MS;
}

function getLayoutBytes({ coordinates }: ProjectorLayoutResponse): number {
  return coordinates.reduce((total, { byteLength }) => total + byteLength, 0);
}
