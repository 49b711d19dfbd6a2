/** As the server parts large tables. */
export const MOST_ROWS = 50;
export const MOST_COLUMNS = 20;

/** One way to go through something that comes in parts. */
export interface Part {
  /** From 0, and one beyond the last. */
  readonly first: number;
  readonly end: number;
  readonly count: number;
  readonly before: number | null;
  readonly next: number | null;
}

export function partOf(first: number, shown: number, count: number, most: number): Part {
  const end = first + shown;
  return {
    first,
    end,
    count,
    before: first > 0 ? Math.max(0, first - most) : null,
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
export function moveSlice(
  fixed: readonly number[],
  shape: readonly number[],
  dimension: number,
  place: number,
): string {
  const size = shape[dimension] ?? 1;
  const kept = Math.max(0, Math.min(size - 1, Math.round(place)));
  return fixed.map((old, at) => (at === dimension ? kept : old)).join(',');
}
