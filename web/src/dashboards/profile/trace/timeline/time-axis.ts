import { listMultiples, niceStep } from '../../../../charts/axes/ticks';
import type { StepColumns } from '../../schemas';

/** A stretch of time, in picoseconds since the trace began. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/** Nothing happens in less than this. */
const MIN_SPAN_PS = 500;
/** What takes no time is looked at in the midst of what does. */
const MIN_PADDING_PS = 2e6;
/** Beyond the ends of a trace there is so much of its length to be seen. */
const MARGIN_SHARE = 0.02;

export const getSpanLength = ({ start, end }: TimeSpan): number => end - start;

/** All of a trace, with some air around it. */
export function addMargin({ start, end }: TimeSpan): TimeSpan {
  const air = Math.max(MARGIN_SHARE * (end - start), MIN_SPAN_PS);
  return { start: start - air, end: end + air };
}

/** The span enlarged or, with less than one, shrunk around a place that stays where it is. */
export function zoomSpan({ start, end }: TimeSpan, by: number, around: number): TimeSpan {
  return { start: around + (start - around) * by, end: around + (end - around) * by };
}

export function shiftSpan({ start, end }: TimeSpan, by: number): TimeSpan {
  return { start: start + by, end: end + by };
}

/** Neither so short that nothing is seen, nor longer than the whole, nor beside it. */
export function clampSpan(span: TimeSpan, whole: TimeSpan): TimeSpan {
  const length = Math.min(Math.max(getSpanLength(span), MIN_SPAN_PS), getSpanLength(whole));
  const middle = (span.start + span.end) / 2;
  const half = length / 2;
  const kept = Math.min(Math.max(middle, whole.start + half), whole.end - half);
  return { start: kept - half, end: kept + half };
}

/** Where something can be seen well: with about three times its own length around it. */
export function padSpan({ start, end }: TimeSpan): TimeSpan {
  const air = Math.max(end - start, MIN_PADDING_PS);
  return { start: start - air, end: end + air };
}

/** On the way from one to another; the length changes evenly in factors. */
export function interpolateSpan(from: TimeSpan, to: TimeSpan, share: number): TimeSpan {
  return {
    start: from.start + (to.start - from.start) * share,
    end: from.end + (to.end - from.end) * share,
  };
}

/** Whether nobody could see a difference on a screen. */
export function looksEqual(one: TimeSpan, other: TimeSpan): boolean {
  const hair = getSpanLength(one) / 5000;
  return Math.abs(one.start - other.start) < hair && Math.abs(one.end - other.end) < hair;
}

const TIME_UNITS = [
  ['s', 1e12],
  ['ms', 1e9],
  ['µs', 1e6],
  ['ns', 1e3],
  ['ps', 1],
] as const;

/** A mark about every so many pixels. */
const TICK_SPACING_PX = 110;
/** Numbers beside marks are smaller than this. */
const MAX_TICK_VALUE = 10_000;

export interface TimeTick {
  readonly at: number;
  readonly text: string;
}

/** How long something took, with the digits that matter. */
export function formatDurationPs(ps: number): string {
  if (ps === 0) return '0';
  const size = Math.abs(ps);
  const [unit, of] = TIME_UNITS.find(([, of]) => size >= of) ?? ['ps', 1];
  const value = ps / of;
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
  return `${Number(value.toFixed(digits))} ${unit}`.replace('-', '−');
}

/** The same to the last picosecond, for who hovers. */
export function formatExactPs(ps: number): string {
  const size = Math.abs(ps);
  const [unit, of] = TIME_UNITS.find(([, of]) => size >= of) ?? ['ps', 1];
  const [whole = '', rest = ''] = String(ps / of).split('.');
  return `${whole}${rest ? `.${rest}` : ''} ${unit}`;
}

/** How many marks there are along so many pixels. */
export function getTickCount(width: number): number {
  return Math.max(2, Math.round(width / TICK_SPACING_PX));
}

/** When something was: in the unit of the step between marks, and to its digits. */
export function makeTimeTicks(span: TimeSpan, count: number): TimeTick[] {
  const step = niceStep(getSpanLength(span), count);
  const furthest = Math.max(Math.abs(span.start), Math.abs(span.end));
  // In the unit of the step, unless numbers become so long that nobody reads them.
  const [unit, of] =
    TIME_UNITS.find(([, of]) => step >= of || furthest / of >= MAX_TICK_VALUE / 1000) ??
    TIME_UNITS[4];
  const digits = Math.max(0, -Math.floor(Math.log10(step / of)));
  return listMultiples(step, [span.start, span.end]).map((at) => ({
    at,
    text: `${(at / of).toFixed(digits)} ${unit}`.replace('-', '−'),
  }));
}

const MIN_STEP_PX = 14;
const MIN_NAME_PX = 80;
const MIN_NUMBER_PX = 24;

/** A step on the ruler, in pixels from the left. */
export interface StepBox extends TimeSpan {
  readonly index: number;
  readonly name: string;
  readonly left: number;
  readonly width: number;
  /** What there is room for of its name. */
  readonly text: string;
  /** Whether there is room for how long it took as well. */
  readonly showsDuration: boolean;
}

/** The steps that are wide enough to be seen. */
export function layoutSteps(steps: StepColumns, span: TimeSpan, width: number): StepBox[] {
  const place = (ps: number): number => ((ps - span.start) / getSpanLength(span)) * width;
  return steps.names.flatMap((name, index) => {
    const [start, end] = [steps.start[index] ?? 0, steps.end[index] ?? 0];
    const [left, right] = [Math.max(0, place(start)), Math.min(width, place(end))];
    const room = right - left;
    if (room < MIN_STEP_PX) return [];
    const showsDuration = room > MIN_NAME_PX;
    const number = room > MIN_NUMBER_PX ? (/\d+$/.exec(name)?.[0] ?? '') : '';
    const text = showsDuration ? name : number;
    return [{ index, name, start, end, left, width: room, text, showsDuration }];
  });
}

/** What the step is called in which a moment is; empty where it is in none. */
export function findStepName(steps: StepColumns | undefined, moment: number): string {
  const at = steps?.start.findLastIndex((start) => start <= moment) ?? -1;
  if (!steps || at < 0 || moment >= (steps.end[at] ?? 0)) return '';
  return steps.names[at] ?? '';
}
