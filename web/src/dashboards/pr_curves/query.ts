/** Queries of the PR curves dashboard. */
import { encodeQuery } from '../../api/transport';
import { defineQuery } from '../../api/query-definition';
import { batchTags, type TagRequest } from '../../cards/card-sections';
import type {
  CurveRow,
  HistoryResponse,
  HistoryRow,
  StepsResponse,
  ValueRequest,
} from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import { indexAtStep, makeValueRequest, runSteps } from '../../cards/steps/step-selection.svelte';

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

const API_PATH = 'api/v1/pr_curves/';

/** Answer requests from a static export, which has one file per curve and one history per tag. */
export const prCurveHandlers: StaticHandlers = {
  'POST pr_curves/curves': async ({ tags, runs = null, step = null }, contents) => {
    const found = await Promise.all(tags.map((tag) => readCurves(tag, runs, step, contents)));
    return { cursor: '', curves: found.flat() };
  },
  'POST pr_curves/history': async ({ tags }, contents) => {
    const paths = tags.map((tag) => `${API_PATH}history/${encodeURIComponent(tag)}`);
    const found = await Promise.all(paths.map((path) => contents.read(path)));
    return { cursor: '', series: (found as HistoryResponse[]).flatMap(({ series }) => series) };
  },
};

async function readCurves(
  tag: string,
  runs: readonly string[] | null,
  step: number | null,
  contents: ExportContents,
): Promise<readonly CurveRow[]> {
  const path = `${API_PATH}steps/${encodeURIComponent(tag)}`;
  const { series } = (await contents.read(path)) as StepsResponse;
  const selected = series.filter(({ run }) => runs?.includes(run) ?? true).map(runSteps);
  const paths = selected.flatMap((steps) => {
    const position = indexAtStep(steps, step);
    return position < 0
      ? []
      : [`${API_PATH}curve?${encodeQuery({ ...makeValueRequest(steps, position) })}`];
  });
  const curves = paths.filter((one) => contents.has(one)).map((one) => contents.read(one));
  return (await Promise.all(curves)) as readonly CurveRow[];
}
