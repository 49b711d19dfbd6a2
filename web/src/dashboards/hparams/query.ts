/** The queries of the dashboard. The server calls a trial a session. */
import { defineQuery } from '../../api/query-definition';
import type {
  ImportanceRequest,
  SessionsRequest,
  SessionsResponse,
  TrialQuery,
} from '../../api/schemas';
import type { HParamsSettings } from './hparams-settings';
import { applyTrialsUpdate } from './model/trials-response';

/** All trials. Later responses have only the rows that changed. */
export const sessionsQuery = defineQuery('GET hparams/sessions', {
  scope: 'log',
  update: {
    request: (request, { revision }) => ({ ...request, since: revision }),
    merge: (data: SessionsResponse, changes) =>
      changes.since === null ? changes : applyTrialsUpdate(data, changes),
  },
});

/** Some trials of a large log: a page of the table, and a sample for plots. */
export const trialsQuery = defineQuery('POST hparams/trials', {
  scope: 'log',
  minRefreshMs: 2000,
  maxCost: 10,
});

/** The distributions of columns over all trials of a large log. */
export const facetsQuery = defineQuery('POST hparams/facets', {
  scope: 'log',
  minRefreshMs: 2000,
  maxCost: 10,
});

/** Return how metrics are reduced and repeats aggregated. A static export has only `last`. */
export function makeSessionsRequest(settings: HParamsSettings): SessionsRequest {
  const { reduction, lastCount, step, repeats, study } = settings;
  return {
    reduction: reduction.value,
    ...(repeats.value === 'each' ? {} : { aggregation: repeats.value }),
    ...(reduction.value === 'mean' ? { count: lastCount.value } : {}),
    ...(reduction.value === 'step' ? { step: step.value } : {}),
    ...(study.value === null ? {} : { study: study.value }),
  };
}

export const importanceQuery = defineQuery('POST hparams/importance', {
  scope: 'log',
  minRefreshMs: 1500,
  maxCost: 20,
});

/**
 * `sessions` are the trials that pass the filters, by name or, in a large log, as a query; null means
 * all.
 */
export function makeImportanceRequest(
  settings: HParamsSettings,
  metric: string,
  sessions: readonly string[] | TrialQuery | null,
): ImportanceRequest {
  const { reduction, lastCount, step, repeats, study } = settings;
  return {
    metric,
    reduction: reduction.value,
    count: lastCount.value,
    step: step.value,
    aggregation: repeats.value === 'each' ? null : repeats.value,
    study: study.value,
    ...(sessions === null || isList(sessions) ? { sessions } : { query: sessions }),
  };
}

function isList(sessions: readonly string[] | TrialQuery): sessions is readonly string[] {
  return Array.isArray(sessions);
}

/** The curves of a metric of many trials. */
export const curvesQuery = defineQuery('POST hparams/sparklines', {
  scope: 'log',
  minRefreshMs: 1500,
  maxCost: 5,
});

export interface SparklineRequest {
  readonly view: { readonly metric: string };
  readonly session: string;
}

const SPARKLINE_POINTS = 40;

/** The values of a metric of one trial; null if it does not have the metric. */
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
