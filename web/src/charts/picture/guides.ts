import type { Pen } from '../pen/pen';
import type { Guide } from '../types';
import { LABEL_SIZE, type Layout } from './layout';
import type { Palette } from './palette';
import { traceCurve } from './trace';

const GAP = 3;

/** Lines that others are read against; each has its word where it leaves the chart. */
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
  const style = { colour: label, size: LABEL_SIZE, align: 'right', baseline: 'bottom' } as const;
  for (const guide of guides) {
    const end = findEnd(guide, layout);
    if (end < 0 || guide.text === '') continue;
    const [across, up] = [x.scale.at(guide.x[end] ?? NaN), y.scale.at(guide.y[end] ?? NaN)];
    // The word of a line that ends in the upper edge has no room above it.
    const top = Math.max(up - GAP, frame.top + LABEL_SIZE + GAP);
    pen.text(guide.text, Math.min(across, frame.left + frame.width) - GAP, top, style);
  }
}

/** The last point of a guide that is seen; -1 for one that is not. */
function findEnd(guide: Guide, { x, y }: Layout): number {
  const isIn = (value: number | undefined, [low, high]: readonly [number, number]): boolean =>
    value !== undefined && value >= low && value <= high;
  for (let at = guide.x.length - 1; at >= 0; at--)
    if (isIn(guide.x[at], x.scale.domain) && isIn(guide.y[at], y.scale.domain)) return at;
  return -1;
}
