import { nextX } from '../charts/nearest';
import type { Command, Shortcut } from '../plugin/context';
import { NO_CARDS, toggle } from '../wall/card-set';
import type { CurveWall } from './curve-wall.svelte';
import { chooseMode } from './state/modes';

/** What a key adds to or takes from smoothing by an exponential mean. */
const SMOOTHING_STEP = 0.05;

/** The keys that other walls do not have; returns how to take them back. */
export function registerKeys(curves: CurveWall): () => void {
  const group = curves.about.title;
  const shortcuts = [...viewKeys(curves), ...cursorKeys(curves)].map((shortcut) =>
    curves.context.keys.register({ ...shortcut, group }),
  );
  return () => shortcuts.forEach((unregister) => unregister());
}

type Key = Omit<Shortcut, 'group'>;

function viewKeys({ settings, pointer }: CurveWall): Key[] {
  const { tables, selecting, smoothing, zooms, logY } = settings;
  const smooth = (change: number) => (): void => {
    const { lowest, highest, far } = smoothing.facts;
    const step = smoothing.kind === 'ema' ? change : Math.sign(change) * Math.round(far / 20);
    const amount = Math.min(highest, Math.max(lowest, smoothing.amount + step));
    smoothing.setAmount(Number(amount.toFixed(3)));
  };
  return [
    { keys: 'd', label: 'Table below each chart', run: () => tables.set(!tables.value) },
    { keys: 'r', label: 'Select a range', run: () => selecting.set(!selecting.value) },
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
    { keys: '[', label: 'Smooth less', run: smooth(-SMOOTHING_STEP) },
    { keys: ']', label: 'Smooth more', run: smooth(SMOOTHING_STEP) },
    {
      keys: 'y',
      label: 'Logarithmic y axis',
      run: () => pointer.current && logY.set(toggle(logY.value, pointer.current.chart.card.id)),
    },
  ];
}

function cursorKeys({ pointer, context }: CurveWall): Key[] {
  const { cursor } = context;
  const move = (direction: 1 | -1) => (): void => {
    const chart = pointer.pinned?.chart ?? pointer.current?.chart;
    if (cursor.pinned === null || !chart) return;
    const next = nextX(
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
export function registerCommands(curves: CurveWall): () => void {
  const { settings, context } = curves;
  const { logY, ignoreOutliers, tables, pinned, zooms } = settings;
  const actions: readonly Omit<Command, 'kind'>[] = [
    { label: 'Show lines of runs', run: () => chooseMode('lines', settings, context.runs) },
    {
      label: 'Show mean and band of groups',
      run: () => chooseMode('bands', settings, context.runs),
    },
    {
      label: 'Compare with the baseline',
      run: () => chooseMode('baseline', settings, context.runs),
    },
    {
      label: 'Logarithmic y axes',
      run: () => logY.set(logY.value.all ? NO_CARDS : { all: true, named: [] }),
    },
    { label: 'Ignore outliers', run: () => ignoreOutliers.set(!ignoreOutliers.value) },
    { label: 'Table below each chart', hint: 'd', run: () => tables.set(!tables.value) },
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
