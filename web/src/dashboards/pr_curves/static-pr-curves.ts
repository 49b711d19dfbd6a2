import { makeValueRequest } from '../../api/client';
import type { CurveRow, HistoryResponse, StepsResponse } from '../../api/schemas';
import type { ExportContents, StaticHandlers } from '../../api/static/static-transport';
import { encodeQuery } from '../../api/transport';
import { indexAtStep, runSteps } from '../../cards/steps/step-selection.svelte';

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
