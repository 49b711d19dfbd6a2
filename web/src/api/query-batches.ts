/** Batches of the requests that several dashboards have: one tag of many, one chart of many. */
import { ServerError } from './errors';
import type { Batch } from './query-definition';
import type { Problem } from './schemas';

/** A request for one tag; `view` has the fields that all tags of a dashboard share. */
export interface TagRequest<View extends object> {
  readonly view: View;
  readonly tag: string;
}

/** Combine requests for tags; `getRows` returns the rows of a response. */
export function batchTags<View extends object, Response, Row extends { readonly tag: string }>(
  maxItems: number,
  getRows: (response: Response) => readonly Row[],
): Batch<TagRequest<View>, View & { readonly tags: readonly string[] }, Response, readonly Row[]> {
  return {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    maxItems,
    join: (requests) => ({
      ...(requests as readonly [TagRequest<View>])[0].view,
      tags: requests.map(({ tag }) => tag),
    }),
    split: (response, requests) =>
      requests.map(({ tag }) => getRows(response).filter((row) => row.tag === tag)),
  };
}

/** The status of an error that affects one chart of a response. */
export const CHART_ERROR_STATUS = 200;

/** Number the charts of a request. */
export function joinCharts<Chart extends object>(
  requests: readonly { readonly chart: Chart }[],
): (Chart & { readonly id: string })[] {
  return requests.map(({ chart }, index) => ({ ...chart, id: String(index) }));
}

/** Return the charts of a response or why they failed. */
export function splitCharts<Row extends { readonly error: Problem | null }>(response: {
  readonly charts: readonly Row[];
}): (Row | ServerError)[] {
  return response.charts.map((row) =>
    row.error ? new ServerError(row.error, CHART_ERROR_STATUS) : row,
  );
}
