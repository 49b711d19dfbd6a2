import { indexAtStep, type SortedSteps } from '../../cards/steps/step-series';
import type { TextDiffLine } from '../../api/schemas';

/** One text of a card. */
export interface TextEntry {
  /** The same for as long as it stands for the same thing. */
  readonly key: string;
  readonly steps: SortedSteps;
  /** Where in `steps` it is. */
  readonly position: number;
}

/** What each run had logged by a step; a run that had nothing yet is left out. */
export function entriesAt(series: readonly SortedSteps[], step: number | null): TextEntry[] {
  return series.flatMap((steps) => {
    const position = indexAtStep(steps, step);
    return position < 0 ? [] : [{ key: steps.run, steps, position }];
  });
}

/** All texts, newest first; of one step in the order of the runs. */
export function allEntries(series: readonly SortedSteps[]): TextEntry[] {
  const entries = series.flatMap((steps) =>
    Array.from(steps.step, (_, position) => ({ key: entryKey(steps, position), steps, position })),
  );
  return entries.sort((a, b) => entryStep(b) - entryStep(a));
}

export function entryStep({ steps, position }: TextEntry): number {
  return steps.step[position] ?? 0;
}

function entryKey({ run, index, mark }: SortedSteps, position: number): string {
  return `${run}\n${index[position]}\n${mark[position]}`;
}

/** One line beside another: what took its place, or nothing. */
export interface DiffRow {
  readonly before: TextDiffLine | null;
  readonly after: TextDiffLine | null;
}

/** Lines one below the other as rows of two: removed ones beside those that were added there. */
export function alignDiffLines(lines: readonly TextDiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: TextDiffLine[] = [];
  let added: TextDiffLine[] = [];
  const flush = (): void => {
    const count = Math.max(removed.length, added.length);
    for (let at = 0; at < count; at++) {
      rows.push({ before: removed[at] ?? null, after: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line });
    }
  }
  flush();
  return rows;
}

/** As the server parts large tables. */
export const MAX_TABLE_ROWS = 50;
export const MAX_TABLE_COLUMNS = 20;

/** One way to go through something that comes in parts. */
export interface TablePage {
  /** From 0, and one beyond the last. */
  readonly first: number;
  readonly end: number;
  readonly count: number;
  readonly previous: number | null;
  readonly next: number | null;
}

export function tablePage(first: number, shown: number, count: number, most: number): TablePage {
  const end = first + shown;
  return {
    first,
    end,
    count,
    previous: first > 0 ? Math.max(0, first - most) : null,
    next: end < count ? end : null,
  };
}

/** Rows and columns of the tables in an array; a list is one column. */
export function tableSize(shape: readonly number[]): { rows: number; columns: number } {
  if (shape.length === 1) return { rows: shape[0] ?? 0, columns: 1 };
  const [rows = 0, columns = 0] = shape.slice(-2);
  return { rows, columns };
}

/** Another place in one dimension, kept inside of it. */
export function updateSlice(
  fixed: readonly number[],
  shape: readonly number[],
  dimension: number,
  place: number,
): string {
  const size = shape[dimension] ?? 1;
  const kept = Math.max(0, Math.min(size - 1, Math.round(place)));
  return fixed.map((old, at) => (at === dimension ? kept : old)).join(',');
}
