/** Colors and geometry of the heatmap, the execution timeline and the neighborhood graph. */
import type { ExecutionTimelineResponse, NeighborhoodGraph } from '../../api/schemas';
import * as m from '../../catalog/debugger';
import type { Line } from '../../charts/types';
import type { ColorTable } from '../../lib/colors';
import type { GraphEdge, GraphNode, VisibleGroup, VisibleGroups } from '../graphs/graph-model';
import type { Stat } from './debugger-state.svelte';
import { getRoleLabel, getStatLabel } from './labels';

/** Values of very different magnitude are compared on a logarithmic scale; counts are not. */
const LOG_STATS: ReadonlySet<Stat> = new Set(['norm', 'max', 'min', 'mean', 'std']);

export interface HeatmapScale {
  /** Smallest and largest value, before the logarithm. */
  readonly low: number;
  readonly high: number;
  /** Return the position of a value from 0 to 1; NaN for values that are not drawn. */
  toShare(value: number): number;
}

/** Return a scale over all values of a matrix. Magnitudes are logarithmic, and 0 is the lowest. */
export function makeHeatmapScale(values: Float32Array, stat: Stat): HeatmapScale {
  const isLog = LOG_STATS.has(stat);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    const size = Math.abs(value);
    if (!Number.isFinite(size) || (isLog && size === 0)) continue;
    if (size < low) low = size;
    if (size > high) high = size;
  }
  if (low > high) [low, high] = [0, 0];
  if (!isLog) low = 0;
  const transform = isLog ? Math.log : (value: number): number => value;
  const [first, last] = [transform(low), transform(high)];
  return {
    low,
    high,
    toShare(value) {
      if (Number.isNaN(value)) return NaN;
      if (!Number.isFinite(value)) return 1;
      const size = Math.abs(value);
      if (size <= low) return 0;
      return last > first ? Math.min(1, (transform(size) - first) / (last - first)) : 0;
    },
  };
}

export interface HeatmapPalette {
  readonly ramp: ColorTable;
  readonly bad: readonly [number, number, number];
}

/** Return the pixels of one row. `nonFinite` counts NaN and Inf in each cell. */
export function drawHeatmapRow(
  values: Float32Array,
  nonFinite: Float32Array | null,
  scale: HeatmapScale,
  { ramp, bad }: HeatmapPalette,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * values.length);
  values.forEach((value, column) => {
    if ((nonFinite?.[column] ?? 0) > 0) {
      pixels.set([...bad, 255], 4 * column);
      return;
    }
    const share = scale.toShare(value);
    if (Number.isNaN(share)) return;
    // The first colors of the ramp equal the background.
    const index = Math.round(20 + 215 * share);
    pixels.set(ramp.subarray(4 * index, 4 * index + 4), 4 * column);
  });
  return pixels;
}

/** Return the column of a step; -1 before the first one. */
export function findColumn(firstSteps: Float64Array, step: number): number {
  let [low, high] = [0, firstSteps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((firstSteps[middle] ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Return the line of a statistic; steps at which the tensor was not computed are gaps. */
export function makeStatLine(
  stat: string,
  step: Float64Array,
  value: Float32Array,
  color: string,
): Line {
  return {
    id: stat,
    label: getStatLabel(stat),
    color,
    dash: [],
    axis: 0,
    x: step,
    y: value,
  };
}

/** [start, end] in seconds. */
export type TimeRange = readonly [number, number];

/** Return the path of a bar chart whose bars touch: one column per count, drawn upwards. */
export function makeBarsPath(counts: Float64Array, width: number, height: number): string {
  const most = counts.reduce((most, count) => Math.max(most, count), 0);
  if (most === 0 || width <= 0) return '';
  const step = width / counts.length;
  const parts: string[] = [];
  counts.forEach((count, column) => {
    if (count === 0) return;
    // The square root keeps single events visible next to many.
    const size = Math.max(2, Math.sqrt(count / most) * height);
    const x = (column * step).toFixed(1);
    parts.push(
      `M${x} ${height}h${Math.max(1, step).toFixed(1)}v${-size.toFixed(1)}h${-Math.max(1, step).toFixed(1)}z`,
    );
  });
  return parts.join('');
}

/** Return the index of the first event in a column or after it; null if there is none. */
export function findEventIndex(counts: Float64Array, first: number, column: number): number | null {
  let index = first;
  for (let at = 0; at < counts.length; at++) {
    const count = counts[at] ?? 0;
    if (at >= column && count > 0) return index;
    index += count;
  }
  return index > first ? index - 1 : null;
}

export function countAll(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Return round times within a range, at most `most` of them. */
export function listTicks([start, end]: TimeRange, most: number): number[] {
  const span = end - start;
  if (!(span > 0) || most < 1) return [];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= most);
  if (step === undefined) return [];
  const first = Math.ceil(start / step);
  const last = Math.floor(end / step);
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/** Return the part of a range between two shares of its length. */
export function zoomRange([start, end]: TimeRange, one: number, other: number): TimeRange {
  const [low, high] = one < other ? [one, other] : [other, one];
  const span = end - start;
  return [start + Math.max(0, low) * span, start + Math.min(1, high) * span];
}

export function getRange({ start_s, end_s }: ExecutionTimelineResponse): TimeRange {
  return [start_s, end_s];
}

const HEALTH_LABELS = [m.healthUnknown, m.finite, m.nonFinite];

/** Return the neighborhood as a graph of one level; the path of a node is its index. */
export function toVisibleGroups(graph: NeighborhoodGraph): VisibleGroups {
  const nodes = graph.nodes.map(({ name, type, role, health }, index): GraphNode => {
    const isTensor = role !== '';
    const kind = type === '' ? getRoleLabel(role) : type;
    return {
      id: String(index),
      // The scope of an operation is mostly the same for all neighbors.
      label: isTensor ? name : (name.split('/').at(-1) ?? name),
      kind: 'op',
      op: kind === '' || !isTensor || type === '' ? kind : `${kind} · ${getRoleLabel(role)}`,
      opCount: 1,
      firstRank: index,
      lastRank: index + 1,
      shape: HEALTH_LABELS[health] ?? '',
      dtype: '',
      parameters: null,
      role: null,
      structure: null,
      change: null,
      bodies: [],
      autoOpenGroups: [],
    };
  });
  const edges = graph.edges.map(([source, target]): GraphEdge => ({
    source,
    target,
    portKey: '',
    count: 1,
    elementCount: null,
    isControl: false,
    label: '',
    dtype: '',
    change: null,
  }));
  const group: VisibleGroup = {
    ...{ id: '', total: nodes.length, nodes, edges },
    ...{ auxiliaryIds: new Set(), stubs: new Map() },
  };
  return new Map([['', group]]);
}
