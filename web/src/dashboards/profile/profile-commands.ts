import { QueryError } from '../../api/errors';
import type { ProfileStepsResponse } from '../../api/schemas';
import { encodeQuery } from '../../api/transport';
import { downloadBlob, downloadUrl, type ExportTable, toCsv, toFileName } from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/profile';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { Shortcut } from '../../plugin/context';
import { formatStepName } from './display';
import type { ProfileState } from './profile-state.svelte';
import { overviewQuery, stepsQuery } from './query';

const PERFETTO_URL = 'https://ui.perfetto.dev';

/** Return a row per step with the time of its parts in milliseconds. */
export function makeStepsTable({
  names,
  start_ms,
  total_ms,
  parts,
  other_ms,
}: ProfileStepsResponse): ExportTable {
  const columns = [
    ['start_ms', start_ms],
    ['total_ms', total_ms],
    ...parts.map(({ name, exclusive_ms }) => [`${name}_ms`, exclusive_ms] as const),
    ['other_ms', other_ms],
  ] as const;
  return {
    columns: ['step', ...columns.map(([name]) => name)],
    rows: names.map((name, step) => [
      formatStepName(name),
      ...columns.map(([, ms]) => ms[step] ?? null),
    ]),
  };
}

export function makeExportMenu(profile: ProfileState): MenuItem[][] {
  const tables = [
    { label: m.exportOverviewJson, run: () => save(profile, saveOverview) },
    { label: m.exportStepsCsv, run: () => save(profile, saveSteps) },
  ];
  const images = profile.imageExports.length > 0 ? [[...profile.imageExports]] : [];
  return [...images, tables, ...(profile.canAnalyze ? makeFileItems(profile) : [])];
}

function makeFileItems(profile: ProfileState): MenuItem[][] {
  const download = (format: 'original' | 'chrome'): void => {
    const { capture, host } = profile.request;
    downloadUrl(profile.context.api.url(`file?${encodeQuery({ capture, host, format })}`));
  };
  return [
    [
      { label: m.exportOriginal, run: () => download('original') },
      { label: m.exportChromeLabel, hint: m.exportChromeHint, run: () => download('chrome') },
    ],
    [
      {
        label: m.exportPerfetto,
        run: () => void open(PERFETTO_URL, '_blank', 'noopener'),
      },
    ],
  ];
}

function save(profile: ProfileState, run: (profile: ProfileState) => Promise<void>): void {
  profile.exportError = null;
  run(profile).catch((error: unknown) => {
    if (error instanceof QueryError) profile.exportError = error.problem;
    else profile.context.reportError(error);
  });
}

async function saveOverview(profile: ProfileState): Promise<void> {
  const overview = await profile.context.queries.fetch(overviewQuery, profile.request);
  const text = JSON.stringify(overview, null, 2);
  downloadBlob(
    new Blob([text], { type: 'application/json' }),
    `${getExportFileName(profile)}_overview.json`,
  );
}

async function saveSteps(profile: ProfileState): Promise<void> {
  const steps = await profile.context.queries.fetch(stepsQuery, profile.request);
  downloadBlob(
    new Blob([toCsv(makeStepsTable(steps))], { type: 'text/csv' }),
    `${getExportFileName(profile)}_steps.csv`,
  );
}

export function getExportFileName({ capture }: ProfileState): string {
  return toFileName(`${capture.run} ${capture.title}`);
}

/** Register the shortcuts of the dashboard; returns a function that removes them. */
export function registerProfileShortcuts(profile: ProfileState): () => void {
  const { loader, captures } = profile;
  const moveTool = (by: number): void => {
    const { availableTools, currentTool } = loader;
    const index = availableTools.findIndex(({ name }) => name === currentTool?.name);
    const next = availableTools[(index + by + availableTools.length) % availableTools.length];
    if (next) profile.openTool(next.name);
  };
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'v', label: m.shortcutNextTool, run: () => moveTool(1) },
    { keys: 'Shift+V', label: m.shortcutPreviousTool, run: () => moveTool(-1) },
    { keys: 'x', label: m.baselineSwap, run: () => captures.swap() },
  ];
  const removers = shortcuts.map((shortcut) =>
    profile.context.shortcuts.register({ ...shortcut, group: common.profile }),
  );
  return () => removers.forEach((remove) => remove());
}
