import type { Renderer } from '../../../charts/renderer/renderer';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { getColorRamp } from '../model/trial-colors';
import { formatColumnValue } from '../model/trials';
import type { HParamsDashboard } from '../hparams-dashboard.svelte';

/** What the colours of sessions mean: a column, and its values at the ends of the ramp. */
export interface ColorLegendModel {
  readonly title: string;
  /** At the pale end and at the strong one. */
  readonly ends: readonly [string, string];
}

export function makeColorLegend(study: HParamsDashboard): ColorLegendModel | null {
  const column = study.colorColumn;
  if (!column) return null;
  const { categories, title } = column;
  const { toValue } = study.getAxis(column);
  const [low, high] = categories
    ? [categories[0] ?? '', categories.at(-1) ?? '']
    : [formatColumnValue(column, toValue(0)), formatColumnValue(column, toValue(1))];
  const isLow = column === study.objective?.column && study.objective.minimize;
  return { title, ends: isLow ? [high, low] : [low, high] };
}

const LEGEND_FONT_PX = 11;
const RAMP_SIZE = { width: 84, height: 8 };
const LEGEND_GAP_PX = 6;

/** From the right, as it stands below a plot. */
export function drawColorLegend(
  pen: Renderer,
  { title, ends }: ColorLegendModel,
  { right, middle }: { readonly right: number; readonly middle: number },
  palette: ChartTheme,
): void {
  const style = { size: LEGEND_FONT_PX, align: 'right', baseline: 'middle' } as const;
  const colors = getColorRamp(false);
  let at = right;
  const write = (text: string, color: string): void => {
    pen.text(text, at, middle, { ...style, color });
    at -= pen.measureText(text, style) + LEGEND_GAP_PX;
  };
  write(ends[1], palette.label);
  at -= RAMP_SIZE.width;
  colors.forEach((color, place) => {
    const width = RAMP_SIZE.width / colors.length;
    // A little wider than its part, as gaps would be seen between them.
    const box = {
      left: at + place * width,
      top: middle - RAMP_SIZE.height / 2,
      width: width + 0.5,
    };
    pen.rect({ ...box, height: RAMP_SIZE.height }, { color });
  });
  at -= LEGEND_GAP_PX;
  write(ends[0], palette.label);
  write(title, palette.text);
}
