import type { Pen } from '../pen/pen';
import type { Guide } from '../types';
import { LABEL_SIZE, type Layout } from './layout';
import type { Palette } from './palette';
import { traceCurve } from './trace';

const GAP = 3;

/** Lines that others are read against. */
export function drawGuides(
  pen: Pen,
  layout: Layout,
  guides: readonly Guide[],
  { axis, label }: Palette,
): void {
  const { frame, x, y } = layout;
  pen.inside(frame, () => {
    for (const guide of guides) {
      const path = traceCurve(guide.x, guide.y, x.scale, y.scale, [0, guide.x.length]);
      pen.stroke(path, { colour: axis, width: 1, dash: guide.dash ?? [] });
    }
  });
  for (const guide of guides) drawWord(pen, layout, guide, label);
}

function drawWord(pen: Pen, layout: Layout, guide: Guide, colour: string): void {
  const { frame, x, y } = layout;
  const place = findPlace(guide, layout);
  if (place < 0 || guide.text === '') return;
  const isEnd = place === guide.x.length - 1;
  const align = isEnd ? 'right' : 'left';
  const across = x.scale.at(guide.x[place] ?? NaN) + (isEnd ? -GAP : GAP);
  // The word of a line that ends in the upper edge has no room above it.
  const foot = Math.max(y.scale.at(guide.y[place] ?? NaN) - GAP, frame.top + LABEL_SIZE + GAP);
  pen.text(guide.text, across, foot, { colour, size: LABEL_SIZE, align, baseline: 'bottom' });
}

/** Where the word stands; -1 for a guide that is not seen. */
function findPlace(guide: Guide, { x, y }: Layout): number {
  const isIn = (value: number | undefined, [low, high]: readonly [number, number]): boolean =>
    value !== undefined && value >= low && value <= high;
  const isSeen = (across: number | undefined, at: number): boolean =>
    isIn(across, x.scale.domain) && isIn(guide.y[at], y.scale.domain);
  const { wordAt } = guide;
  if (wordAt !== undefined && isSeen(guide.x[wordAt], wordAt)) return wordAt;
  return guide.x.findLastIndex(isSeen);
}
