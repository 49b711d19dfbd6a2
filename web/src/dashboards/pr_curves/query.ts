/** Queries of the PR curves dashboard. */
import { batchTags, defineQuery, type TagRequest } from '../../api/query-definition';
import type { CurveRow, HistoryResponse, HistoryRow, ValueRequest } from '../../api/schemas';

/** A curve, and the step at which the server finds it; null is the last step. */
export interface CurveRequest {
  readonly value: Required<ValueRequest>;
  readonly step: number | null;
}

/** A curve takes about 10 kB. */
const MAX_CACHED_CURVES = 800;

/** One curve; null if the run has another one at the step now. */
export const curveQuery = defineQuery('POST pr_curves/curves', {
  scope: 'immutable',
  maxCost: MAX_CACHED_CURVES,
  batch: {
    shared: ({ step }: CurveRequest) => ({ step }),
    item: ({ value }) => value,
    maxItems: 500,
    join: (requests) => ({
      tags: unique(requests.map(({ value }) => value.tag)),
      runs: unique(requests.map(({ value }) => value.run)),
      step: requests[0]?.step ?? null,
    }),
    split: ({ curves }, requests): (CurveRow | null)[] => {
      const byKey = new Map(curves.map((row) => [makeKey(row), row]));
      return requests.map(({ value }) => byKey.get(makeKey(value)) ?? null);
    },
  },
});

function makeKey({ run, tag, index, fingerprint }: Required<ValueRequest>): string {
  return JSON.stringify([run, tag, index, fingerprint]);
}

export type TagHistoryRequest = TagRequest<{ readonly runs: readonly string[] | null }>;

/** Every step of a tag has to be read, so that few tags are requested at once. */
const MAX_TAGS_PER_REQUEST = 4;

/** The measures of all curves of a tag. */
export const historyQuery = defineQuery('POST pr_curves/history', {
  scope: ({ view }: TagHistoryRequest) => view,
  batch: batchTags<TagHistoryRequest['view'], HistoryResponse, HistoryRow>(
    MAX_TAGS_PER_REQUEST,
    ({ series }) => series,
  ),
});

function unique<Item>(items: readonly Item[]): Item[] {
  return [...new Set(items)];
}
