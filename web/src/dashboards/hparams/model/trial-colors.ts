/** The color of each trial, and the legend of these colors. */
import type { ChartTheme, Renderer } from '../../../charts/renderer/renderer';
import { getSequentialRamp } from '../../../lib/colors';
import { type ColumnAxis, computePositions } from './column-axes';
import { formatColumnValue, getCategoryLabel } from './trials';

export interface TrialColors {
  /** For each trial the index of its color in the ramp. */
  readonly levels: Uint8Array;
  /** All trials; those with the strongest color are drawn last. */
  readonly drawOrder: Int32Array;
}

/** Finer differences are not visible, and lines of the same color are drawn together. */
export const COLOR_LEVELS = 32;

/** Color trials by a column; `inverted` makes low values strong. Trials without a value are pale. */
export function computeTrialColors(axis: ColumnAxis, inverted: boolean): TrialColors {
  const positions = computePositions(axis);
  const levels = new Uint8Array(positions.length);
  const drawOrder = new Int32Array(positions.length);
  positions.forEach((position, row) => {
    levels[row] = getColorLevel(inverted ? 1 - position : position);
    drawOrder[row] = row;
  });
  drawOrder.sort((a, b) => (levels[a] ?? 0) - (levels[b] ?? 0) || b - a);
  return { levels, drawOrder };
}

function getColorLevel(position: number): number {
  if (Number.isNaN(position)) return 0;
  return Math.round(Math.min(1, Math.max(0, position)) * (COLOR_LEVELS - 1));
}

/** The part of the sequential ramp that is visible on the background. */
const RAMP_START = 62;
const RAMP_END = 236;
const rampCache = new Map<boolean, readonly string[]>();

/** Return a color for each level, from pale to strong. */
export function getColorRamp(isDark: boolean): readonly string[] {
  const colors = rampCache.get(isDark) ?? makeColorRamp(isDark);
  rampCache.set(isDark, colors);
  return colors;
}

function makeColorRamp(isDark: boolean): string[] {
  const shades = getSequentialRamp(isDark ? '#000000' : '#ffffff');
  return Array.from({ length: COLOR_LEVELS }, (_, level) => {
    const shade = Math.round(RAMP_START + ((RAMP_END - RAMP_START) * level) / (COLOR_LEVELS - 1));
    return `rgb(${shades[4 * shade]}, ${shades[4 * shade + 1]}, ${shades[4 * shade + 2]})`;
  });
}

/** The column that trials are colored by, and its values at both ends of the ramp. */
export interface ColorLegend {
  readonly title: string;
  /** At the pale and at the strong end. */
  readonly ends: readonly [string, string];
}

export function makeColorLegend({ column, toValue }: ColumnAxis, inverted: boolean): ColorLegend {
  const format = (value: number): string => formatColumnValue(column, value);
  const [low, high] = column.categories
    ? [getCategoryLabel(column, 0), getCategoryLabel(column, column.categories.length - 1)]
    : [format(toValue(0)), format(toValue(1))];
  return { title: column.title, ends: inverted ? [high, low] : [low, high] };
}

const LEGEND_FONT_PX = 11;
const RAMP_SIZE = { width: 84, height: 8 };
const LEGEND_GAP_PX = 6;

/** Draw a legend that ends at `right`, for exported images. */
export function drawColorLegend(
  renderer: Renderer,
  { title, ends }: ColorLegend,
  { right, middle }: { readonly right: number; readonly middle: number },
  theme: ChartTheme,
): void {
  const style = { size: LEGEND_FONT_PX, align: 'right', baseline: 'middle' } as const;
  const colors = getColorRamp(false);
  let x = right;
  const write = (text: string, color: string): void => {
    renderer.text(text, x, middle, { ...style, color });
    x -= renderer.measureText(text, style) + LEGEND_GAP_PX;
  };
  write(ends[1], theme.label);
  x -= RAMP_SIZE.width;
  const width = RAMP_SIZE.width / colors.length;
  const top = middle - RAMP_SIZE.height / 2;
  colors.forEach((color, level) => {
    // Overlaps the next color, so that there are no gaps.
    const box = { left: x + level * width, top, width: width + 0.5, height: RAMP_SIZE.height };
    renderer.rect(box, { color });
  });
  x -= LEGEND_GAP_PX;
  write(ends[0], theme.label);
  write(title, theme.text);
}
