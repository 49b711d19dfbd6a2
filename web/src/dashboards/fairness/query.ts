/** Queries of the Fairness dashboard, and the link from a slice to its rows in What-If. */
import { defineQuery } from '../../api/query-definition';
import type { RowCondition, SliceDatapointsResponse } from '../../api/schemas';
import { list, text } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

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

/** A condition as What-If keeps it in the URL. */
export interface UrlCondition {
  readonly column: string;
  readonly value?: string | null;
  readonly low?: number;
  readonly high?: number;
  readonly isClosed?: boolean;
}

export function toUrlCondition(condition: RowCondition): UrlCondition {
  const { column, value, low, high, is_missing: isMissing, is_closed: isClosed } = condition;
  if (isMissing) return { column, value: null };
  if (value !== null) return { column, value };
  return {
    column,
    ...(low === null ? {} : { low }),
    ...(high === null ? {} : { high }),
    ...(isClosed ? { isClosed } : {}),
  };
}

/** Open What-If with the file of an evaluation, and with only the rows of a slice. */
export function openInWhatIf({ url }: Context, datapoints: SliceDatapointsResponse): void {
  const { path, label, prediction, task, conditions } = datapoints;
  const setText = (name: string, value: string): void => url.param(name, text, '').set(value);
  setText('wi', '');
  setText('wi-data', '');
  setText('wi-row', '');
  setText('wi-file', path);
  setText('wi-file-label', label);
  setText('wi-file-task', task === 'regression' ? 'regression' : '');
  url.param('wi-file-scores', list, []).set(prediction);
  setText('wi-filter', conditions.length > 0 ? JSON.stringify(conditions.map(toUrlCondition)) : '');
  url.param('tab', text, '').set('what_if', 'push');
}
