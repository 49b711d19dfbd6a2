import type { Content } from '../axis/fit';
import type { Pen } from '../pen/pen';
import type { Flag, Guide } from '../types';
import { drawAxes } from './axes';
import { drawFlags } from './flags';
import { drawGuides } from './guides';
import type { Layout } from './layout';
import { drawCurves } from './lines';
import { drawMarks } from './marks';
import type { Palette } from './palette';

/** All of a chart that does not change with the pointer. */
export interface Picture extends Content {
  readonly flags: readonly Flag[];
  readonly guides?: readonly Guide[];
  readonly layout: Layout;
}

export function drawPicture(pen: Pen, picture: Picture, palette: Palette): void {
  const { layout, lines, flags, guides = [] } = picture;
  drawAxes(pen, layout, palette);
  drawGuides(pen, layout, guides, palette);
  drawCurves(pen, layout, picture);
  drawFlags(pen, layout, flags, palette);
  drawMarks(pen, layout, lines, palette);
}
