import { formatPlace } from '../axis/place';
import { indexNear } from '../nearest';
import { around, type Box, pathOf, type Pen } from '../pen/pen';
import type { Line, Span, Spot } from '../types';
import { crisp } from './axes';
import { CHIP_HEIGHT, drawChip } from './chip';
import type { Layout } from './layout';
import { drawLine, verticalScale } from './lines';
import type { Palette } from './palette';

/** What the thing under the pointer says, and where that is. */
export interface Word {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** What lies above the lines and changes with every move of a pointer. */
export interface Overlay {
  /** The x that is looked at, in this chart or another. */
  readonly cursor: number | null;
  readonly pinned: number | null;
  readonly range: Span | null;
  readonly spots: readonly Spot[];
  /** What is being dragged, in pixels. */
  readonly box: Box | null;
  readonly word: Word | null;
  /** Lines that stand out. */
  readonly highlighted: readonly Line[];
  /** Whether the other lines step back behind those. */
  readonly veiled: boolean;
}

const GAP = 7;
const HIGHLIGHT_WIDTH = 2.5;
const VEIL_OPACITY = 0.6;
/** More dots than this hide what they are on. */
const DOTS = 30;

export function isEmpty({ cursor, pinned, range, box, word, ...rest }: Overlay): boolean {
  const { highlighted, spots } = rest;
  if ((range ?? box ?? word) || cursor !== null || pinned !== null) return false;
  return highlighted.length === 0 && spots.length === 0;
}

export function drawOverlay(
  pen: Pen,
  layout: Layout,
  lines: readonly Line[],
  overlay: Overlay,
  palette: Palette,
): void {
  const { range, cursor, pinned, box } = overlay;
  pen.inside(around(layout.frame, 2), () => {
    if (range) drawRange(pen, layout, range, palette);
    drawHighlighted(pen, layout, overlay, palette);
    if (pinned !== null) drawRule(pen, layout, pinned, palette.accent);
    if (cursor !== null) drawRule(pen, layout, cursor, palette.rule, [3, 3]);
  });
  const at = cursor ?? pinned;
  if (at !== null) drawDots(pen, layout, pickDotted(lines, overlay), at, palette);
  drawSpots(pen, layout, overlay.spots, palette);
  for (const place of [...(range ?? []), ...(pinned === null ? [] : [pinned])])
    drawPlace(pen, layout, place, palette);
  if (overlay.word) drawWord(pen, layout, overlay.word, palette);
  if (box) drawBox(pen, box, palette);
}

/** Where on the horizontal axis something was pinned. */
function drawPlace(pen: Pen, layout: Layout, value: number, { paper, accent }: Palette): void {
  const { frame, x, size, format } = layout;
  const at = x.scale.at(value);
  if (at < frame.left - 1 || at > frame.left + frame.width + 1) return;
  const text = formatPlace(value, format);
  const top = frame.top + frame.height + 3;
  drawChip(pen, { text, x: at, top, ink: paper, plate: accent }, size);
}

function drawWord(pen: Pen, { frame, size }: Layout, { text, x, y }: Word, palette: Palette): void {
  const isLow = y > frame.top + CHIP_HEIGHT * 2;
  const top = isLow ? y - CHIP_HEIGHT - GAP : y + GAP;
  drawChip(pen, { text, x, top, ink: palette.paper, plate: palette.text }, size);
}

function drawHighlighted(pen: Pen, layout: Layout, overlay: Overlay, { paper }: Palette): void {
  const { highlighted, veiled } = overlay;
  if (highlighted.length === 0) return;
  // A little wider than the frame, as lines are.
  if (veiled) pen.box(around(layout.frame, 2), { colour: paper, opacity: VEIL_OPACITY });
  for (const line of highlighted)
    drawLine(pen, layout, { ...line, dimmed: false }, HIGHLIGHT_WIDTH);
}

function drawRule(
  pen: Pen,
  { x, frame }: Layout,
  value: number,
  colour: string,
  dash: readonly number[] = [],
): void {
  const at = crisp(x.scale.at(value));
  const path = pathOf(at, frame.top, at, frame.top + frame.height);
  pen.stroke(path, { colour, width: 1, dash });
}

function drawRange(pen: Pen, layout: Layout, range: Span, { accent }: Palette): void {
  const { scale } = layout.x;
  const [left, right] = [scale.at(range[0]), scale.at(range[1])];
  const box = { ...layout.frame, left: Math.min(left, right), width: Math.abs(right - left) };
  pen.box(box, { colour: accent, opacity: 0.1 });
  for (const end of range) drawRule(pen, layout, end, accent);
}

function pickDotted(lines: readonly Line[], { highlighted }: Overlay): readonly Line[] {
  return lines.length <= DOTS ? lines : highlighted;
}

function drawDots(
  pen: Pen,
  layout: Layout,
  lines: readonly Line[],
  at: number,
  { paper }: Palette,
): void {
  // Half a dot on the edge has room.
  pen.inside(around(layout.frame, 4), () => {
    for (const line of lines) {
      const index = indexNear(line, at);
      const y = verticalScale(layout, line.axis).at(line.y[index] ?? NaN);
      const x = layout.x.scale.at(line.x[index] ?? NaN);
      if (!Number.isNaN(y)) pen.dot(x, y, 3, { colour: line.colour, ring: paper });
    }
  });
}

function drawSpots(
  pen: Pen,
  { frame, x, y }: Layout,
  spots: readonly Spot[],
  { paper }: Palette,
): void {
  pen.inside(around(frame, 5), () => {
    for (const spot of spots)
      pen.dot(x.scale.at(spot.x), y.scale.at(spot.y), 4, { colour: spot.colour, ring: paper });
  });
}

function drawBox(pen: Pen, box: Box, { accent }: Palette): void {
  pen.box(box, { colour: accent, opacity: 0.1 });
  const [left, top] = [crisp(box.left), crisp(box.top)];
  const [right, foot] = [crisp(box.left + box.width), crisp(box.top + box.height)];
  const path = pathOf(left, top, right, top, right, foot, left, foot, left, top);
  pen.stroke(path, { colour: accent, width: 1 });
}
