import type { StepsRequest, StepsResponse } from '../schemas';
import type { ExportContents } from './contents';
import type { StaticHandlers } from './static-transport';

/** The steps of tags; an export has them tag by tag. */
export const stepsHandlers: StaticHandlers = {
  'POST audio/steps': (request, contents) => readSteps('audio', request, contents),
  'POST images/steps': (request, contents) => readSteps('images', request, contents),
  'POST mesh/steps': (request, contents) => readSteps('mesh', request, contents),
  'POST pr_curves/steps': (request, contents) => readSteps('pr_curves', request, contents),
  'POST text/steps': (request, contents) => readSteps('text', request, contents),
};

async function readSteps(
  dashboard: string,
  { tags }: StepsRequest,
  contents: ExportContents,
): Promise<StepsResponse> {
  const responses = await Promise.all(
    tags.map((tag) => contents.read(`api/v1/${dashboard}/steps/${encodeURIComponent(tag)}`)),
  );
  const series = (responses as StepsResponse[]).flatMap((response) => response.series);
  return { cursor: '', series };
}
