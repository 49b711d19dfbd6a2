import type { ChartsView } from '../api/scalar-schemas';
import type { ChartsRequest, RunGroup } from '../api/schemas';
import { requestedRuns } from '../cards/card-sections';
import type { NumberRange } from '../charts/types';
import type { Runs } from '../plugin/context';
import type { ScalarSettings } from './scalar-settings';

/** The key of the one group there is while runs are not grouped. */
export const ALL_RUNS_GROUP = '';

/** What all charts of the view ask for. */
export function createViewRequest(settings: ScalarSettings, runs: Runs): ChartsView {
  const mode = settings.mode.value;
  const names = runs.visible.map(({ name }) => name);
  const baseline =
    mode === 'baseline' && runs.baseline !== null
      ? { run: runs.baseline, mode: settings.comparison.value }
      : null;
  return {
    runs: requestedRuns(runs),
    x: settings.x.value,
    smoothing: settings.smoothing.value,
    overwritten: settings.overwritten.value,
    baseline,
    groups: mode === 'bands' ? requestGroups(runs, names) : null,
    center: settings.center.value,
    band: settings.spread.value,
  };
}

function requestGroups(runs: Runs, names: readonly string[]): RunGroup[] {
  if (runs.groups.length === 0) return [{ key: ALL_RUNS_GROUP, runs: names }];
  return runs.groups.map(({ key, runs }) => ({ key, runs }));
}

/** One chart on the screen. */
export interface ChartSubscription {
  readonly id: string;
  readonly tags: readonly string[];
  /** What is seen of it; null: everything. */
  readonly visibleRange: NumberRange | null;
  /** In pixels. */
  readonly width: number;
}

/** What is on the screen, as often as it is there. */
export class SubscriptionSet<Item> {
  readonly #items = new Map<object, Item>();

  /** Returns how to take the item out again. */
  add(item: Item): () => void {
    const token = {};
    this.#items.set(token, item);
    return () => void this.#items.delete(token);
  }

  get all(): Item[] {
    return [...this.#items.values()];
  }

  clear(): void {
    this.#items.clear();
  }
}

/** Widths are rounded up, so that a resized page need not ask at every pixel. */
const WIDTH_STEP_PX = 100;
/** How much is asked for at either side of what is seen, so that lines reach the edges. */
const RANGE_MARGIN = 0.25;

/** What the answer is kept under: that for a part beside that for the whole. */
export function chartKey({
  id,
  visibleRange,
}: Pick<ChartSubscription, 'id' | 'visibleRange'>): string {
  return visibleRange === null ? id : `${id}\npart`;
}

export function roundWidthUp(width: number): number {
  return Math.ceil(width / WIDTH_STEP_PX) * WIDTH_STEP_PX;
}

/** Those that can be asked for together, the widest first. */
export function pickBatch(wants: readonly ChartSubscription[], most: number): ChartSubscription[] {
  const width = Math.max(0, ...wants.map(({ width }) => roundWidthUp(width)));
  const alike = wants.filter((want) => roundWidthUp(want.width) === width);
  return [...new Map(alike.map((want) => [chartKey(want), want])).values()].slice(0, most);
}

export function createChartsRequest(
  view: ChartsView,
  wants: readonly ChartSubscription[],
): ChartsRequest {
  const charts = wants.map((want) => {
    const [start, stop] = want.visibleRange ? widen(want.visibleRange) : [null, null];
    return { id: chartKey(want), tags: want.tags, start, stop };
  });
  const width = roundWidthUp(wants[0]?.width ?? 0);
  // As many columns as pixels have to be left for what is seen.
  const isPart = wants.some(({ visibleRange }) => visibleRange !== null);
  return { ...view, width: isPart ? Math.ceil(width * (1 + 2 * RANGE_MARGIN)) : width, charts };
}

function widen([start, stop]: NumberRange): NumberRange {
  const margin = (stop - start) * RANGE_MARGIN;
  return [start - margin, stop + margin];
}

/** Smoothing is what a slider changes; anything else makes an answer under way worthless. */
export function needsOtherPoints(one: ChartsView, other: ChartsView): boolean {
  const plain = (view: ChartsView): string => JSON.stringify({ ...view, smoothing: null });
  return plain(one) !== plain(other);
}

export function overlap(one: NumberRange, other: NumberRange): boolean {
  return one[0] <= other[1] && other[0] <= one[1];
}

export function mapByChartKey<Value>(
  wants: readonly ChartSubscription[],
  valueOf: (want: ChartSubscription) => Value,
): ReadonlyMap<string, Value> {
  return new Map(wants.map((want) => [chartKey(want), valueOf(want)]));
}

export function subscribedIds(wants: readonly ChartSubscription[]): ReadonlySet<string> {
  return new Set(wants.map(({ id }) => id));
}
