import { fileName, saveAs, saveFrom } from '../../../wall/takeaway/save';
import { toCsv } from '../../../wall/takeaway/table';
import type { MenuItem } from '../../../widgets/menu';
import type { OverviewAnswer, StepsAnswer } from '../data/answers';
import type { Profile } from '../profile.svelte';
import { queryOf } from '../state/asks';
import { makeTable } from './steps';

const PERFETTO = 'https://ui.perfetto.dev';

/** What of a capture can be taken away: its numbers, or the file in the form that others read. */
export function downloadItems(profile: Profile): MenuItem[][] {
  const numbers = [
    { label: 'Overview as JSON', run: () => void saveOverview(profile) },
    { label: 'Steps as CSV', run: () => void saveSteps(profile) },
  ];
  const pictures = profile.pictures.length > 0 ? [[...profile.pictures]] : [];
  return [...pictures, numbers, ...(profile.context.isStatic ? [] : fileItems(profile))];
}

function fileItems(profile: Profile): MenuItem[][] {
  const save = (format: 'original' | 'chrome'): void =>
    saveFrom(profile.api.url(queryOf('file', { ...profile.ask, mark: null }, { format })));
  return [
    [
      { label: 'The capture as it was written', run: () => save('original') },
      { label: 'Trace for Perfetto and Chrome', hint: '.json.gz', run: () => save('chrome') },
    ],
    [
      {
        label: 'Open Perfetto (then drop the trace there)',
        run: () => void open(PERFETTO, '_blank', 'noopener'),
      },
    ],
  ];
}

async function saveOverview(profile: Profile): Promise<void> {
  const overview = await profile.get<OverviewAnswer>('overview');
  const text = JSON.stringify(overview, null, 2);
  saveAs(new Blob([text], { type: 'application/json' }), `${titleOf(profile)}_overview.json`);
}

async function saveSteps(profile: Profile): Promise<void> {
  const steps = await profile.get<StepsAnswer>('steps');
  saveAs(
    new Blob([toCsv(makeTable(steps))], { type: 'text/csv' }),
    `${titleOf(profile)}_steps.csv`,
  );
}

export function titleOf({ capture }: Profile): string {
  return fileName(`${capture.run} ${capture.title}`);
}
