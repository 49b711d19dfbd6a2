import type { StepsColumns } from '../data/answers';
import { lengthOf, type Span } from './span';

const NARROWEST = 14;
const ROOM_FOR_NAME = 80;
const ROOM_FOR_NUMBER = 24;

/** A step on the ruler, in pixels from the left. */
export interface StepBox extends Span {
  readonly at: number;
  readonly name: string;
  readonly left: number;
  readonly width: number;
  /** What there is room for of its name. */
  readonly text: string;
  /** Whether there is room for how long it took as well. */
  readonly isWide: boolean;
}

/** The steps that are wide enough to be seen. */
export function stepBoxes(steps: StepsColumns, span: Span, width: number): StepBox[] {
  const place = (ps: number): number => ((ps - span.start) / lengthOf(span)) * width;
  return steps.names.flatMap((name, at) => {
    const [start, end] = [steps.start[at] ?? 0, steps.end[at] ?? 0];
    const [left, right] = [Math.max(0, place(start)), Math.min(width, place(end))];
    const room = right - left;
    if (room < NARROWEST) return [];
    const isWide = room > ROOM_FOR_NAME;
    const number = room > ROOM_FOR_NUMBER ? (/\d+$/.exec(name)?.[0] ?? '') : '';
    return [{ at, name, start, end, left, width: room, text: isWide ? name : number, isWide }];
  });
}
