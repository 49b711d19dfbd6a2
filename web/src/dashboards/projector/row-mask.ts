export { encodeMask } from '../../charts/points/point-scene';

/** A set of rows, with one byte per row. */
export type RowMask = Uint8Array;

export function createMask(count: number, rows: ArrayLike<number>): RowMask {
  const mask = new Uint8Array(count);
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] ?? -1;
    if (row >= 0 && row < count) mask[row] = 1;
  }
  return mask;
}

export function listRows(mask: RowMask): Int32Array {
  const rows = new Int32Array(countRows(mask));
  let count = 0;
  for (let row = 0; row < mask.length; row++) if (mask[row]) rows[count++] = row;
  return rows;
}

export function countRows(mask: RowMask): number {
  let count = 0;
  for (let row = 0; row < mask.length; row++) count += mask[row] ?? 0;
  return count;
}

/** How rows are combined with the previous selection. */
export type SelectionMode = 'replace' | 'add' | 'remove' | 'toggle';

export function combineMask(
  mask: RowMask | null,
  rows: ArrayLike<number>,
  count: number,
  mode: SelectionMode,
): RowMask {
  if (mode === 'replace' || !mask) return createMask(count, mode === 'remove' ? [] : rows);
  const combined = mask.slice();
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] ?? -1;
    if (row >= 0 && row < count)
      combined[row] = mode === 'toggle' ? 1 - (mask[row] ?? 0) : +(mode === 'add');
  }
  return combined;
}

/** Return the rows of `within` that are not in the mask. */
export function invertMask(mask: RowMask, within: RowMask | null): RowMask {
  return mask.map((isIn, row) => (within && !within[row] ? 0 : 1 - isIn));
}

export function decodeMask(text: string, count: number): RowMask {
  const bytes = atob(text);
  const mask = new Uint8Array(count);
  for (let row = 0; row < count; row++) {
    mask[row] = (bytes.charCodeAt(row >> 3) >> (row & 7)) & 1;
  }
  return mask;
}

/** Format sorted rows for the URL: `3,7-9`. */
export function formatRowRanges(rows: ArrayLike<number>): string {
  const parts: string[] = [];
  for (let index = 0; index < rows.length; index++) {
    const first = rows[index] ?? 0;
    let last = first;
    while (rows[index + 1] === last + 1) last = rows[++index] ?? last;
    parts.push(first === last ? String(first) : `${first}-${last}`);
  }
  return parts.join(',');
}

/** Parse rows of the URL; those from `count` on are ignored. */
export function parseRowRanges(text: string, count: number): RowMask {
  const mask = new Uint8Array(count);
  for (const part of text.split(',')) {
    const [first = NaN, last = first] = part.split('-').map((end) => parseInt(end, 10));
    if (first <= last) mask.fill(1, first, last + 1);
  }
  return mask;
}
