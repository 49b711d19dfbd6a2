import { formatDuration, formatMoment, formatStep, formatValue } from '../../base/format';
import type { XAxis } from '../../plugin/context';
import { axisName } from '../state/axes';
import type { TipRow } from './rows';

/** Where the cursor is: on the point itself where all lines have it in the same place. */
export function placeHeading(axis: XAxis, x: number, rows: readonly TipRow[]): string {
  const [first] = rows;
  const same = first !== undefined && rows.every((row) => row.x === first.x) ? first : null;
  const at = same?.x ?? x;
  const place = `${WORDS[axis] ?? axisName(axis)} ${formatPlace(axis, at)}`.trim();
  const relative = axis === 'relative' ? null : (first?.relativeS ?? null);
  return relative === null ? place : `${place} · ${formatDuration(relative)}`;
}

const WORDS: Readonly<Record<string, string>> = {
  step: 'step',
  relative_step: 'relative step',
  index: 'point',
  relative: '',
  wall: '',
};

export function formatPlace(axis: XAxis, x: number): string {
  if (axis === 'wall') return formatMoment(new Date(x * 1000));
  if (axis === 'relative') return formatDuration(x);
  return axis.startsWith('metric:') ? formatValue(x) : formatStep(Math.round(x));
}
