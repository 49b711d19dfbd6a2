import { type ImageExporter, imageExportItems } from '../cards/export';
import { hasCard, NO_CARDS, toggleCard, withCardValue } from '../cards/grid-settings';
import { findNextX } from '../charts/line/line-hit-test';
import type { MenuItem } from '../components/menu';
import type { Command, Shortcut } from '../plugin/context';
import { exportCard } from './scalar-export';
import type { ScalarChartModel, ScalarGridState } from './scalar-grid.svelte';
import { setLineMode } from './scalar-settings';

/** Windows that a card opens to ask for something. */
export type CardDialogName = 'limits' | 'note' | 'python';

type Groups = readonly (readonly MenuItem[])[];

/** The menu of a card: its axes, what is added to it, what is taken away. `own` is of one wall. */
export function scalarCardMenu(
  curves: ScalarGridState,
  chart: ScalarChartModel,
  takePicture: () => ImageExporter | null,
  open: (window: CardDialogName) => void,
  own: readonly MenuItem[],
): Groups {
  return [
    axisItems(curves, chart, open),
    [...own, ...noteItems(curves, open)],
    exportItems(curves, chart, takePicture, open),
  ];
}

/** What a card can be shown as. */
export function displayItems(
  { settings }: ScalarGridState,
  { card, display }: ScalarChartModel,
): MenuItem[] {
  const { displays } = settings;
  const show = (wanted: typeof display): void =>
    displays.set(
      withCardValue(
        displays.value,
        card.id,
        wanted === 'chart' || wanted === display ? null : wanted,
      ),
    );
  return [
    { label: 'As a table', checked: display === 'table', run: () => show('table') },
    { label: 'As bars over runs', checked: display === 'bars', run: () => show('bars') },
  ];
}

function axisItems(
  { settings }: ScalarGridState,
  chart: ScalarChartModel,
  open: (window: CardDialogName) => void,
): MenuItem[] {
  const { logX, logY, zooms } = settings;
  const { id } = chart.card;
  return [
    {
      label: 'Logarithmic y axis',
      hint: 'y',
      checked: hasCard(logY.value, id),
      run: () => logY.set(toggleCard(logY.value, id)),
    },
    {
      label: 'Logarithmic x axis',
      checked: hasCard(logX.value, id),
      run: () => logX.set(toggleCard(logX.value, id)),
    },
    {
      label: 'Fit to data',
      icon: 'fit',
      disabled: chart.zoom === null,
      run: () => zooms.set(withCardValue(zooms.value, id, null)),
    },
    { label: 'Limits of the axes …', run: () => open('limits') },
  ];
}

function noteItems(
  { context }: ScalarGridState,
  open: (window: CardDialogName) => void,
): MenuItem[] {
  // A copy of a board can show notes, but has nobody to keep new ones.
  return context.isStatic ? [] : [{ label: 'Note at a step …', run: () => open('note') }];
}

function exportItems(
  curves: ScalarGridState,
  { card }: ScalarChartModel,
  takePicture: () => ImageExporter | null,
  open: (window: CardDialogName) => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    run: () => void exportCard(curves, card, format),
  });
  return [
    ...(curves.context.isStatic ? [] : [table('csv'), table('json')]),
    ...imageExportItems(takePicture, card.title),
    { label: 'Copy as Python …', run: () => open('python') },
  ];
}

/** What a key adds to or takes from smoothing by an exponential mean. */
const SMOOTHING_STEP = 0.05;

/** The keys that other walls do not have; returns how to take them back. */
export function registerScalarShortcuts(curves: ScalarGridState): () => void {
  const group = curves.info.title;
  const shortcuts = [...viewShortcuts(curves), ...cursorShortcuts(curves)].map((shortcut) =>
    curves.context.shortcuts.register({ ...shortcut, group }),
  );
  return () => shortcuts.forEach((unregister) => unregister());
}

type Key = Omit<Shortcut, 'group'>;

function viewShortcuts({ settings, pointer }: ScalarGridState): Key[] {
  const { showTables, dragSelectsRange, smoothing, zooms, logY } = settings;
  const smooth = (change: number) => (): void => {
    const { min, max, sliderMax } = smoothing.spec;
    const step = smoothing.kind === 'ema' ? change : Math.sign(change) * Math.round(sliderMax / 20);
    const amount = Math.min(max, Math.max(min, smoothing.amount + step));
    smoothing.setAmount(Number(amount.toFixed(3)));
  };
  return [
    { keys: 'd', label: 'Table below each chart', run: () => showTables.set(!showTables.value) },
    {
      keys: 'r',
      label: 'Select a range',
      run: () => dragSelectsRange.set(!dragSelectsRange.value),
    },
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
    { keys: '[', label: 'Smooth less', run: smooth(-SMOOTHING_STEP) },
    { keys: ']', label: 'Smooth more', run: smooth(SMOOTHING_STEP) },
    {
      keys: 'y',
      label: 'Logarithmic y axis',
      run: () =>
        pointer.activeChart && logY.set(toggleCard(logY.value, pointer.activeChart.chart.card.id)),
    },
  ];
}

function cursorShortcuts({ pointer, context }: ScalarGridState): Key[] {
  const { cursor } = context;
  const move = (direction: 1 | -1) => (): void => {
    const chart = pointer.pinned?.chart ?? pointer.activeChart?.chart;
    if (cursor.pinned === null || !chart) return;
    const next = findNextX(
      chart.series,
      cursor.pinned,
      direction * Number.EPSILON * 1e4 * (1 + Math.abs(cursor.pinned)),
    );
    if (next !== null) cursor.pin(next);
  };
  return [
    { keys: 'ArrowLeft', label: 'Pinned cursor to the point before', run: move(-1) },
    { keys: 'ArrowRight', label: 'Pinned cursor to the next point', run: move(1) },
  ];
}

/** What the command box finds here. */
export function registerScalarCommands(curves: ScalarGridState): () => void {
  const { settings, context } = curves;
  const { logY, ignoreOutliers, showTables, pinned, zooms } = settings;
  const actions: readonly Omit<Command, 'kind'>[] = [
    { label: 'Show lines of runs', run: () => setLineMode('lines', settings, context.runs) },
    {
      label: 'Show mean and band of groups',
      run: () => setLineMode('bands', settings, context.runs),
    },
    {
      label: 'Compare with the baseline',
      run: () => setLineMode('baseline', settings, context.runs),
    },
    {
      label: 'Logarithmic y axes',
      run: () => logY.set(logY.value.all ? NO_CARDS : { all: true, named: [] }),
    },
    { label: 'Ignore outliers', run: () => ignoreOutliers.set(!ignoreOutliers.value) },
    { label: 'Table below each chart', hint: 'd', run: () => showTables.set(!showTables.value) },
    { label: 'Fit all charts', hint: 'z', run: () => zooms.set(new Map()) },
    { label: 'Unpin all cards', run: () => pinned.set([]) },
  ];
  return context.commands.register((query) => {
    const words = query.toLowerCase();
    return actions
      .filter(({ label }) => label.toLowerCase().includes(words))
      .map((action) => ({ ...action, kind: 'Action' }));
  });
}
