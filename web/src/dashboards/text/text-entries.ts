/** The texts of a card, rows of a diff, pages of an array of strings, and the queries for them. */
import { defineQuery } from '../../api/query-definition';
import type { TextDiffLine } from '../../api/schemas';
import { indexAtStep, type SortedSteps } from '../../cards/steps/step-selection.svelte';

/** One text of a card. */
export interface TextEntry {
  /** Identifies the entry when the list changes. */
  readonly key: string;
  readonly steps: SortedSteps;
  /** Index in `steps`. */
  readonly position: number;
}

/** Return the last text of each run up to a step; null is the last step. */
export function entriesAt(series: readonly SortedSteps[], step: number | null): TextEntry[] {
  return series.flatMap((steps) => {
    const position = indexAtStep(steps, step);
    return position < 0 ? [] : [{ key: steps.run, steps, position }];
  });
}

/** Return all texts, newest first; texts of the same step are in the order of the runs. */
export function allEntries(series: readonly SortedSteps[]): TextEntry[] {
  const entries = series.flatMap((steps) =>
    Array.from(steps.step, (_, position) => ({ key: entryKey(steps, position), steps, position })),
  );
  return entries.sort((a, b) => entryStep(b) - entryStep(a));
}

export function entryStep({ steps, position }: TextEntry): number {
  return steps.step[position] ?? 0;
}

function entryKey({ run, index, fingerprint }: SortedSteps, position: number): string {
  return `${run}\n${index[position]}\n${fingerprint[position]}`;
}

/** A row of a side-by-side diff; null is an empty cell. */
export interface DiffRow {
  readonly before: TextDiffLine | null;
  readonly after: TextDiffLine | null;
}

/** Arrange the lines of a unified diff side by side: removed lines next to those that replace them. */
export function alignDiffLines(lines: readonly TextDiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: TextDiffLine[] = [];
  let added: TextDiffLine[] = [];
  const flush = (): void => {
    const count = Math.max(removed.length, added.length);
    for (let index = 0; index < count; index++) {
      rows.push({ before: removed[index] ?? null, after: added[index] ?? null });
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

/** The page size of the server. */
export const MAX_TABLE_ROWS = 50;
export const MAX_TABLE_COLUMNS = 20;

/** A range of rows or columns of a large table. */
export interface TablePage {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
  readonly count: number;
  /** First index of the neighboring pages. */
  readonly previous: number | null;
  readonly next: number | null;
}

export function tablePage(first: number, shown: number, count: number, maxSize: number): TablePage {
  const end = first + shown;
  return {
    first,
    end,
    count,
    previous: first > 0 ? Math.max(0, first - maxSize) : null,
    next: end < count ? end : null,
  };
}

/** Return the size of the tables in an array; a list is one column. */
export function tableSize(shape: readonly number[]): { rows: number; columns: number } {
  if (shape.length === 1) return { rows: shape[0] ?? 0, columns: 1 };
  const [rows = 0, columns = 0] = shape.slice(-2);
  return { rows, columns };
}

/** Return a slice with another index in one dimension, clamped to its size. */
export function updateSlice(
  fixed: readonly number[],
  shape: readonly number[],
  dimension: number,
  index: number,
): string {
  const size = shape[dimension] ?? 1;
  const clamped = Math.max(0, Math.min(size - 1, Math.round(index)));
  return fixed.map((old, at) => (at === dimension ? clamped : old)).join(',');
}

const MAX_CACHED_CHARACTERS = 20_000_000;

/** A text as rendered by the server. */
export const textQuery = defineQuery('GET text/render', {
  scope: 'immutable',
  cost: ({ cells }) =>
    cells.reduce((sum, { html, text }) => sum + (html ?? '').length + (text ?? '').length, 0),
  maxCost: MAX_CACHED_CHARACTERS,
});

export const textDiffQuery = defineQuery('POST text/diff', {
  scope: 'immutable',
  priority: 'high',
});

/** One page of search results. */
export const textSearchQuery = defineQuery('POST text/search', {
  scope: ({ runs = null }) => ({ runs }),
  // Hundreds of texts may be loading.
  priority: 'high',
});
