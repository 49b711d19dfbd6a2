import { readNumber } from '../../api/numbers';
import type { LineAnswer, WirePoint } from '../../api/scalars';
import { formatStep, formatValue } from '../../base/format';
import type { Mark } from '../../charts/types';
import type { Best } from '../state/settings';

/** With more lines than these only the best of all is marked. */
const MOST_MARKED = 8;

const ODD_WORDS = { nan: 'NaN', inf: '+Inf', '-inf': '−Inf' };

/** Where a line is not a number, or not a finite one. */
export function oddMarks(line: LineAnswer): Mark[] {
  return line.odd.map(({ x, step, kind }) => ({
    x: Number(x),
    y: NaN,
    kind,
    text: `${ODD_WORDS[kind]} at step ${formatStep(step)}`,
  }));
}

/** The lowest and highest values, of each line or, where there are many, of all. */
export function bestMarks(
  lines: readonly LineAnswer[],
  best: Best,
): ReadonlyMap<LineAnswer, readonly Mark[]> {
  const kinds = { none: [], min: ['min'], max: ['max'], both: ['min', 'max'] }[best];
  const marks = new Map<LineAnswer, Mark[]>();
  for (const kind of kinds as readonly ('min' | 'max')[]) {
    const chosen = lines.length > MOST_MARKED ? extremeOf(lines, kind) : lines;
    for (const line of chosen) {
      const mark = markOf(line[kind], kind);
      if (mark) marks.set(line, [...(marks.get(line) ?? []), mark]);
    }
  }
  return marks;
}

function markOf(point: WirePoint | null, kind: 'min' | 'max'): Mark | null {
  if (!point) return null;
  const value = Number(point.value);
  const text = `${kind} ${formatValue(value)} at step ${formatStep(point.step)}`;
  return { x: Number(point.x), y: value, kind, text };
}

function extremeOf(lines: readonly LineAnswer[], kind: 'min' | 'max'): LineAnswer[] {
  const sign = kind === 'min' ? 1 : -1;
  let best: LineAnswer | null = null;
  let lowest = Infinity;
  for (const line of lines) {
    const value = readNumber(line[kind]?.value);
    if (value === null || sign * value >= lowest) continue;
    lowest = sign * value;
    best = line;
  }
  return best ? [best] : [];
}
