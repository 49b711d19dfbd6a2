import { defineQuery } from '../../api/query-definition';

const REFRESH_MS = 2000;
/** A run becomes stalled without any change of the log. */
const RUNNING_POLL_MS = 30_000;
/** The server is still adding the last change of a large log. */
const UPDATING_POLL_MS = 1000;

/** A page of the table of runs. */
export const runTableQuery = defineQuery('POST runs/table', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
  poll: ({ states, updating }) => {
    if (updating) return UPDATING_POLL_MS;
    return states['running'] || states['stalled'] ? RUNNING_POLL_MS : null;
  },
});

/** The hyperparameters and metrics that can be columns. */
export const columnListQuery = defineQuery('GET runs/columns', {
  scope: 'log',
  minRefreshMs: REFRESH_MS,
});
