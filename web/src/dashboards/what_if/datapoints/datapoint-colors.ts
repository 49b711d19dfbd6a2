/** Colors of datapoints by a column, and the legend that explains them. */
import {
  colorCodes,
  colorNumbers,
  colorUniform,
  UNIFORM_COLOR,
  valueRange,
  withAlpha,
} from '../../../charts/points/point-colors';
import { formatValue } from '../../../lib/format';
import { type Palette, PALETTE_COLORS } from './palettes';
import type { PlotColumn } from './plot-layout';

export interface LegendEntry {
  readonly name: string;
  readonly color: string;
  readonly count: number;
}

export interface DatapointColors {
  /** Four bytes per row. */
  readonly rgba: Uint8Array;
  readonly entries: readonly LegendEntry[];
  /** Number of categories without an entry. */
  readonly more: number;
  readonly ramp: { readonly from: string; readonly to: string; readonly colors: string[] } | null;
}

const MAX_ENTRIES = 12;
const RAMP_STOPS = 8;

/** Return the color of each row; those of chosen rows are strong, and hidden ones transparent. */
export function makeColors(
  column: (PlotColumn & { readonly name: string }) | null,
  count: number,
  visible: Uint8Array | null,
  highlighted: Uint8Array | null,
  palette: Palette = 'standard',
): DatapointColors {
  const { rgba, ...legend } = colorRows(column, count, palette);
  const shown = visible ?? new Uint8Array(count).fill(1);
  return { rgba: withAlpha(rgba, shown, highlighted), ...legend };
}

function colorRows(
  column: (PlotColumn & { readonly name: string }) | null,
  count: number,
  palette: Palette,
): DatapointColors {
  const none = { entries: [], more: 0, ramp: null };
  const chosen = PALETTE_COLORS[palette];
  if (column?.codes) {
    const { codes, names, counts } = rankByName(column.codes, column.categories);
    const entries = names.map((name, at) => ({
      name,
      color: chosen.categories[at % chosen.categories.length] ?? UNIFORM_COLOR,
      count: counts[at] ?? 0,
    }));
    return {
      rgba: colorCodes(codes, chosen.categories),
      entries: entries.slice(0, MAX_ENTRIES),
      more: Math.max(0, entries.length - MAX_ENTRIES),
      ramp: null,
    };
  }
  if (!column?.numbers) return { rgba: colorUniform(count), ...none };
  const numbers = Float32Array.from(column.numbers);
  // Attributions and errors have a sign.
  const isDiverging = /attribution|error/.test(column.name);
  const range = valueRange(numbers, isDiverging);
  const ramp = isDiverging && range[0] < 0 ? chosen.diverging : chosen.ramp;
  return {
    rgba: colorNumbers(numbers, ramp, range),
    entries: [],
    more: 0,
    ramp: {
      from: formatValue(range[0]),
      to: formatValue(range[1]),
      colors: Array.from({ length: RAMP_STOPS }, (_, at) => ramp(at / (RAMP_STOPS - 1))),
    },
  };
}

/** Categories in the order of their names have the same colors after rows were added or deleted. */
function rankByName(
  codes: Int32Array,
  categories: readonly string[],
): { codes: Int32Array; names: string[]; counts: number[] } {
  const order = [...categories.keys()].sort((one, other) =>
    (categories[one] ?? '').localeCompare(categories[other] ?? '', undefined, { numeric: true }),
  );
  const ranks = new Int32Array(categories.length);
  order.forEach((code, rank) => (ranks[code] = rank));
  const counts = new Array<number>(categories.length).fill(0);
  const ranked = Int32Array.from(codes, (code) => {
    if (code < 0) return -1;
    const rank = ranks[code] ?? 0;
    counts[rank] = (counts[rank] ?? 0) + 1;
    return rank;
  });
  return { codes: ranked, names: order.map((code) => categories[code] ?? ''), counts };
}
