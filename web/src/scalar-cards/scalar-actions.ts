/** Menu items, keyboard shortcuts, commands and exports of scalar cards. */
import { toProblem } from '../api/errors';
import type { DownloadFormat } from '../api/schemas';
import {
  downloadBlob,
  type ImageExporter,
  listImageExportItems,
  type LogRoot,
  openLogLines,
  quotePython,
  toFileName,
} from '../cards/export';
import { hasCard, NO_CARDS, toggleCard, withCardValue } from '../cards/card-grid.svelte';
import * as cardMessages from '../catalog/cards';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import { findNextX } from '../charts/line/line-overlay';
import type { MenuItem } from '../components/MenuItems.svelte';
import type { Command, Shortcut } from '../plugin/context';
import type { ScalarCard } from './chart-lines';
import { makeGroupRequest } from './query';
import type { ScalarChartModel, ScalarGridState } from './scalar-grid.svelte';
import type { CardDisplay } from './scalar-settings';

export type CardDialogName = 'range' | 'annotation' | 'python' | 'image';

// ---- menu of a card

/** Return the menu of a card in groups; `extraItems` come from the dashboard. */
export function makeScalarCardMenu(
  grid: ScalarGridState,
  chart: ScalarChartModel,
  getExporter: () => ImageExporter | null,
  openDialog: (name: CardDialogName) => void,
  extraItems: readonly MenuItem[],
): readonly (readonly MenuItem[])[] {
  const { card } = chart;
  const { context, settings } = grid;
  const { logX, logY, zooms } = settings;
  const exportItem = (label: string, format: DownloadFormat): MenuItem => ({
    label,
    run: () => void exportCard(grid, card, format),
  });
  return [
    [
      {
        label: m.logY,
        hint: 'y',
        checked: hasCard(logY.value, card.id),
        run: () => logY.set(toggleCard(logY.value, card.id)),
      },
      {
        label: m.logX,
        checked: hasCard(logX.value, card.id),
        run: () => logX.set(toggleCard(logX.value, card.id)),
      },
      {
        label: m.fit,
        icon: 'fit',
        disabled: chart.zoom === null,
        run: () => zooms.set(withCardValue(zooms.value, card.id, null)),
      },
      { label: m.axisRangeOpen, run: () => openDialog('range') },
    ],
    [
      ...extraItems,
      ...(context.supports('POST notes/annotations')
        ? [{ label: m.annotationOpen, run: () => openDialog('annotation') }]
        : []),
    ],
    [
      exportItem(common.exportCsv, 'csv'),
      exportItem(common.exportJson, 'json'),
      ...listImageExportItems(getExporter, card.title),
      { label: m.imageOpen, disabled: !getExporter(), run: () => openDialog('image') },
      { label: common.copyAsPython, run: () => openDialog('python') },
    ],
  ];
}

/** Return toggles that show a card as a table or as bars instead of a chart. */
export function displayItems(
  { settings }: ScalarGridState,
  { card, display }: ScalarChartModel,
): MenuItem[] {
  const { displays } = settings;
  const toggle = (value: CardDisplay): void =>
    displays.set(withCardValue(displays.value, card.id, value === display ? null : value));
  return [
    { label: common.table, checked: display === 'table', run: () => toggle('table') },
    { label: m.displayBars, checked: display === 'bars', run: () => toggle('bars') },
  ];
}

// ---- shortcuts and commands

/** Change of the smoothing weight per key press. */
const SMOOTHING_STEP = 0.05;

type ScalarShortcut = Omit<Shortcut, 'group'>;

/** Register the shortcuts of scalar charts; return a function that removes them. */
export function registerScalarShortcuts(grid: ScalarGridState): () => void {
  const group = grid.info.title;
  const stops = [...viewShortcuts(grid), ...cursorShortcuts(grid)].map((shortcut) =>
    grid.context.shortcuts.register({ ...shortcut, group }),
  );
  return () => stops.forEach((stop) => stop());
}

function viewShortcuts({ settings, pointer }: ScalarGridState): ScalarShortcut[] {
  const { showTables, dragSelectsRange, smoothing, zooms, logY } = settings;
  const smooth = (change: number) => (): void => {
    const { min, max, sliderMax } = smoothing.spec;
    const step = smoothing.kind === 'ema' ? change : Math.sign(change) * Math.round(sliderMax / 20);
    const amount = Math.min(max, Math.max(min, smoothing.amount + step));
    smoothing.setAmount(Number(amount.toFixed(3)));
  };
  return [
    { keys: 'd', label: m.tableToggle, run: () => showTables.set(!showTables.value) },
    { keys: 'r', label: m.rangeToggle, run: () => dragSelectsRange.set(!dragSelectsRange.value) },
    { keys: 'z', label: m.settingsResetAllZoom, run: () => zooms.set(new Map()) },
    { keys: '[', label: m.smoothingLess, run: smooth(-SMOOTHING_STEP) },
    { keys: ']', label: m.smoothingMore, run: smooth(SMOOTHING_STEP) },
    {
      keys: 'y',
      label: m.logY,
      run: () =>
        pointer.activeChart && logY.set(toggleCard(logY.value, pointer.activeChart.card.id)),
    },
  ];
}

function cursorShortcuts({ pointer, context }: ScalarGridState): ScalarShortcut[] {
  const { cursor } = context;
  const move = (direction: 1 | -1) => (): void => {
    const chart = pointer.pinned?.chart ?? pointer.activeChart;
    if (cursor.pinned === null || !chart) return;
    const offset = direction * Number.EPSILON * 1e4 * (1 + Math.abs(cursor.pinned));
    const next = findNextX(chart.series, cursor.pinned, offset);
    if (next !== null) cursor.pin(next);
  };
  return [
    { keys: 'ArrowLeft', label: m.cursorPrevious, run: move(-1) },
    { keys: 'ArrowRight', label: m.cursorNext, run: move(1) },
  ];
}

/** Register the entries of the command palette; return a function that removes them. */
export function registerScalarCommands(grid: ScalarGridState): () => void {
  const { settings, context } = grid;
  const { logY, ignoreOutliers, showTables, pinned, zooms } = settings;
  const commands: readonly Omit<Command, 'kind'>[] = [
    { label: m.commandLines, run: () => grid.setLineMode('lines') },
    { label: m.commandBands, run: () => grid.setLineMode('bands') },
    { label: m.commandBaseline, run: () => grid.setLineMode('baseline') },
    {
      label: m.settingsLogY,
      run: () => logY.set(logY.value.all ? NO_CARDS : { all: true, named: [] }),
    },
    { label: m.settingsIgnoreOutliers, run: () => ignoreOutliers.set(!ignoreOutliers.value) },
    { label: m.tableToggle, hint: 'd', run: () => showTables.set(!showTables.value) },
    { label: m.settingsResetAllZoom, hint: 'z', run: () => zooms.set(new Map()) },
    { label: cardMessages.unpinAll, run: () => pinned.set([]) },
  ];
  return context.commands.register((query) => {
    const text = query.toLowerCase();
    return commands
      .filter(({ label }) => label.toLowerCase().includes(text))
      .map((command) => ({ ...command, kind: 'Action' }));
  });
}

// ---- export

interface PythonExport {
  readonly roots: readonly LogRoot[];
  /** null: all runs. */
  readonly runs: readonly string[] | null;
  readonly tags: readonly string[];
}

/** Return Python code that reads all points of the series. */
export function pythonSnippet({ roots, runs, tags }: PythonExport): string {
  return [
    ...openLogLines(roots),
    'table = log.scalars(',
    ...(runs === null ? [] : [`    run=${quoteNames(runs)},`]),
    `    tag=${quoteNames(tags)},`,
    ')',
    'steps, values = table["step"], table["value"]  # also: run, tag, wall_time',
    '',
  ].join('\n');
}

function quoteNames(names: readonly string[]): string {
  return `[${names.map(quotePython).join(', ')}]`;
}

function exportCard(grid: ScalarGridState, card: ScalarCard, format: DownloadFormat) {
  return exportTags(grid, card.tags, format, toFileName(card.title));
}

/** Download the points of all cards as one file. */
export function exportView(grid: ScalarGridState, format: DownloadFormat): Promise<void> {
  return exportTags(grid, listViewTags(grid), format, grid.info.name);
}

/** Return the tags of all cards. */
export function listViewTags({ sections }: ScalarGridState): string[] {
  return [...new Set(sections.flatMap(({ cards }) => cards.flatMap(({ tags }) => tags)))];
}

async function exportTags(
  grid: ScalarGridState,
  tags: readonly string[],
  format: DownloadFormat,
  name: string,
): Promise<void> {
  const { runs, smoothing, x, overwritten, center, band, min_runs } = grid.chartsView;
  // The file contains the names of groups instead of their keys.
  const groups = grid.bandGroups.map((group) => makeGroupRequest({ ...group, key: group.label }));
  const bands = groups.length > 0 ? { groups, center, band, min_runs } : {};
  const request = { runs, tags, format, smoothing, x, overwritten, ...bands };
  grid.exportError = null;
  try {
    downloadBlob(await grid.api.blob('table', request), `${name}.${format}`);
  } catch (error) {
    grid.exportError = toProblem(error);
  }
}
