/** Texts by their words, so that free text can be an axis or a facet. */
import type { PlotColumn } from './plot-layout';

const WORDS = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** Words of more rows, such as articles, say little about any of them. */
const MAX_SHARE = 0.5;

let segmenter: Intl.Segmenter | null = null;

/** Return the different words of a text, in lower case. */
export function listWords(text: string): Set<string> {
  if (!UNSPACED.test(text)) return new Set(text.toLowerCase().match(WORDS) ?? []);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  const parts = [...segmenter.segment(text.toLowerCase())];
  return new Set(parts.filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment));
}

/**
 * Return each row's most frequent word as its category. Words are taken in the order of their
 * frequency, and a row belongs to the first one that it contains; rows with none of the `limit`
 * words are called `other`.
 */
export function makeWordColumn(column: PlotColumn, limit: number, other: string): PlotColumn {
  const { codes, categories } = column;
  if (!codes) return column;
  const rows = new Int32Array(categories.length);
  let known = 0;
  for (const code of codes) {
    if (code < 0) continue;
    rows[code] = (rows[code] ?? 0) + 1;
    known++;
  }
  const words = categories.map(listWords);
  const counts = new Map<string, number>();
  words.forEach((set, code) => {
    for (const word of set) counts.set(word, (counts.get(word) ?? 0) + (rows[code] ?? 0));
  });
  const chosen = [...counts]
    .filter(([, count]) => count <= Math.max(1, MAX_SHARE * known))
    .sort(([one, first], [two, second]) => second - first || (one < two ? -1 : 1))
    .slice(0, limit)
    .map(([word]) => word);
  const rest = chosen.length;
  const byText = words.map((set) => {
    const found = chosen.findIndex((word) => set.has(word));
    return found < 0 ? rest : found;
  });
  return {
    numbers: null,
    codes: codes.map((code) => (code < 0 ? -1 : (byText[code] ?? rest))),
    categories: [...chosen, other],
  };
}
