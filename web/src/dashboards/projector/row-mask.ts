/** Sets of rows: a byte for each row, which is quick, and on its way to the server a bit. */
export type RowMask = Uint8Array;

export function createMask(count: number, rows: ArrayLike<number>): RowMask {
  const mask = new Uint8Array(count);
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? -1;
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

/** What a second choice does to a first. */
export type SelectionMode = 'replace' | 'add' | 'remove' | 'toggle';

export function combineMask(
  mask: RowMask | null,
  rows: ArrayLike<number>,
  count: number,
  how: SelectionMode,
): RowMask {
  if (how === 'replace' || !mask) return createMask(count, how === 'remove' ? [] : rows);
  const joined = mask.slice();
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? -1;
    if (row >= 0 && row < count)
      joined[row] = how === 'toggle' ? 1 - (mask[row] ?? 0) : +(how === 'add');
  }
  return joined;
}

export function invertMask(mask: RowMask, among: RowMask | null): RowMask {
  return mask.map((is, row) => (among && !among[row] ? 0 : 1 - is));
}

/** As the server takes it: bit `i & 7` of byte `i >> 3`, in base64; null for all. */
export function encodeMask(mask: RowMask | null): string | null {
  if (!mask) return null;
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  for (let row = 0; row < mask.length; row++) {
    if (mask[row]) bytes[row >> 3] = (bytes[row >> 3] ?? 0) | (1 << (row & 7));
  }
  let text = '';
  for (let at = 0; at < bytes.length; at += ENCODE_CHUNK_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + ENCODE_CHUNK_BYTES));
  }
  return btoa(text);
}

const ENCODE_CHUNK_BYTES = 8192;

export function decodeMask(text: string, count: number): RowMask {
  const bytes = atob(text);
  const mask = new Uint8Array(count);
  for (let row = 0; row < count; row++) {
    mask[row] = (bytes.charCodeAt(row >> 3) >> (row & 7)) & 1;
  }
  return mask;
}

/** A few rows as an address has them: `3,7-9`. */
export function formatRowRanges(rows: ArrayLike<number>): string {
  const parts: string[] = [];
  for (let at = 0; at < rows.length; at++) {
    const first = rows[at] ?? 0;
    let last = first;
    while (rows[at + 1] === last + 1) last = rows[++at] ?? last;
    parts.push(first === last ? String(first) : `${first}-${last}`);
  }
  return parts.join(',');
}

const MAX_PARSED_ROWS = 1_000_000;

export function parseRowRanges(text: string): number[] {
  const rows: number[] = [];
  for (const part of text.split(',')) {
    const [first = NaN, last = first] = part.split('-').map((end) => parseInt(end, 10));
    for (let row = first; row <= last && rows.length < MAX_PARSED_ROWS; row++) rows.push(row);
  }
  return rows;
}
