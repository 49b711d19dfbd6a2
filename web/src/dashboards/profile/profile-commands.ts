import { downloadBlob, downloadUrl, type ExportTable, toCsv, toFileName } from '../../cards/export';
import type { MenuItem } from '../../components/menu';
import type { Shortcut } from '../../plugin/context';
import { makeRequestPath } from './captures';
import type { ProfileState } from './profile-state.svelte';
import type { ProfileSummary, StepsResponse } from './schemas';

/** Every step with its parts, in milliseconds. */
export function makeStepsTable({
  names,
  start_ms,
  total_ms,
  parts,
  other,
}: StepsResponse): ExportTable {
  const columns = [
    ['start_ms', start_ms],
    ['total_ms', total_ms],
    ...parts.map(({ name, counted }) => [`${name}_ms`, counted] as const),
    ['other_ms', other],
  ] as const;
  return {
    columns: ['step', ...columns.map(([name]) => name)],
    rows: names.map((name, step) => [name, ...columns.map(([, ms]) => ms[step] ?? null)]),
  };
}

const PERFETTO_URL = 'https://ui.perfetto.dev';

/** What of a capture can be taken away: its numbers, or the file in the form that others read. */
export function makeExportMenu(profile: ProfileState): MenuItem[][] {
  const numbers = [
    { label: 'Overview as JSON', run: () => void saveOverview(profile) },
    { label: 'Steps as CSV', run: () => void saveSteps(profile) },
  ];
  const pictures = profile.imageExports.length > 0 ? [[...profile.imageExports]] : [];
  return [...pictures, numbers, ...(profile.context.isStatic ? [] : makeFileItems(profile))];
}

function makeFileItems(profile: ProfileState): MenuItem[][] {
  const save = (format: 'original' | 'chrome'): void =>
    downloadUrl(
      profile.api.url(makeRequestPath('file', { ...profile.request, mark: null }, { format })),
    );
  return [
    [
      { label: 'The capture as it was written', run: () => save('original') },
      { label: 'Trace for Perfetto and Chrome', hint: '.json.gz', run: () => save('chrome') },
    ],
    [
      {
        label: 'Open Perfetto (then drop the trace there)',
        run: () => void open(PERFETTO_URL, '_blank', 'noopener'),
      },
    ],
  ];
}

async function saveOverview(profile: ProfileState): Promise<void> {
  const overview = await profile.fetch<ProfileSummary>('overview');
  const text = JSON.stringify(overview, null, 2);
  downloadBlob(
    new Blob([text], { type: 'application/json' }),
    `${getExportFileName(profile)}_overview.json`,
  );
}

async function saveSteps(profile: ProfileState): Promise<void> {
  const steps = await profile.fetch<StepsResponse>('steps');
  downloadBlob(
    new Blob([toCsv(makeStepsTable(steps))], { type: 'text/csv' }),
    `${getExportFileName(profile)}_steps.csv`,
  );
}

export function getExportFileName({ capture }: ProfileState): string {
  return toFileName(`${capture.run} ${capture.title}`);
}

/** The keys of the dashboard; returns how to take them back. */
export function registerProfileShortcuts(profile: ProfileState): () => void {
  const { loader, captures } = profile;
  const step = (by: number): void => {
    const { availableTools, currentTool } = loader;
    const at = availableTools.findIndex(({ name }) => name === currentTool?.name);
    const next = availableTools[(at + by + availableTools.length) % availableTools.length];
    if (next) profile.openTool(next.name);
  };
  const keys: Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: 'Next tool', run: () => step(1) },
    { keys: 'Shift+V', label: 'Tool before', run: () => step(-1) },
    { keys: 'x', label: 'Let the two captures change places', run: () => captures.swap() },
  ];
  const stops = keys.map((key) => profile.context.shortcuts.register({ ...key, group: 'Profile' }));
  return () => stops.forEach((stop) => stop());
}
