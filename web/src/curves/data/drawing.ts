import type { BandAnswer, ChartAnswer, LineAnswer } from '../../api/scalars';
import { RUN_COLOURS } from '../../base/colour';
import type { Band, Line } from '../../charts/types';
import type { Runs } from '../../plugin/context';
import type { CurveCard } from '../card';
import type { Best } from '../state/settings';
import { bestMarks, oddMarks } from './marks';
import { EVERYTHING } from './query';

export interface Look {
  readonly runs: Runs;
  readonly best: Best;
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

export function drawLines(answer: ChartAnswer, card: CurveCard, look: Look): Line[] {
  const marks = bestMarks(answer.lines, look.best);
  const isOneRun = new Set(answer.lines.map(({ run }) => run)).size === 1;
  const byTag = drawnTags(card).length > 1 && isOneRun;
  return answer.lines.map((line) => ({
    id: lineId(line.run, line.tag),
    ...dress(line, card, look.runs, byTag),
    axis: card.right.includes(line.tag) ? 1 : 0,
    ...columnsOf(line, answer.grid),
    marks: [...oddMarks(line), ...(marks.get(line) ?? [])],
    ...(look.scatter ? { scatter: true } : {}),
  }));
}

/** The numbers of a line, on the grid of its chart where it has no places of its own. */
export function columnsOf(line: LineAnswer, grid: Float64Array | null) {
  return {
    x: line.x ?? grid ?? NO_NUMBERS,
    y: line.y,
    ...(line.raw ? { raw: line.raw } : {}),
    ...(line.low && line.high ? { low: line.low, high: line.high } : {}),
    ...(line.faded ? { faded: line.faded } : {}),
  };
}

/** Name and colour: by run, but by tag where one run fills the card with several. */
function dress({ run, tag }: LineAnswer, card: CurveCard, runs: Runs, byTag: boolean) {
  const shown = runs.find(run);
  const label = shown?.label ?? run;
  const tags = drawnTags(card);
  const at = tags.indexOf(tag);
  if (byTag) return { label: tag, colour: colourAt(at), dash: [] };
  const isAlone = tags.length === 1 && at === 0;
  return {
    label: isAlone ? label : `${label} · ${tag}`,
    colour: shown?.colour ?? colourAt(0),
    dash: isAlone ? (shown?.dash ?? []) : (TAG_DASHES[Math.max(0, at) % TAG_DASHES.length] ?? []),
  };
}

/** The tags that have a line; edges of a band have none of their own. */
function drawnTags({ tags, margins }: CurveCard): readonly string[] {
  return margins.length > 0 ? margins.map(({ value }) => value) : tags;
}

export function drawBands(answer: ChartAnswer, card: CurveCard, runs: Runs): Band[] {
  return answer.bands.map((band, at) => ({
    id: lineId(band.group, band.tag),
    label: bandLabel(band, card, runs),
    colour: runs.groups.find(({ key }) => key === band.group)?.colour ?? colourAt(at),
    axis: card.right.includes(band.tag) ? 1 : 0,
    x: band.x,
    low: band.low,
    center: band.center,
    high: band.high,
  }));
}

function bandLabel(band: BandAnswer, card: CurveCard, runs: Runs): string {
  const group = runs.groups.find(({ key }) => key === band.group);
  const name = group?.label ?? (band.group === EVERYTHING ? `all ${band.runs} runs` : band.group);
  return card.tags.length > 1 ? `${name} · ${band.tag}` : name;
}

function colourAt(at: number): string {
  return RUN_COLOURS[Math.max(0, at) % RUN_COLOURS.length] ?? RUN_COLOURS[0];
}

/** A band as a line, for what is at the cursor. */
export function centerOf(band: Band): Line {
  const { id, label, colour, axis, x } = band;
  return { id, label, colour, axis, x, y: band.center, dash: [] };
}

export function countOdd(answer: ChartAnswer): number {
  return answer.lines.reduce((sum, line) => sum + line.odd_count, 0);
}
