import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { getLightness, getSequentialRamp, parseRgb, RUN_COLORS } from '../../../lib/colors';
import { formatBytes, formatCount, formatUs } from '../../../lib/format';
import { type GraphNode, isExpandable } from '../graph-model';
import type { ColoringResponse, ScaleRow } from '../schemas';

/** The colours of a node; with `parts` it is filled with several, by their shares. */
export interface NodeAppearance {
  readonly fill: string;
  readonly border: string;
  readonly textColor: string;
  readonly parts: readonly { readonly colour: string; readonly share: number }[];
}

const FILL_SHARE = 0.2;
const BORDER_SHARE = 0.75;

/** `share` of one colour over another. */
export function mixColors(colour: string, over: string, share: number): string {
  const below = parseRgb(over);
  const mixed = parseRgb(colour).map((channel, at) =>
    Math.round(channel * share + (below[at] ?? 0) * (1 - share)),
  );
  return `rgb(${mixed.join(', ')})`;
}

export function plainAppearance(node: GraphNode, palette: ChartTheme): NodeAppearance {
  const fill = isExpandable(node)
    ? mixColors(palette.label, palette.background, 0.1)
    : palette.background;
  return { fill, border: palette.axis, textColor: palette.text, parts: [] };
}

export function tintedAppearance(colour: string, palette: ChartTheme): NodeAppearance {
  return {
    fill: mixColors(colour, palette.background, FILL_SHARE),
    border: mixColors(colour, palette.background, BORDER_SHARE),
    textColor: palette.text,
    parts: [],
  };
}

/** How much of something there is in a node, from 0 to 1. */
export function rampAppearance(share: number, palette: ChartTheme): NodeAppearance {
  const fill = rampColor(share, palette);
  // Both inks stand out from the middle of the ramp; beyond it only that of the other end does.
  const isDark = getLightness(fill) < 0.62;
  return { fill, border: palette.axis, textColor: isDark ? '#ffffff' : '#1c1c22', parts: [] };
}

/** The ends of the ramp are left out: the paper itself, and what is too dark to be told apart. */
export function rampColor(share: number, { background }: ChartTheme): string {
  const at = 4 * Math.round(255 * (0.06 + 0.8 * Math.min(1, Math.max(0, share))));
  const [red, green, blue] = getSequentialRamp(background).slice(at, at + 3);
  return `rgb(${red}, ${green}, ${blue})`;
}

export function mixedAppearance(
  parts: readonly { readonly colour: string; readonly share: number }[],
  palette: ChartTheme,
): NodeAppearance {
  const [first, second] = parts;
  if (first && !second) return tintedAppearance(first.colour, palette);
  const tinted = parts.map(({ colour, share }) => ({
    colour: mixColors(colour, palette.background, 2 * FILL_SHARE),
    share,
  }));
  return { fill: palette.background, border: palette.axis, textColor: palette.text, parts: tinted };
}

/** What a colour means. */
export interface GraphLegendModel {
  /** Names with their colours, the most frequent first. */
  readonly entries: readonly { readonly name: string; readonly colour: string }[];
  /** How many further names there are. */
  readonly more: number;
  /** The ends of a ramp, in words, and its colours in between. */
  readonly ramp: {
    readonly from: string;
    readonly to: string;
    readonly colours: readonly string[];
  } | null;
}

export const NO_LEGEND: GraphLegendModel = { entries: [], more: 0, ramp: null };

/** Words that have a colour of their own, whatever else there is. */
export const FIXED_COLORS: Readonly<Record<string, string>> = {
  added: '#15803d',
  removed: '#c0262d',
  changed: '#b45309',
  same: '#8e8e9c',
  'runs on a TPU': '#15803d',
  'does not run on a TPU': '#c0262d',
};
const MAX_LEGEND_ENTRIES = 10;
const RAMP_STOPS = [0, 0.25, 0.5, 0.75, 1];

/** The same word has the same colour in all groups, as its place in the whole graph decides. */
export function categoryColor(scale: ScaleRow, name: string): string {
  const place = scale.categories.findIndex((category) => category.name === name);
  return FIXED_COLORS[name] ?? RUN_COLORS[Math.max(0, place) % RUN_COLORS.length] ?? '';
}

export function buildLegend(scale: ScaleRow, palette: ChartTheme): GraphLegendModel {
  if (scale.kind === 'number') {
    const colours = RAMP_STOPS.map((share) => rampColor(share, palette));
    const ramp = { from: '0', to: formatScaleValue(scale.high, scale.unit), colours };
    return { ...NO_LEGEND, ramp };
  }
  const entries = scale.categories.slice(0, MAX_LEGEND_ENTRIES).map(({ name, count }) => ({
    name: `${name || 'unnamed'} ${formatCount(count)}`,
    colour: categoryColor(scale, name),
  }));
  return { ...NO_LEGEND, entries, more: scale.categories.length - entries.length };
}

/** How the child at a place of a group looks; null where nothing is known of it. */
export function appearanceAt(
  scale: ScaleRow,
  paint: ColoringResponse,
  place: number,
  palette: ChartTheme,
): NodeAppearance | null {
  if (scale.kind === 'number') {
    const value = paint.value?.[place] ?? NaN;
    // By its root: a layer with a hundredth of all parameters is still told from none.
    return Number.isNaN(value)
      ? null
      : rampAppearance(Math.sqrt(value / (scale.high || 1)), palette);
  }
  const shares = paint.share[place] ?? [];
  const all = shares.reduce((sum, [, count]) => sum + count, 0);
  const parts = shares.map(([name, count]) => ({
    colour: categoryColor(scale, paint.names[name] ?? ''),
    share: count / all,
  }));
  return parts.length === 0 ? null : mixedAppearance(parts, palette);
}

export function formatScaleValue(value: number, unit: ScaleRow['unit']): string {
  if (unit === 'bytes') return formatBytes(value);
  return unit === 'us' ? formatUs(value) : formatCount(value);
}
