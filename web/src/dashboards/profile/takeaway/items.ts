import { saveFrom } from '../../../wall/takeaway/save';
import type { MenuItem } from '../../../widgets/menu';
import type { Profile } from '../profile.svelte';
import { queryOf } from '../state/asks';

const PERFETTO = 'https://ui.perfetto.dev';

/** What of a capture can be taken away: the file as it is, or in the form that other viewers read. */
export function downloadItems(profile: Profile): MenuItem[][] {
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
