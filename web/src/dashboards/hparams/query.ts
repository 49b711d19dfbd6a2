import { defineQuery } from '../../api/query-definition';
import type { ImportanceRequest, SessionsRequest, SessionsResponse } from '../../api/schemas';
import type { HParamsSettings } from './hparams-settings';
import { applyTrialsUpdate } from './model/trials-response';

/** All sessions; later responses have only what changed. */
export const sessionsQuery = defineQuery('GET hparams/sessions', {
  scope: 'log',
  update: {
    request: (request, { revision }) => ({ ...request, since: revision }),
    merge: (data: SessionsResponse, changes) =>
      changes.base === null ? changes : applyTrialsUpdate(data, changes),
  },
});

/** How metrics and repeated trials are summarized. A static export has the response for `last`. */
export function makeSessionsRequest(settings: HParamsSettings): SessionsRequest {
  const { reduction, lastCount, step, repeats } = settings;
  return {
    how: reduction.value,
    ...(repeats.value === 'each' ? {} : { over: repeats.value }),
    ...(reduction.value === 'mean' ? { n: lastCount.value } : {}),
    ...(reduction.value === 'step' ? { step: step.value } : {}),
  };
}

export const importanceQuery = defineQuery('POST hparams/importance', {
  scope: 'log',
  minRefreshMs: 1500,
  maxCost: 20,
});

/** `sessions`: those that pass the filters; null: all. */
export function makeImportanceRequest(
  settings: HParamsSettings,
  metric: string,
  sessions: readonly string[] | null,
): ImportanceRequest {
  const { reduction, lastCount, step, repeats } = settings;
  return {
    metric,
    how: reduction.value,
    n: lastCount.value,
    step: step.value,
    over: repeats.value === 'each' ? null : repeats.value,
    sessions,
  };
}

export interface SparklineRequest {
  readonly view: { readonly metric: string };
  readonly session: string;
}

const SPARKLINE_POINTS = 40;

/** The metric of one session over its steps; null if it has none. */
export const sparklineQuery = defineQuery('POST hparams/sparklines', {
  scope: 'log',
  maxCost: 1000,
  batch: {
    shared: ({ view }: SparklineRequest) => view,
    item: ({ session }) => session,
    maxItems: 100,
    join: (requests) => ({
      metric: requests[0]?.view.metric ?? '',
      sessions: requests.map(({ session }) => session),
      points: SPARKLINE_POINTS,
    }),
    split: ({ lines }, requests): (Float32Array | null)[] => {
      const bySession = new Map(lines.map(({ session, y }) => [session, y]));
      return requests.map(({ session }) => bySession.get(session) ?? null);
    },
  },
});
