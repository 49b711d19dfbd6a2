import type { ChangeName, ColoringResponse, ScaleRow } from '../../../api/schemas';
import * as m from '../../../catalog/graphs';
import { divergingRamp } from '../../../charts/points/point-scene';
import type { ChartTheme } from '../../../charts/renderer/renderer';
import type { SelectOption } from '../../../components/options';
import { getLightness, getSequentialRamp, parseRgb, RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount, formatUs, formatValue } from '../../../lib/format';
import type { GraphCatalog, GraphParams } from '../graph-catalog.svelte';
import { categoryLabel, getOverlayName, type OverlayValue, SCALE_LABELS } from '../graph-labels';
import { type GraphEdge, type GraphNode, indexNodes, isExpandable } from '../graph-model';
import type { GraphQueries } from '../query.svelte';

/** The colors of a node. */
export interface NodeAppearance {
  readonly fill: string;
  readonly border: string;
  readonly textColor: string;
  /** Fractions of several categories, drawn as a bar; empty for a single color. */
  readonly parts: readonly ColorPart[];
}

interface ColorPart {
  readonly color: string;
  readonly share: number;
}

export interface GraphLegendModel {
  readonly title: string;
  /** Categories, the most frequent first. */
  readonly entries: readonly { readonly name: string; readonly color: string }[];
  /** Number of further categories. */
  readonly more: number;
  readonly ramp: {
    readonly from: string;
    readonly to: string;
    readonly colors: readonly string[];
  } | null;
}

export type ColorBy = keyof typeof SCALE_LABELS;

/** How nodes are colored, and what the colors mean. */
export class NodeColoring {
  readonly #params: GraphParams;
  readonly #catalog: GraphCatalog;
  readonly #queries: GraphQueries;

  constructor(params: GraphParams, catalog: GraphCatalog, queries: GraphQueries) {
    this.#params = params;
    this.#catalog = catalog;
    this.#queries = queries;
    queries.followColorings(() => this.#serverScale);
  }

  /** The scales for which there is data. */
  readonly options = $derived.by<readonly SelectOption<ColorBy>[]>(() => {
    const scales = this.#queries.statistics.data?.scales.map(({ by }) => by) ?? [];
    const nodes = [...this.#queries.groups.values()].flatMap((group) => group.nodes);
    const hasStructure = nodes.some(({ structure }) => structure !== null);
    const names: ColorBy[] = [
      ...scales.filter((by) => by === 'change'),
      ...(hasStructure ? (['structure'] as const) : []),
      ...scales.filter((by) => by !== 'change'),
      ...(this.#catalog.overlay === null ? [] : (['overlay'] as const)),
      'none',
    ];
    return names.map((value) => ({ value, label: SCALE_LABELS[value] }));
  });

  /** The selected scale if it is available, otherwise the first one. */
  readonly colorBy = $derived.by<ColorBy>(() => {
    const names = this.options.map(({ value }) => value);
    return names.find((name) => name === this.#params.colorBy.value) ?? names[0] ?? 'none';
  });

  /** The scale if the server computes its colors. */
  readonly #serverScale = $derived.by(() => {
    const { colorBy } = this;
    const isLocal = colorBy === 'structure' || colorBy === 'none' || colorBy === 'change';
    return isLocal ? null : colorBy;
  });

  readonly #scale = $derived.by<ScaleRow | undefined>(() => {
    const { statistics, overlay } = this.#queries;
    if (this.colorBy !== 'overlay')
      return statistics.data?.scales.find(({ by }) => by === this.colorBy);
    // Data of another graph has no range on this one.
    if (!overlay.data || overlay.data.nodes + overlay.data.groups === 0) return undefined;
    const { low, high } = overlay.data;
    return { by: 'overlay', kind: 'number', unit: '', low, high, categories: [] };
  });

  /** The uploaded data of a node: its value, or the two that are compared; null if there is none. */
  findOverlayValue(id: string): OverlayValue | null {
    if (this.colorBy !== 'overlay') return null;
    const position = this.#nodeIndex.get(id);
    const coloring = position && this.#queries.getColoring(position.group);
    if (!coloring) return null;
    const read = (column: Readonly<ArrayLike<number>> | null | undefined): number | null => {
      const value = column?.[position.index] ?? NaN;
      return Number.isNaN(value) ? null : value;
    };
    const value = read(coloring.overlay_value);
    const baseline = read(coloring.baseline_value);
    return value === null && baseline === null ? null : { value, baseline };
  }

  readonly #nodeIndex = $derived.by(() => indexNodes(this.#queries.groups));

  appearanceFor(theme: ChartTheme): (node: GraphNode) => NodeAppearance {
    const { colorBy } = this;
    const scale = this.#scale;
    return (node) => {
      if (colorBy === 'structure') return getStructureAppearance(node, theme);
      if (colorBy === 'change') return getChangeAppearance(node, theme);
      const position = this.#nodeIndex.get(node.id);
      const coloring = position && this.#queries.getColoring(position.group);
      const appearance =
        scale && coloring && getScaleAppearance(scale, coloring, position.index, theme);
      return appearance ?? getPlainAppearance(node, theme);
    };
  }

  /** Return the color of an edge; null for the default. */
  readonly edgeColor = ({ change }: GraphEdge): string | null =>
    this.colorBy === 'change' ? getChangeColor(change) : null;

  /** Return null if the colors have no meaning of their own. */
  legendFor(theme: ChartTheme): GraphLegendModel | null {
    const { overlay, overlayBaseline, overlays } = this.#catalog;
    if (!this.#scale) return null;
    const columns = [overlay, overlayBaseline].flatMap((key) => key ?? []);
    const title =
      this.colorBy === 'overlay'
        ? columns.map((key) => getOverlayName(key, overlays)).join(' − ')
        : SCALE_LABELS[this.#scale.by];
    return buildLegend(this.#scale, title, theme);
  }
}

// ---- Colors

const FILL_SHARE = 0.2;
const BORDER_SHARE = 0.75;
/** Both text colors are readable on the middle of the ramp; white is on darker colors. */
const DARK_LIGHTNESS = 0.62;

export const CHANGE_COLORS: Readonly<Record<ChangeName, string>> = {
  added: '#15803d',
  removed: '#c0262d',
  changed: '#b45309',
  same: '#8e8e9c',
};
const TPU_COLORS: Readonly<Record<string, string>> = {
  compatible: CHANGE_COLORS.added,
  incompatible: CHANGE_COLORS.removed,
};

/** Return `share` of one color over another. */
export function mixColors(color: string, background: string, share: number): string {
  const below = parseRgb(background);
  const mixed = parseRgb(color).map((channel, index) =>
    Math.round(channel * share + (below[index] ?? 0) * (1 - share)),
  );
  return `rgb(${mixed.join(', ')})`;
}

function getPlainAppearance(node: GraphNode, theme: ChartTheme): NodeAppearance {
  const fill = isExpandable(node)
    ? mixColors(theme.label, theme.background, 0.1)
    : theme.background;
  return { fill, border: theme.axis, textColor: theme.text, parts: [] };
}

function getTintedAppearance(color: string, theme: ChartTheme): NodeAppearance {
  return {
    fill: mixColors(color, theme.background, FILL_SHARE),
    border: mixColors(color, theme.background, BORDER_SHARE),
    textColor: theme.text,
    parts: [],
  };
}

function getStructureAppearance(node: GraphNode, theme: ChartTheme): NodeAppearance {
  if (node.structure === null) return getPlainAppearance(node, theme);
  return getTintedAppearance(RUN_COLORS[node.structure % RUN_COLORS.length] ?? '', theme);
}

function getChangeAppearance(node: GraphNode, theme: ChartTheme): NodeAppearance {
  const color = getChangeColor(node.change);
  return color ? getTintedAppearance(color, theme) : getPlainAppearance(node, theme);
}

function getChangeColor(change: ChangeName | null): string | null {
  return change === null || change === 'same' ? null : CHANGE_COLORS[change];
}

/** Return the appearance of the child of a group; null if nothing is known about it. */
function getScaleAppearance(
  scale: ScaleRow,
  coloring: ColoringResponse,
  child: number,
  theme: ChartTheme,
): NodeAppearance | null {
  if (scale.kind === 'number') {
    const value = coloring.value?.[child] ?? NaN;
    return Number.isNaN(value)
      ? null
      : getFilledAppearance(getNumberColor(scale, value, theme), theme);
  }
  const counts = coloring.counts[child] ?? [];
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const parts = counts.map(([category, count]) => ({
    color: getCategoryColor(scale, coloring.names[category] ?? ''),
    share: count / total,
  }));
  return parts.length === 0 ? null : getMixedAppearance(parts, theme);
}

/** The range of uploaded data may have any bounds; with values on both sides of 0, 0 is gray. */
function getNumberColor(scale: ScaleRow, value: number, theme: ChartTheme): string {
  const { by, low, high } = scale;
  // The square root separates small values: 1 % of the parameters is visibly more than none.
  if (by !== 'overlay') return getRampColor(Math.sqrt(value / (high || 1)), theme);
  if (low < 0) return getDivergingColor(value / Math.max(-low, high));
  return getRampColor((value - low) / (high - low || 1), theme);
}

/** The color of a number from -1 to 1. */
function getDivergingColor(position: number): string {
  const share = 0.5 + Math.min(1, Math.max(-1, position)) / 2;
  return divergingRamp(share);
}

function getFilledAppearance(fill: string, theme: ChartTheme): NodeAppearance {
  const isDark = getLightness(fill) < DARK_LIGHTNESS;
  return { fill, border: theme.axis, textColor: isDark ? '#ffffff' : '#1c1c22', parts: [] };
}

/** The ends of the ramp are not used: one is the background, the other is too dark. */
function getRampColor(share: number, { background }: ChartTheme): string {
  const offset = 4 * Math.round(255 * (0.06 + 0.8 * Math.min(1, Math.max(0, share))));
  const [red, green, blue] = getSequentialRamp(background).slice(offset, offset + 3);
  return `rgb(${red}, ${green}, ${blue})`;
}

function getMixedAppearance(parts: readonly ColorPart[], theme: ChartTheme): NodeAppearance {
  const [first, second] = parts;
  if (first && !second) return getTintedAppearance(first.color, theme);
  const tinted = parts.map(({ color, share }) => ({
    color: mixColors(color, theme.background, 2 * FILL_SHARE),
    share,
  }));
  return { fill: theme.background, border: theme.axis, textColor: theme.text, parts: tinted };
}

/** A category has the same color in all groups: its rank in the whole graph decides. */
function getCategoryColor({ by, categories }: ScaleRow, name: string): string {
  if (by === 'tpu') return TPU_COLORS[name] ?? '';
  if (by === 'change') return CHANGE_COLORS[name as ChangeName];
  const rank = categories.findIndex((category) => category.name === name);
  return RUN_COLORS[Math.max(0, rank) % RUN_COLORS.length] ?? '';
}

// ---- Legend

const MAX_LEGEND_ENTRIES = 10;
const RAMP_STOPS = [0, 0.25, 0.5, 0.75, 1];

function buildLegend(scale: ScaleRow, title: string, theme: ChartTheme): GraphLegendModel {
  if (scale.kind === 'number') {
    return { title, entries: [], more: 0, ramp: buildRamp(scale, theme) };
  }
  const entries = scale.categories.slice(0, MAX_LEGEND_ENTRIES).map(({ name, count }) => ({
    name: m.legendCategory({ name: categoryLabel(scale.by, name), count: formatCount(count) }),
    color: getCategoryColor(scale, name),
  }));
  return { title, entries, more: scale.categories.length - entries.length, ramp: null };
}

function buildRamp(scale: ScaleRow, theme: ChartTheme): GraphLegendModel['ramp'] {
  if (scale.by !== 'overlay') {
    const colors = RAMP_STOPS.map((share) => getRampColor(share, theme));
    return { from: formatCount(0), to: formatScaleValue(scale.high, scale.unit), colors };
  }
  const bound = Math.max(-scale.low, scale.high);
  const [low, high] = scale.low < 0 ? [-bound, bound] : [scale.low, scale.high];
  const colors = RAMP_STOPS.map((share) =>
    getNumberColor(scale, low + share * (high - low), theme),
  );
  return { from: formatValue(low), to: formatValue(high), colors };
}

function formatScaleValue(value: number, unit: ScaleRow['unit']): string {
  if (unit === 'bytes') return formatBytes(value);
  return unit === 'us' ? formatUs(value) : formatCount(value);
}
