import { defineQuery } from '../../api/query-definition';

export const evaluationsQuery = defineQuery('GET fairness/evaluations', { scope: 'log' });

// A result may have megabytes, so it is not fetched again with every change of the log. Logged
// evaluations never change; a folder that was rewritten has a new `version`.
export const resultQuery = defineQuery('GET fairness/result', { scope: 'immutable', maxCost: 8 });

export const differenceQuery = defineQuery('POST fairness/difference', {
  scope: 'immutable',
  maxCost: 16,
});

export const plotsQuery = defineQuery('POST fairness/plots', { scope: 'immutable', maxCost: 32 });

export const datapointsQuery = defineQuery('GET fairness/datapoints', { scope: 'log' });

/** The queries whose data belongs to one version of an evaluation. */
export const VERSIONED_QUERIES = [resultQuery, differenceQuery, plotsQuery] as const;

export const historyQuery = defineQuery('POST fairness/history', {
  scope: ({ run }) => ({ runs: [run] }),
});

export const exportQuery = defineQuery('GET fairness/export', { scope: 'log', isFile: true });
