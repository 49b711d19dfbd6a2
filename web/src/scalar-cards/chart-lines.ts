/** What a scalar card shows: lines, bands, markers and annotations, from the response for its chart. */
import { parseJsonNumber } from '../api/columns';
import type { ChartRow } from '../api/query-definition';
import type {
  BandRow,
  CaptureRow,
  DebugSourceRow,
  LineRow,
  NearestPointRow,
  PointRow,
} from '../api/schemas';
import type { Card } from '../cards/card-sections';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import type { Annotation, Band, Line, PointMarker } from '../charts/types';
import { formatStep, formatValue } from '../lib/format';
import { getRunSplit, RUN_COLORS, withoutSplit } from '../lib/run-colors';
import { countFolders, findCommonFolder, getFolder } from '../lib/grouping';
import type { RunGroup, Runs, XAxis } from '../plugin/context';
import type { ExtremeMarkers } from './scalar-settings';

/** Runs whose series are combined. */
export interface BandGroup extends RunGroup {
  /** The center lines of bands of validation runs are dashed. */
  readonly dash: readonly number[];
}

/** Separates the key of a group and the split; no file name contains it. */
const SEPARATOR = '\0';
const DASHED: readonly number[] = [5, 4];
const SOLID: readonly number[] = [];

/**
 * Return the groups of the run table, or groups by folder if runs are not grouped. Train, validation
 * and test runs of a group are separate bands: their mean would be that of different quantities.
 */
export function makeBandGroups(
  runs: Pick<Runs, 'groups' | 'visible'> & Partial<Pick<Runs, 'selection'>>,
): readonly BandGroup[] {
  const { groups, visible, selection } = runs;
  if (groups.length > 0) return groups.flatMap(separateSplits);
  if (!selection) return groupByFolder(visible).flatMap(separateSplits);
  const label = m.allRuns({ count: selection.count });
  const names = visible.map(({ name }) => name);
  return separateSplits({ key: '', label, color: RUN_COLORS[0], runs: names, all: selection });
}

/**
 * Return the runs that certainly have data in a chart. Of a band only the number of runs is known,
 * so its runs count if all of them have data.
 */
export function listChartRuns(
  {
    lines,
    bands,
  }: {
    readonly lines: readonly Pick<LineRow, 'run'>[];
    readonly bands: readonly Pick<BandRow, 'group' | 'runs'>[];
  },
  groups: readonly BandGroup[],
): ReadonlySet<string> {
  const runsByGroup = new Map(groups.map(({ key, runs }) => [key, runs]));
  const inBands = bands.flatMap(({ group, runs: count }) => {
    const runs = runsByGroup.get(group) ?? [];
    return runs.length === count ? runs : [];
  });
  return new Set([...lines.map(({ run }) => run), ...inBands]);
}

/**
 * Group runs by the folder of their experiment: `vit/seed1` and `vit/seed2/train` belong to `vit`.
 * Experiments that are alone in their folder form one group, and so do all if there is one folder.
 */
function groupByFolder(visible: Runs['visible']): RunGroup[] {
  const experiments = new Map(visible.map(({ name }) => [name, withoutSplit(name)]));
  const distinct = [...new Set(experiments.values())];
  const sizes = countFolders(distinct);
  const commonLength = findCommonFolder(distinct).length;
  const members = new Map<string, string[]>();
  for (const [name, experiment] of experiments) {
    const folder = getFolder(experiment);
    const key = (sizes.get(folder) ?? 0) > 1 ? folder : '';
    members.set(key, [...(members.get(key) ?? []), name]);
  }
  const isOne = members.size === 1;
  return Array.from(members, ([folder, runs], index) => ({
    key: folder,
    label: isOne
      ? m.allRuns({ count: runs.length })
      : folder.slice(commonLength, -1) || common.other,
    color: RUN_COLORS[index % RUN_COLORS.length] ?? RUN_COLORS[0],
    runs,
  }));
}

function separateSplits(group: RunGroup): BandGroup[] {
  const bySplit = new Map<string, string[]>();
  for (const name of group.runs) {
    const split = getRunSplit(name);
    bySplit.set(split, [...(bySplit.get(split) ?? []), name]);
  }
  const { all } = group;
  for (const split of all?.splits ?? []) bySplit.set(split, bySplit.get(split) ?? []);
  return Array.from(bySplit, ([split, runs]) => ({
    ...group,
    ...(all && bySplit.size > 1 ? { all: { ...all, query: { ...all.query, split } } } : {}),
    key: bySplit.size === 1 ? group.key : [group.key, split].join(SEPARATOR),
    label:
      bySplit.size === 1 || split === ''
        ? group.label
        : m.groupSplit({ group: group.label, split }),
    dash: split === '' || split === 'train' ? SOLID : DASHED,
    runs,
  }));
}

/** The tags of a line and of the lower and upper edge of the band around it. */
export interface MarginTags {
  readonly value: string;
  readonly lower: string;
  readonly upper: string;
}

export interface ScalarCard extends Card {
  readonly tags: readonly string[];
  /** The tags on the right axis. */
  readonly right: readonly string[];
  /** If there are any, these bands are drawn instead of a line per tag. */
  readonly margins: readonly MarginTags[];
}

export function areCardsEqual(one: ScalarCard, other: ScalarCard): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

// ---- lines

/** With more lines, only the best value of all lines is marked. */
const MAX_MARKED_LINES = 8;
/** Colors identify runs, so dashes distinguish the tags of a card. */
const TAG_DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [5, 2]];
const NO_NUMBERS = new Float64Array(0);

export function makeLineId(run: string, tag: string): string {
  return `${run}\n${tag}`;
}

export function getRunOfLine(id: string): string {
  return id.slice(0, id.indexOf('\n'));
}

interface LineOptions {
  readonly runs: Runs;
  readonly markers: ExtremeMarkers;
  readonly scatter: boolean;
}

export function makeLines(
  response: ChartRow,
  card: ScalarCard,
  { runs, markers, scatter }: LineOptions,
): Line[] {
  const extremes = extremeMarkers(response.lines, markers);
  const isOneRun = new Set(response.lines.map(({ run }) => run)).size === 1;
  const byTag = getLineTags(card).length > 1 && isOneRun;
  return response.lines.map((line) => ({
    id: makeLineId(line.run, line.tag),
    ...getLineStyle(line, card, runs, byTag),
    axis: card.right.includes(line.tag) ? 1 : 0,
    ...getLineColumns(line, response.grid),
    markers: [...makeNonFiniteMarkers(line), ...(extremes.get(line) ?? [])],
    ...(scatter ? { scatter: true } : {}),
  }));
}

/** Return the x of a line; lines without one share the grid of the chart, up to their end. */
export function getLineX({ x, y }: LineRow, grid: Float64Array | null): Float64Array {
  if (x) return x;
  return grid && y.length < grid.length ? grid.subarray(0, y.length) : (grid ?? NO_NUMBERS);
}

/** Return the columns of a line. */
export function getLineColumns(line: LineRow, grid: Float64Array | null) {
  return {
    x: getLineX(line, grid),
    y: line.y,
    ...(line.raw ? { raw: line.raw } : {}),
    ...(line.low && line.high ? { low: line.low, high: line.high } : {}),
    ...(line.overwritten_parts ? { overwritten: line.overwritten_parts } : {}),
  };
}

/** Lines are labeled and colored by run, or by tag if the card shows several tags of one run. */
function getLineStyle({ run, tag }: LineRow, card: ScalarCard, runs: Runs, byTag: boolean) {
  const visible = runs.find(run);
  const label = visible?.label ?? run;
  const tags = getLineTags(card);
  const index = tags.indexOf(tag);
  if (byTag) return { label: tag, color: getColor(index), dash: [] };
  if (tags.length === 1 && index === 0)
    return { label, color: visible?.color ?? getColor(0), dash: visible?.dash ?? [] };
  return {
    label: m.seriesName({ run: label, tag }),
    color: visible?.color ?? getColor(0),
    dash: TAG_DASHES[Math.max(0, index) % TAG_DASHES.length] ?? [],
  };
}

/** Return the tags that have a line; the edges of bands have none. */
function getLineTags({ tags, margins }: ScalarCard): readonly string[] {
  return margins.length > 0 ? margins.map(({ value }) => value) : tags;
}

function getColor(index: number): string {
  return RUN_COLORS[Math.max(0, index) % RUN_COLORS.length] ?? RUN_COLORS[0];
}

// ---- markers

const NON_FINITE_LABELS = { nan: common.nan, inf: m.inf, '-inf': m.negativeInf };

/** Return markers for the NaN and infinite values of a line. */
export function makeNonFiniteMarkers(line: LineRow): PointMarker[] {
  return line.nonfinite.map(({ x, step, kind }) => ({
    x: Number(x),
    y: NaN,
    kind,
    text: m.nonFiniteAt({ kind: NON_FINITE_LABELS[kind], step: formatStep(step) }),
  }));
}

export function countNonFinite(response: ChartRow): number {
  return response.lines.reduce((sum, line) => sum + line.nonfinite_count, 0);
}

type Extreme = 'min' | 'max';

const EXTREMES: Readonly<Record<ExtremeMarkers, readonly Extreme[]>> = {
  none: [],
  min: ['min'],
  max: ['max'],
  both: ['min', 'max'],
};

function extremeMarkers(
  lines: readonly LineRow[],
  markers: ExtremeMarkers,
): ReadonlyMap<LineRow, readonly PointMarker[]> {
  const byLine = new Map<LineRow, PointMarker[]>();
  for (const kind of EXTREMES[markers]) {
    for (const line of lines.length > MAX_MARKED_LINES ? findBestLine(lines, kind) : lines) {
      const point = line[kind];
      if (point) byLine.set(line, [...(byLine.get(line) ?? []), makeMarker(point, kind)]);
    }
  }
  return byLine;
}

function makeMarker(point: PointRow, kind: Extreme): PointMarker {
  const y = Number(point.value);
  const values = { value: formatValue(y), step: formatStep(point.step) };
  const text = kind === 'min' ? m.minAt(values) : m.maxAt(values);
  return { x: Number(point.x), y, kind, text };
}

function findBestLine(lines: readonly LineRow[], kind: Extreme): LineRow[] {
  const sign = kind === 'min' ? 1 : -1;
  let best: LineRow | null = null;
  let lowest = Infinity;
  for (const line of lines) {
    const value = parseJsonNumber(line[kind]?.value);
    if (value === null || sign * value >= lowest) continue;
    lowest = sign * value;
    best = line;
  }
  return best ? [best] : [];
}

// ---- bands

/** Return a band for each group of runs. */
export function makeBands(
  response: ChartRow,
  card: ScalarCard,
  groups: readonly BandGroup[],
): Band[] {
  const byKey = new Map(groups.map((group) => [group.key, group]));
  return response.bands.flatMap(({ group: key, tag, x, low, center, high, count, ...band }) => {
    const group = byKey.get(key);
    // The groups have changed, and the next response is on its way.
    if (!group || x.length === 0) return [];
    const label = card.tags.length > 1 ? m.seriesName({ run: group.label, tag }) : group.label;
    const axis = card.right.includes(tag) ? 1 : 0;
    const { color, dash } = group;
    const { inner_low, inner_high } = band;
    const inner = inner_low && inner_high ? { inner: { low: inner_low, high: inner_high } } : {};
    const columns = { x, low, center, high, count, ...inner };
    return [{ id: makeLineId(key, tag), label, color, dash, axis, ...columns }];
  });
}

/** Return the lowest and highest number of runs that the values of the bands are from. */
export function getCountRange(bands: readonly BandRow[]): { low: number; high: number } | null {
  let [low, high] = [Infinity, -Infinity];
  for (const { count, center } of bands)
    count.forEach((runs, index) => {
      if (Number.isNaN(center[index])) return;
      [low, high] = [Math.min(low, runs), Math.max(high, runs)];
    });
  return low > high ? null : { low, high };
}

/** Return the center of a band as a line, for the values at the cursor. */
export function makeBandCenterLine({ id, label, color, dash = [], axis, x, center }: Band): Line {
  return { id, label, color, axis, x, y: center, dash };
}

/**
 * Return bands made of the lines of a card. Edges are interpolated at the points of the center line; a
 * run that lacks one of the three lines has no band. Bands use the raw values: a smoothed center would
 * not match its edges.
 */
export function makeMarginBands(lines: readonly Line[], { margins }: ScalarCard): Band[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const runs = [...new Set(lines.map(({ id }) => getRunOfLine(id)))];
  return margins.flatMap(({ value, lower, upper }) =>
    runs.flatMap((run) => {
      const [line, low, high] = [value, lower, upper].map((tag) => byId.get(makeLineId(run, tag)));
      return line && low && high ? [makeMarginBand(line, low, high)] : [];
    }),
  );
}

function makeMarginBand(line: Line, low: Line, high: Line): Band {
  const { id, label, color, axis, x, y, raw = y } = line;
  const edges = { low: interpolateAt(x, low), high: interpolateAt(x, high) };
  return { id, label, color, axis, x, center: raw, ...edges };
}

/** Return the values of a line at increasing positions; NaN beyond its ends. */
function interpolateAt(positions: Line['x'], { x, y, raw = y }: Line): Float64Array {
  const values = new Float64Array(positions.length).fill(NaN);
  let at = 0;
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index] ?? NaN;
    while (at < x.length - 1 && (x[at + 1] ?? Infinity) <= position) at++;
    values[index] = interpolate(x[at], raw[at], x[at + 1], raw[at + 1], position);
  }
  return values;
}

function interpolate(x0 = NaN, y0 = NaN, x1 = NaN, y1 = NaN, x: number): number {
  if (x === x0) return y0;
  if (!(x > x0)) return NaN;
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

// ---- annotations

/** More flags would hide the lines. */
const MAX_CAPTURE_FLAGS = 12;

/** Return a flag for each profiler capture of some runs; only some axes have a position for it. */
export function listCaptureFlags(
  captures: readonly Pick<CaptureRow, 'id' | 'run' | 'wall_s' | 'step'>[],
  runs: readonly string[],
  axis: XAxis,
): readonly Annotation[] {
  const flags = captures
    .filter(({ run }) => runs.includes(run))
    .flatMap(({ id, run, wall_s, step }) => {
      const x = axis === 'wall' ? wall_s : axis === 'step' ? step : null;
      return x === null ? [] : [{ id: ['capture', id].join(' '), x, text: m.captureFlag({ run }) }];
    });
  return flags.length > MAX_CAPTURE_FLAGS ? [] : flags;
}

/** Return the rows by the id of their line. */
export function groupRowsByLine<Row extends Pick<NearestPointRow, 'run' | 'tag'>>(
  rows: readonly Row[],
): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [makeLineId(row.run, row.tag), row]));
}

/** More marks would hide the lines. */
const MAX_MARKS = 12;

type ProblemRow = Pick<DebugSourceRow, 'name' | 'run' | 'problem_step' | 'problem_time'>;

/** A line of a chart, with the times of its first and last point in seconds. */
export interface MarkedLine {
  readonly run: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Return a mark at the first numerical problem of each run that has one. Dumps of TensorFlow have no
 * steps, so they are only marked on axes of time.
 */
export function makeDebuggerAnnotations(
  rows: readonly ProblemRow[],
  lines: readonly MarkedLine[],
  axis: XAxis,
): readonly Annotation[] {
  const marks = rows.flatMap((row) => {
    const line =
      lines.find(({ run }) => run === row.run) ?? lines.find((it) => isOfProgram(row, it));
    const x = line ? locateProblem(row, line, axis) : null;
    return x === null
      ? []
      : [{ id: `debugger ${row.name}`, x, text: m.debuggerMark({ run: row.name }) }];
  });
  return marks.length > MAX_MARKS ? [] : marks;
}

/**
 * Whether a program that wrote a dump also wrote a line: its directory is above or below that of the
 * dump, and it was written at the time of the problem.
 */
function isOfProgram({ run, problem_time: time }: ProblemRow, line: MarkedLine): boolean {
  const isRelated = run === '.' || line.run.startsWith(`${run}/`) || run.startsWith(`${line.run}/`);
  return isRelated && time !== null && time >= line.start && time <= line.end;
}

function locateProblem(
  { problem_step: step, problem_time: time }: ProblemRow,
  { start }: MarkedLine,
  axis: XAxis,
): number | null {
  switch (axis) {
    case 'step':
      return step;
    case 'wall':
      return time;
    case 'relative':
      return time === null || Number.isNaN(start) ? null : time - start;
    default:
      return null;
  }
}
