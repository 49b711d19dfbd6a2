/** Where tracks, lanes, steps, ticks and counters of the timeline are, and selected events. */
import type { CounterTrack, EventBox, StepColumns, TrackRow } from '../../../../api/schemas';
import * as common from '../../../../catalog/common';
import { listMultiples, niceStep } from '../../../../charts/axes/ticks';
import type { Codec } from '../../../../lib/codecs';
import { formatStepName } from '../../display';

// ---- Time spans

/** A time span in picoseconds since the start of the trace. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

const MIN_SPAN_PS = 500;
/** Minimum margin, for events without a duration. */
const MIN_PADDING_PS = 2e6;
/** Margin around a trace, as a fraction of its duration. */
const MARGIN_SHARE = 0.02;

const MAX_SCREEN_PX = 5000;

export const getSpanLength = ({ start, end }: TimeSpan): number => end - start;

export function addMargin({ start, end }: TimeSpan): TimeSpan {
  const margin = Math.max(MARGIN_SHARE * (end - start), MIN_SPAN_PS);
  return { start: start - margin, end: end + margin };
}

/** Scale a span around a time that keeps its position. */
export function zoomSpan({ start, end }: TimeSpan, factor: number, around: number): TimeSpan {
  return { start: around + (start - around) * factor, end: around + (end - around) * factor };
}

export function shiftSpan({ start, end }: TimeSpan, by: number): TimeSpan {
  return { start: start + by, end: end + by };
}

/** Limit a span to the bounds and to a minimum length. */
export function clampSpan(span: TimeSpan, bounds: TimeSpan): TimeSpan {
  const length = Math.min(Math.max(getSpanLength(span), MIN_SPAN_PS), getSpanLength(bounds));
  const middle = (span.start + span.end) / 2;
  const half = length / 2;
  const center = Math.min(Math.max(middle, bounds.start + half), bounds.end - half);
  return { start: center - half, end: center + half };
}

/** Add a margin of the same length on both sides. */
export function padSpan({ start, end }: TimeSpan): TimeSpan {
  const margin = Math.max(end - start, MIN_PADDING_PS);
  return { start: start - margin, end: end + margin };
}

/** Return a span between two others, at a fraction of the way. */
export function interpolateSpan(from: TimeSpan, to: TimeSpan, share: number): TimeSpan {
  return {
    start: from.start + (to.start - from.start) * share,
    end: from.end + (to.end - from.end) * share,
  };
}

/** Return whether two spans differ by less than a pixel. */
export function looksEqual(first: TimeSpan, second: TimeSpan): boolean {
  const tolerance = getSpanLength(first) / MAX_SCREEN_PX;
  const isClose = (a: number, b: number): boolean => Math.abs(a - b) < tolerance;
  return isClose(first.start, second.start) && isClose(first.end, second.end);
}

// ---- Formatting and ticks

const PICOSECONDS = [common.unitPsName, 1] as const;
const TIME_UNITS: readonly (readonly [name: string, ps: number])[] = [
  [common.unitSName, 1e12],
  [common.unitMsName, 1e9],
  [common.unitUsName, 1e6],
  [common.unitNsName, 1e3],
  PICOSECONDS,
];

const TICK_SPACING_PX = 110;
/** Larger numbers are shown in a larger unit, in thousandths. */
const MAX_TICK_VALUE = 10_000;

export interface TimeTick {
  readonly timePs: number;
  readonly text: string;
}

/** Format a duration with four digits. */
export function formatDurationPs(ps: number): string {
  if (ps === 0) return '0';
  const size = Math.abs(ps);
  const [unit, unitPs] = TIME_UNITS.find(([, unitPs]) => size >= unitPs) ?? PICOSECONDS;
  const value = ps / unitPs;
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
  return `${Number(value.toFixed(digits))} ${unit}`.replace('-', '−');
}

/** Format a duration with all digits. */
export function formatExactPs(ps: number): string {
  const size = Math.abs(ps);
  const [unit, unitPs] = TIME_UNITS.find(([, unitPs]) => size >= unitPs) ?? PICOSECONDS;
  return `${ps / unitPs} ${unit}`;
}

/** Return the number of ticks for a width. */
export function getTickCount(width: number): number {
  return Math.max(2, Math.round(width / TICK_SPACING_PX));
}

/** Return ticks in the unit of the distance between them. */
export function makeTimeTicks(span: TimeSpan, count: number): TimeTick[] {
  const step = niceStep(getSpanLength(span), count);
  const maxTime = Math.max(Math.abs(span.start), Math.abs(span.end));
  const [unit, unitPs] =
    TIME_UNITS.find(([, ps]) => step >= ps || maxTime / ps >= MAX_TICK_VALUE / 1000) ?? PICOSECONDS;
  const digits = Math.max(0, -Math.floor(Math.log10(step / unitPs)));
  return listMultiples(step, [span.start, span.end]).map((timePs) => ({
    timePs,
    text: `${(timePs / unitPs).toFixed(digits)} ${unit}`.replace('-', '−'),
  }));
}

// ---- Steps

const MIN_STEP_PX = 14;
const MIN_NAME_PX = 80;
const MIN_NUMBER_PX = 24;

/** A step on the ruler, in pixels. */
export interface StepBox extends TimeSpan {
  readonly index: number;
  readonly name: string;
  readonly left: number;
  readonly width: number;
  /** As much of the name as fits. */
  readonly text: string;
  /** Whether the duration fits as well. */
  readonly showsDuration: boolean;
}

/** Lay out the steps that are wide enough. */
export function layoutSteps(steps: StepColumns, span: TimeSpan, width: number): StepBox[] {
  const getX = (ps: number): number => ((ps - span.start) / getSpanLength(span)) * width;
  return steps.names.map(formatStepName).flatMap((name, index) => {
    const [start, end] = [steps.start_ps[index] ?? 0, steps.end_ps[index] ?? 0];
    const [left, right] = [Math.max(0, getX(start)), Math.min(width, getX(end))];
    const boxWidth = right - left;
    if (boxWidth < MIN_STEP_PX) return [];
    const showsDuration = boxWidth > MIN_NAME_PX;
    const number = boxWidth > MIN_NUMBER_PX ? (/\d+$/.exec(name)?.[0] ?? '') : '';
    const text = showsDuration ? name : number;
    return [{ index, name, start, end, left, width: boxWidth, text, showsDuration }];
  });
}

/** Return the name of the step at a time; empty if there is none. */
export function findStepName(steps: StepColumns | undefined, timePs: number): string {
  const index = steps?.start_ps.findLastIndex((start) => start <= timePs) ?? -1;
  if (!steps || index < 0 || timePs >= (steps.end_ps[index] ?? 0)) return '';
  return formatStepName(steps.names[index] ?? '');
}

// ---- Tracks

/** The height of a lane with labels, including the gap below it. */
export const LANE_HEIGHT_PX = 18;
const COLLAPSED_HEIGHT_PX = 20;
const TRACK_PADDING_PX = 3;
const MIN_LANE_PX = 2;
/** The main thread and devices with more lanes are collapsed by default. */
const MAX_EXPANDED_LANES = 40;

/** A track with its position; `top` is relative to the pinned or the other tracks. */
export interface TrackBand {
  readonly track: TrackRow;
  readonly isExpanded: boolean;
  readonly isPinned: boolean;
  readonly top: number;
  readonly height: number;
  readonly laneHeight: number;
  /** Number of visible lanes. */
  readonly laneCount: number;
}

export interface TrackLayout {
  readonly pinned: readonly TrackBand[];
  readonly pinnedHeight: number;
  readonly unpinned: readonly TrackBand[];
  readonly unpinnedHeight: number;
}

export interface TrackChoices {
  /** Tracks that are expanded or collapsed, unlike the default. */
  readonly toggled: readonly number[];
  readonly pinned: readonly number[];
  readonly hidden: readonly number[];
  /** The first of the other tracks; the rest follows in the default order. */
  readonly order: readonly number[];
}

export function layoutTracks(tracks: readonly TrackRow[], choices: TrackChoices): TrackLayout {
  const shown = tracks.filter(({ id }) => !choices.hidden.includes(id));
  // In the order in which they were pinned, or moved since.
  const pinned = stackTracks(
    choices.pinned.flatMap((id) => shown.find((track) => track.id === id) ?? []),
    choices,
    true,
  );
  const others = shown.filter(({ id }) => !choices.pinned.includes(id));
  const unpinned = stackTracks(
    [
      ...choices.order.flatMap((id) => others.find((track) => track.id === id) ?? []),
      ...others.filter(({ id }) => !choices.order.includes(id)),
    ],
    choices,
    false,
  );
  return {
    pinned,
    pinnedHeight: getTotalHeight(pinned),
    unpinned,
    unpinnedHeight: getTotalHeight(unpinned),
  };
}

export function isExpandedByDefault({ is_main, is_device, lanes }: TrackRow): boolean {
  return lanes <= 2 || ((is_main || is_device) && lanes <= MAX_EXPANDED_LANES);
}

export function findBandAt(bands: readonly TrackBand[], y: number): TrackBand | undefined {
  return bands.find(({ top, height }) => y >= top && y < top + height);
}

/** Return the lane at a height; null between lanes. */
export function findLaneAt({ top, laneHeight, laneCount }: TrackBand, y: number): number | null {
  const lane = Math.floor((y - top - TRACK_PADDING_PX) / laneHeight);
  return lane >= 0 && lane < laneCount ? lane : null;
}

/** Return the first and last lane between two heights; null if the track is outside. */
export function findLanesBetween(
  { top, height, laneHeight, laneCount }: TrackBand,
  from: number,
  to: number,
): [number, number] | null {
  if (to <= top || from >= top + height) return null;
  const find = (y: number): number =>
    Math.min(Math.max(Math.floor((y - top - TRACK_PADDING_PX) / laneHeight), 0), laneCount - 1);
  return [find(from), find(to)];
}

/** Return how many tracks are above a height, to drop another one there. */
export function findDropIndex(bands: readonly TrackBand[], y: number): number {
  return bands.filter(({ top, height }) => top + height / 2 < y).length;
}

/** Move an id in front of the one at an index. */
export function moveId(ids: readonly number[], id: number, index: number): number[] {
  const at = ids.indexOf(id);
  const rest = ids.filter((other) => other !== id);
  rest.splice(at < index ? index - 1 : index, 0, id);
  return rest;
}

/** Leave out the end of an order that is as by default, to keep URLs short. */
export function trimOrder(order: readonly number[], defaults: readonly number[]): number[] {
  const ranks = order.map((id) => defaults.indexOf(id));
  let length = order.length - 1;
  while (length > 0 && (ranks[length - 1] ?? 0) < (ranks[length] ?? 0)) length--;
  return order.slice(0, Math.max(0, length));
}

export function getLaneTop(band: TrackBand, lane: number): number {
  return band.top + TRACK_PADDING_PX + Math.min(lane, band.laneCount - 1) * band.laneHeight;
}

function stackTracks(
  tracks: readonly TrackRow[],
  { toggled }: TrackChoices,
  isPinned: boolean,
): TrackBand[] {
  let top = 0;
  return tracks.map((track) => {
    const isExpanded = isExpandedByDefault(track) !== toggled.includes(track.id);
    const band = { track, isExpanded, isPinned, top, ...measureTrack(track, isExpanded) };
    top += band.height;
    return band;
  });
}

function measureTrack(
  { lanes }: TrackRow,
  isExpanded: boolean,
): Pick<TrackBand, 'height' | 'laneHeight' | 'laneCount'> {
  if (isExpanded)
    return {
      laneHeight: LANE_HEIGHT_PX,
      laneCount: lanes,
      height: Math.max(lanes * LANE_HEIGHT_PX, COLLAPSED_HEIGHT_PX) + 2 * TRACK_PADDING_PX,
    };
  const laneHeight = Math.max(MIN_LANE_PX, Math.floor(COLLAPSED_HEIGHT_PX / lanes));
  return {
    laneHeight,
    laneCount: Math.min(lanes, Math.floor(COLLAPSED_HEIGHT_PX / laneHeight)),
    height: COLLAPSED_HEIGHT_PX + 2 * TRACK_PADDING_PX,
  };
}

function getTotalHeight(bands: readonly TrackBand[]): number {
  const last = bands.at(-1);
  return last ? last.top + last.height : 0;
}

type Counter = Pick<CounterTrack, 'times' | 'values' | 'peak' | 'low'>;

/** Space above the highest value. */
const TOP_PX = 3;

/** Return the value of a counter at a time; null before its first. */
export function getCounterValue({ times, values }: Counter, timePs: number): number | null {
  const index = times.findLastIndex((time) => time <= timePs);
  return values[index] ?? null;
}

/** Return the area between a counter and 0 as an SVG path, with a step at each change. */
export function makeCounterPath(
  { times, values, peak, low }: Counter,
  span: TimeSpan,
  width: number,
  height: number,
): string {
  if (times.length === 0 || peak <= low) return '';
  const scale = width / getSpanLength(span);
  const getX = (ps: number): string => ((ps - span.start) * scale).toFixed(1);
  const getY = (value: number): string =>
    (height - ((value - low) / (peak - low)) * (height - TOP_PX)).toFixed(1);
  const zero = getY(0);
  const steps = Array.from(times, (time, index) => {
    const value = getY(values[index] ?? 0);
    return `${index === 0 ? '' : `H${getX(time)}`}V${value}`;
  });
  return `M${getX(times[0] ?? 0)} ${zero}${steps.join('')}H${getX(span.end)}V${zero}Z`;
}

// ---- Selected events

/** Selected events: all in some rectangles, except those that are also listed, and the others. */
export interface EventSelection {
  readonly events: readonly number[];
  readonly boxes: readonly EventBox[];
}

export const EMPTY_SELECTION: EventSelection = { events: [], boxes: [] };

const PS_PER_US = 1e6;
const PS_PER_NS = 1e3;

export const isEmptySelection = ({ events, boxes }: EventSelection): boolean =>
  events.length + boxes.length === 0;

/** In URLs, `12.15~1.5_2_0_1_3`: events, then rectangles with their times in microseconds. */
export const selectionCodec: Codec<EventSelection> = {
  parse(text) {
    const [events = '', ...boxes] = text.split('~');
    const numbers = events === '' ? [] : events.split('.').map(Number);
    return { events: numbers.filter(isIndex), boxes: boxes.flatMap(parseBox) };
  },
  format: ({ events, boxes }) => [events.join('.'), ...boxes.map(formatBox)].join('~'),
};

const isIndex = (value: number | undefined): value is number =>
  Number.isSafeInteger(value) && value !== undefined && value >= 0;

function parseBox(text: string): EventBox[] {
  const [start = NaN, end = NaN, track, first_lane, last_lane] = text.split('_').map(Number);
  const isValid = Number.isFinite(start) && Number.isFinite(end);
  if (!isValid || !isIndex(track) || !isIndex(first_lane) || !isIndex(last_lane)) return [];
  return [{ start: start * PS_PER_US, end: end * PS_PER_US, track, first_lane, last_lane }];
}

function formatBox({ start, end, track, first_lane, last_lane }: EventBox): string {
  const times = [start, end].map((ps) => Math.round(ps / PS_PER_NS) / 1000);
  return [...times, track, first_lane, last_lane].join('_');
}

/** Add an event, or remove it if it is selected. */
export function toggleEvent({ events, boxes }: EventSelection, event: number): EventSelection {
  const isListed = events.includes(event);
  return { events: isListed ? events.filter((id) => id !== event) : [...events, event], boxes };
}

/** Add rectangles; if all of them are selected already, remove them. */
export function toggleBoxes(
  { events, boxes }: EventSelection,
  added: readonly EventBox[],
): EventSelection {
  const keys = boxes.map(formatBox);
  const addedKeys = added.map(formatBox);
  if (addedKeys.every((key) => keys.includes(key)))
    return { events, boxes: boxes.filter((_, index) => !addedKeys.includes(keys[index] ?? '')) };
  return { events, boxes: [...boxes, ...added.filter((box) => !keys.includes(formatBox(box)))] };
}

/** Return the rectangles of a time span between two heights, one for each track. */
export function listBoxes(
  { pinned, unpinned, pinnedHeight }: TrackLayout,
  scroll: number,
  { start, end }: TimeSpan,
  from: number,
  to: number,
): EventBox[] {
  const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
  const collect = (bands: readonly TrackBand[], first: number, last: number): EventBox[] =>
    bands.flatMap((band) => {
      const lanes = first < last ? findLanesBetween(band, first, last) : null;
      if (!lanes) return [];
      return [{ start, end, track: band.track.id, first_lane: lanes[0], last_lane: lanes[1] }];
    });
  const shift = pinnedHeight - scroll;
  return [
    ...collect(pinned, top, Math.min(bottom, pinnedHeight)),
    // Other tracks scroll below the pinned ones.
    ...collect(unpinned, Math.max(top, pinnedHeight) - shift, bottom - shift),
  ];
}
