/** Queries of the PR curves dashboard. */
import { defineQuery } from '../../api/query-definition';
import type { CurveRow, HistoryRow, ValueRequest } from '../../api/schemas';

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

export interface TagHistoryRequest {
  readonly view: { readonly runs: readonly string[] | null };
  readonly tag: string;
}

/** The measures of all curves of a tag. */
export const historyQuery = defineQuery('POST pr_curves/history', {
  scope: ({ view }: TagHistoryRequest) => view,
  batch: {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    // Every step of a tag has to be read.
    maxItems: 4,
    join: (requests) => ({
      tags: requests.map(({ tag }) => tag),
      runs: requests[0]?.view.runs ?? null,
    }),
    split: ({ series }, requests): (readonly HistoryRow[])[] =>
      requests.map(({ tag }) => series.filter((row) => row.tag === tag)),
  },
});

function unique<Item>(items: readonly Item[]): Item[] {
  return [...new Set(items)];
}
