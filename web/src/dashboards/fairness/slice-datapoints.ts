/** Open the rows of a slice in What-If, through its part of the URL. */
import type { RowCondition, SliceDatapointsResponse } from '../../api/schemas';
import { list, text } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

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
