import { nextX } from '../../charts/nearest';
import type { Command, Shortcut } from '../../plugin/context';
import type { Scalars } from './scalars.svelte';
import { NO_CARDS, toggle, toggleName } from './state/codecs';
import { chooseMode } from './state/modes';

const GROUP = 'Scalars';
/** What a key adds to or takes from smoothing by an exponential mean. */
const SMOOTHING_STEP = 0.05;

/** The keys of the view; returns how to take them back. */
export function registerKeys(scalars: Scalars, focusFilter: () => void): () => void {
  const shortcuts = [
    ...viewKeys(scalars, focusFilter),
    ...cardKeys(scalars),
    ...cursorKeys(scalars),
  ].map((shortcut) => scalars.context.keys.register({ ...shortcut, group: GROUP }));
  return () => shortcuts.forEach((unregister) => unregister());
}

type Key = Omit<Shortcut, 'group'>;

function viewKeys({ settings }: Scalars, focusFilter: () => void): Key[] {
  const { panel, tables, selecting, smoothing, zooms } = settings;
  const smooth = (change: number) => (): void => {
    const { lowest, highest, far } = smoothing.facts;
    const step = smoothing.kind === 'ema' ? change : Math.sign(change) * Math.round(far / 20);
    const amount = Math.min(highest, Math.max(lowest, smoothing.amount + step));
    smoothing.setAmount(Number(amount.toFixed(3)));
  };
  return [
    { keys: 'f', label: 'Filter tags', run: focusFilter },
    { keys: 's', label: 'Settings', run: () => panel.set(!panel.value) },
    { keys: 'd', label: 'Table below each chart', run: () => tables.set(!tables.value) },
    { keys: 'r', label: 'Select a range', run: () => selecting.set(!selecting.value) },
    { keys: 'z', label: 'Fit all charts', run: () => zooms.set(new Map()) },
    { keys: '[', label: 'Smooth less', run: smooth(-SMOOTHING_STEP) },
    { keys: ']', label: 'Smooth more', run: smooth(SMOOTHING_STEP) },
  ];
}

/** For the card that the pointer or the focus is in. */
function cardKeys({ settings, pointer }: Scalars): Key[] {
  const { logY, pinned, fullScreen } = settings;
  const withCard = (act: (id: string) => void) => (): void => {
    const id = pointer.current?.chart.card.id;
    if (id !== undefined) act(id);
  };
  return [
    {
      keys: 'm',
      label: 'Full screen, and back',
      run: () => {
        if (fullScreen.value !== null) fullScreen.set(null, 'push');
        else withCard((id) => fullScreen.set(id, 'push'))();
      },
    },
    {
      keys: 'y',
      label: 'Logarithmic y axis',
      run: withCard((id) => logY.set(toggle(logY.value, id))),
    },
    {
      keys: 'p',
      label: 'Pin card',
      run: withCard((id) => pinned.set(toggleName(pinned.value, id))),
    },
  ];
}

function cursorKeys({ settings, pointer, context }: Scalars): Key[] {
  const { cursor } = context;
  const move = (direction: 1 | -1) => (): void => {
    const chart = pointer.pinned?.chart ?? pointer.current?.chart;
    if (cursor.pinned === null || !chart) return;
    const next = nextX(
      chart.lines,
      cursor.pinned,
      direction * Number.EPSILON * 1e4 * (1 + Math.abs(cursor.pinned)),
    );
    if (next !== null) cursor.pin(next);
  };
  const letGo = (): void => {
    if (cursor.pinned !== null) cursor.pin(null);
    else if (cursor.range !== null) cursor.select(null);
    else if (settings.fullScreen.value !== null) settings.fullScreen.set(null, 'push');
  };
  return [
    { keys: 'ArrowLeft', label: 'Pinned cursor to the point before', run: move(-1) },
    { keys: 'ArrowRight', label: 'Pinned cursor to the next point', run: move(1) },
    { keys: 'Escape', label: 'Let go of the cursor, the range, the full screen', run: letGo },
  ];
}

/** What the command box finds here. */
export function registerCommands(scalars: Scalars): () => void {
  const { settings, context } = scalars;
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
