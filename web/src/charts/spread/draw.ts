import { type Box, pathOf, type Pen } from '../pen/pen';
import { drawAxes } from '../picture/axes';
import { shorten } from '../picture/chip';
import { LABEL_SIZE } from '../picture/layout';
import type { Palette } from '../picture/palette';
import { drawBands } from './bands';
import { paintHeat } from './heat';
import { drawOverlaid } from './overlaid';
import type { Panel, PanelSet } from './panels';
import { drawRidges } from './ridges';
import { isBands, type Spread, type SpreadContent, type SpreadMode } from './types';

/** Everything that stays as it is while a pointer moves. */
export function drawSpread(
  pen: Pen,
  content: SpreadContent,
  set: PanelSet,
  mode: SpreadMode,
  palette: Palette,
): void {
  for (const panel of set.panels) {
    drawAxes(pen, panel.layout, palette);
    const shown = panel.spreads.flatMap((number) => content.spreads[number] ?? []);
    pen.inside(roomOf(panel, mode), () => {
      for (const spread of shown) drawOne(pen, spread, content, set, panel, mode, palette);
    });
    if (mode === 'offset') drawFoot(pen, panel, palette);
    if (panel.title && shown[0]) drawTitle(pen, panel.title, shown[0], palette);
  }
}

/** Ridges at the back reach above the frame of their panel by nothing, lines by half their width. */
function roomOf({ layout: { frame } }: Panel, mode: SpreadMode): Box {
  return mode === 'heat' ? frame : { ...frame, top: frame.top - 2, height: frame.height + 3 };
}

function drawOne(
  pen: Pen,
  spread: Spread,
  { grid, spreads }: SpreadContent,
  { ends }: PanelSet,
  { layout, spreads: together }: Panel,
  mode: SpreadMode,
  palette: Palette,
): void {
  if (isBands(mode))
    return drawBands(pen, spread, layout, together.length > 1 && spreads.length > 1);
  if (grid.length < 2) return;
  if (mode === 'offset') return drawRidges(pen, spread, grid, layout, ends, palette);
  if (mode === 'overlay') return drawOverlaid(pen, spread, grid, layout, ends);
  const { frame, x, y } = layout;
  const raster = paintHeat(spread, grid, frame.width, x.scale.domain, ends);
  const [top, foot] = [y.scale.at(grid.at(-1) ?? 1), y.scale.at(grid[0] ?? 0)];
  pen.image(raster, { left: frame.left, width: frame.width, top, height: foot - top });
}

/** The axis that the newest ridge stands on, above what is drawn over it. */
function drawFoot(pen: Pen, { layout: { frame } }: Panel, { axis }: Palette): void {
  const foot = Math.round(frame.top + frame.height) + 0.5;
  pen.stroke(pathOf(frame.left, foot, frame.left + frame.width, foot), { colour: axis, width: 1 });
}

function drawTitle(
  pen: Pen,
  { left, top, width, height }: Box,
  spread: Spread,
  palette: Palette,
): void {
  const middle = top + height / 2;
  pen.box({ left, top: middle - 3.5, width: 7, height: 7 }, { colour: spread.colour, radius: 2 });
  const style = {
    colour: palette.label,
    size: LABEL_SIZE,
    align: 'left',
    baseline: 'middle',
  } as const;
  pen.text(shorten(pen, spread.label, width - 8), left + 11, middle, style);
}
