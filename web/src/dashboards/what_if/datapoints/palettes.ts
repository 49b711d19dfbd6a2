/** Palettes of the points. */
import { type ColorRamp, divergingRamp, gradientRamp } from '../../../charts/points/point-colors';
import { mixColors, RUN_COLORS } from '../../../lib/colors';

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

export const PALETTE_COLORS: Readonly<Record<Palette, PaletteColors>> = {
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
