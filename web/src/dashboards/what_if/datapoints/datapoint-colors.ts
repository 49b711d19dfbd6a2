/** Palettes, colors of datapoints by a column, and the legend that explains them. */
import {
  computeColorCodes,
  computeColorNumbers,
  type ColorRamp,
  colorUniform,
  divergingRamp,
  gradientRamp,
  UNIFORM_COLOR,
  valueRange,
  withAlpha,
} from '../../../charts/points/point-scene';
import { mixColors, RUN_COLORS } from '../../../lib/colors';
import { formatValue } from '../../../lib/format';
import type { PlotColumn } from './plot-layout';

export const PALETTES = ['standard', 'warm', 'cool', 'accessible'] as const;
export type Palette = (typeof PALETTES)[number];

interface PaletteColors {
  /** Colors of categories, which repeat. */
  readonly categories: readonly string[];
  /** Colors of numbers. */
  readonly ramp: ColorRamp;
  /** Colors of numbers with a sign. */
  readonly diverging: ColorRamp;
}

function makeRamp(...stops: readonly [string, string, ...string[]]): ColorRamp {
  return (position) => {
    const place = Math.max(0, Math.min(1, position)) * (stops.length - 1);
    const at = Math.min(stops.length - 2, Math.floor(place));
    return mixColors(stops[at] ?? stops[0], stops[at + 1] ?? stops[1], place - at);
  };
}

const WARM = ['#b3261e', '#e8710a', '#c2379a', '#a98700', '#8f4a2b', '#e0559a', '#d9a406'];
const COOL = ['#1d74b8', '#2f9e5b', '#7a5cc7', '#0d97a8', '#4d7c0f', '#4269d0', '#3f8f8b'];
// Okabe and Ito: distinguishable with all common kinds of color blindness.
const OKABE_ITO = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a7d00'];

const PALETTE_COLORS: Readonly<Record<Palette, PaletteColors>> = {
  standard: { categories: RUN_COLORS, ramp: gradientRamp, diverging: divergingRamp },
  warm: {
    categories: WARM,
    ramp: makeRamp('#f2c14e', '#e8710a', '#7a1022'),
    diverging: divergingRamp,
  },
  cool: {
    categories: COOL,
    ramp: makeRamp('#7fd1ae', '#1d91c0', '#27348b'),
    diverging: divergingRamp,
  },
  accessible: {
    categories: OKABE_ITO,
    // Lightness changes along the ramp, as in cividis.
    ramp: makeRamp('#00336f', '#7d7c78', '#e6c930'),
    diverging: makeRamp('#0072b2', '#9a9aa6', '#d55e00'),
  },
};

interface LegendEntry {
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
      rgba: computeColorCodes(codes, chosen.categories),
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
    rgba: computeColorNumbers(numbers, ramp, range),
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
