import type { Content } from '../axis/fit';
import type { Pen } from '../pen/pen';
import { drawAxes } from './axes';
import type { Layout } from './layout';
import { drawCurves } from './lines';
import type { Palette } from './palette';

/** All of a chart that does not change with the pointer. */
export interface Picture extends Content {
  readonly layout: Layout;
}

export function drawPicture(pen: Pen, picture: Picture, palette: Palette): void {
  const { layout, lines, bands } = picture;
  drawAxes(pen, layout, palette);
  drawCurves(pen, layout, lines, bands);
}
