import { parseJsonNumber } from '../api/decode';
import type { ChartRow } from '../api/scalar-schemas';
import type { BandRow, LineRow, NearestPointRow, PointRow } from '../api/schemas';
import type { Band, Line, PointMarker } from '../charts/types';
import { RUN_COLORS } from '../lib/colors';
import { formatStep, formatValue } from '../lib/format';
import type { Runs } from '../plugin/context';
import { ALL_RUNS_GROUP } from './chart-request';
import type { ScalarCard } from './scalar-card';
import type { ExtremeMarkers } from './scalar-settings';

/** With more lines than these only the best of all is marked. */
const MAX_MARKED_LINES = 8;

const NON_FINITE_LABELS = { nan: 'NaN', inf: '+Inf', '-inf': '−Inf' };

/** Where a line is not a number, or not a finite one. */
export function nonFiniteMarkers(line: LineRow): PointMarker[] {
  return line.odd.map(({ x, step, kind }) => ({
    x: Number(x),
    y: NaN,
    kind,
    text: `${NON_FINITE_LABELS[kind]} at step ${formatStep(step)}`,
  }));
}

/** The lowest and highest values, of each line or, where there are many, of all. */
export function extremeMarkers(
  lines: readonly LineRow[],
  best: ExtremeMarkers,
): ReadonlyMap<LineRow, readonly PointMarker[]> {
  const kinds = { none: [], min: ['min'], max: ['max'], both: ['min', 'max'] }[best];
  const marks = new Map<LineRow, PointMarker[]>();
  for (const kind of kinds as readonly ('min' | 'max')[]) {
    const chosen = lines.length > MAX_MARKED_LINES ? extremeOf(lines, kind) : lines;
    for (const line of chosen) {
      const mark = markerOf(line[kind], kind);
      if (mark) marks.set(line, [...(marks.get(line) ?? []), mark]);
    }
  }
  return marks;
}

function markerOf(point: PointRow | null, kind: 'min' | 'max'): PointMarker | null {
  if (!point) return null;
  const value = Number(point.value);
  const text = `${kind} ${formatValue(value)} at step ${formatStep(point.step)}`;
  return { x: Number(point.x), y: value, kind, text };
}

function extremeOf(lines: readonly LineRow[], kind: 'min' | 'max'): LineRow[] {
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

export interface DrawOptions {
  readonly runs: Runs;
  readonly best: ExtremeMarkers;
  readonly scatter: boolean;
}

/** Tags that share a card have dashes of their own, as their colours are those of the runs. */
const TAG_DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [5, 2]];
const NO_NUMBERS = new Float64Array(0);

export function lineId(run: string, tag: string): string {
  return `${run}\n${tag}`;
}

/** The run that a line is of. */
export function runOf(id: string): string {
  return id.slice(0, id.indexOf('\n'));
}

export function drawLines(answer: ChartRow, card: ScalarCard, look: DrawOptions): Line[] {
  const marks = extremeMarkers(answer.lines, look.best);
  const isOneRun = new Set(answer.lines.map(({ run }) => run)).size === 1;
  const byTag = drawnTags(card).length > 1 && isOneRun;
  return answer.lines.map((line) => ({
    id: lineId(line.run, line.tag),
    ...lineStyle(line, card, look.runs, byTag),
    axis: card.right.includes(line.tag) ? 1 : 0,
    ...columnsOf(line, answer.grid),
    markers: [...nonFiniteMarkers(line), ...(marks.get(line) ?? [])],
    ...(look.scatter ? { scatter: true } : {}),
  }));
}

/** The numbers of a line, on the grid of its chart where it has no places of its own. */
export function columnsOf(line: LineRow, grid: Float64Array | null) {
  return {
    x: line.x ?? grid ?? NO_NUMBERS,
    y: line.y,
    ...(line.raw ? { raw: line.raw } : {}),
    ...(line.low && line.high ? { low: line.low, high: line.high } : {}),
    ...(line.faded ? { overwritten: line.faded } : {}),
  };
}

/** Name and colour: by run, but by tag where one run fills the card with several. */
function lineStyle({ run, tag }: LineRow, card: ScalarCard, runs: Runs, byTag: boolean) {
  const shown = runs.find(run);
  const label = shown?.label ?? run;
  const tags = drawnTags(card);
  const at = tags.indexOf(tag);
  if (byTag) return { label: tag, color: colorAt(at), dash: [] };
  const isAlone = tags.length === 1 && at === 0;
  return {
    label: isAlone ? label : `${label} · ${tag}`,
    color: shown?.color ?? colorAt(0),
    dash: isAlone ? (shown?.dash ?? []) : (TAG_DASHES[Math.max(0, at) % TAG_DASHES.length] ?? []),
  };
}

/** The tags that have a line; edges of a band have none of their own. */
function drawnTags({ tags, margins }: ScalarCard): readonly string[] {
  return margins.length > 0 ? margins.map(({ value }) => value) : tags;
}

export function drawBands(answer: ChartRow, card: ScalarCard, runs: Runs): Band[] {
  return answer.bands.map((band, at) => ({
    id: lineId(band.group, band.tag),
    label: bandLabel(band, card, runs),
    color: runs.groups.find(({ key }) => key === band.group)?.color ?? colorAt(at),
    axis: card.right.includes(band.tag) ? 1 : 0,
    x: band.x,
    low: band.low,
    center: band.center,
    high: band.high,
  }));
}

function bandLabel(band: BandRow, card: ScalarCard, runs: Runs): string {
  const group = runs.groups.find(({ key }) => key === band.group);
  const name =
    group?.label ?? (band.group === ALL_RUNS_GROUP ? `all ${band.runs} runs` : band.group);
  return card.tags.length > 1 ? `${name} · ${band.tag}` : name;
}

function colorAt(at: number): string {
  return RUN_COLORS[Math.max(0, at) % RUN_COLORS.length] ?? RUN_COLORS[0];
}

/** A band as a line, for what is at the cursor. */
export function bandCenterLine(band: Band): Line {
  const { id, label, color, axis, x } = band;
  return { id, label, color, axis, x, y: band.center, dash: [] };
}

export function countNonFinite(answer: ChartRow): number {
  return answer.lines.reduce((sum, line) => sum + line.odd_count, 0);
}

/**
 * Bands out of the lines of a card: where an edge was not logged at a place of its line, what it was
 * between the places around it holds. A run that lacks one of the three has no band. Nothing is
 * smoothed, as a smooth line says nothing of the edges that belong to its points.
 */
export function marginBands(lines: readonly Line[], { margins }: ScalarCard): Band[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const runs = [...new Set(lines.map(({ id }) => runOf(id)))];
  return margins.flatMap(({ value, lower, upper }) =>
    runs.flatMap((run) => {
      const [line, low, high] = [value, lower, upper].map((tag) => byId.get(lineId(run, tag)));
      return line && low && high ? [bandOf(line, low, high)] : [];
    }),
  );
}

function bandOf(line: Line, low: Line, high: Line): Band {
  const { id, label, color, axis, x, y, raw = y } = line;
  return {
    id,
    label,
    color,
    axis,
    x,
    center: raw,
    low: interpolateAt(x, low),
    high: interpolateAt(x, high),
  };
}

/** What a line is at some rising places; NaN beyond its ends. */
function interpolateAt(places: Line['x'], { x, y: smooth, raw: y = smooth }: Line): Float64Array {
  const found = new Float64Array(places.length).fill(NaN);
  let at = 0;
  for (let place = 0; place < places.length; place++) {
    const wanted = places[place] ?? NaN;
    while (at < x.length - 1 && (x[at + 1] ?? Infinity) <= wanted) at++;
    found[place] = interpolate(x[at], y[at], x[at + 1], y[at + 1], wanted);
  }
  return found;
}

function interpolate(x0 = NaN, y0 = NaN, x1 = NaN, y1 = NaN, wanted: number): number {
  if (wanted === x0) return y0;
  if (!(wanted > x0)) return NaN;
  return y0 + ((y1 - y0) * (wanted - x0)) / (x1 - x0);
}

/** Rows by the id of the line that they are of. */
export function rowsByLine(rows: readonly NearestPointRow[]): ReadonlyMap<string, NearestPointRow> {
  return new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
}

/** Rows by their tag, with an empty list for a tag that has none. */
export function rowsByTag<Row extends { readonly tag: string }>(
  tags: readonly string[],
  rows: readonly Row[],
): ReadonlyMap<string, readonly Row[]> {
  const found = new Map<string, Row[]>(tags.map((tag) => [tag, []]));
  for (const row of rows) found.get(row.tag)?.push(row);
  return found;
}

export function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
