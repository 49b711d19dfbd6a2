import { RUN_COLOURS } from '../../../base/colour';
import { formatBytes, formatCount, formatUs } from '../../../base/format';
import type { Palette } from '../../../charts/picture/palette';
import type { PaintAnswer, ScaleRow } from '../data/answers';
import { type Look, partedLook, shadedLook, shadeOf } from './look';

/** What a colour means. */
export interface Legend {
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

export const NO_LEGEND: Legend = { entries: [], more: 0, ramp: null };

/** Words that have a colour of their own, whatever else there is. */
export const FIXED: Readonly<Record<string, string>> = {
  added: '#15803d',
  removed: '#c0262d',
  changed: '#b45309',
  same: '#8e8e9c',
  'runs on a TPU': '#15803d',
  'does not run on a TPU': '#c0262d',
};
const MOST_NAMED = 10;
const STOPS = [0, 0.25, 0.5, 0.75, 1];

/** The same word has the same colour in all groups, as its place in the whole graph decides. */
export function colourOf(scale: ScaleRow, name: string): string {
  const place = scale.categories.findIndex((category) => category.name === name);
  return FIXED[name] ?? RUN_COLOURS[Math.max(0, place) % RUN_COLOURS.length] ?? '';
}

export function legendOf(scale: ScaleRow, palette: Palette): Legend {
  if (scale.kind === 'number') {
    const colours = STOPS.map((share) => shadeOf(share, palette));
    const ramp = { from: '0', to: formatAmount(scale.high, scale.unit), colours };
    return { ...NO_LEGEND, ramp };
  }
  const entries = scale.categories.slice(0, MOST_NAMED).map(({ name, count }) => ({
    name: `${name || 'unnamed'} ${formatCount(count)}`,
    colour: colourOf(scale, name),
  }));
  return { ...NO_LEGEND, entries, more: scale.categories.length - entries.length };
}

/** How the child at a place of a group looks; null where nothing is known of it. */
export function lookAt(
  scale: ScaleRow,
  paint: PaintAnswer,
  place: number,
  palette: Palette,
): Look | null {
  if (scale.kind === 'number') {
    const value = paint.value?.[place] ?? NaN;
    // By its root: a layer with a hundredth of all parameters is still told from none.
    return Number.isNaN(value) ? null : shadedLook(Math.sqrt(value / (scale.high || 1)), palette);
  }
  const shares = paint.share[place] ?? [];
  const all = shares.reduce((sum, [, count]) => sum + count, 0);
  const parts = shares.map(([name, count]) => ({
    colour: colourOf(scale, paint.names[name] ?? ''),
    share: count / all,
  }));
  return parts.length === 0 ? null : partedLook(parts, palette);
}

export function formatAmount(value: number, unit: ScaleRow['unit']): string {
  if (unit === 'bytes') return formatBytes(value);
  return unit === 'us' ? formatUs(value) : formatCount(value);
}
