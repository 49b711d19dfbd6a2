import type { Labels } from '../data/labels';

/** For each row the place of its value among `names`, which begin with the most frequent; else -1. */
export function rankCodes(labels: Labels, names: readonly string[], total: number): Int32Array {
  const places = new Map(names.map((name, place) => [name, place]));
  const { codes } = labels;
  const ranks = Int32Array.from({ length: labels.values }, (_, code) => {
    const text = labels.valueOf(code);
    return text === '' ? -1 : (places.get(text) ?? names.length + code);
  });
  const found = new Int32Array(total);
  for (let row = 0; row < total; row++) {
    found[row] = ranks[codes ? (codes[row] ?? -1) : row] ?? -1;
  }
  return found;
}
