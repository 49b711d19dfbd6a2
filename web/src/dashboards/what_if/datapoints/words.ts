/** Texts by their words, so that free text can be an axis or a facet. */
import type { PlotColumn } from './plot-layout';

const WORDS = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** Words of more rows, such as articles, say little about any of them. */
const MAX_SHARE = 0.5;
const MAX_CANDIDATES = 200;

let segmenter: Intl.Segmenter | null = null;

/** Return the different words of a text, in lower case. */
export function listWords(text: string): Set<string> {
  if (!UNSPACED.test(text)) return new Set(text.toLowerCase().match(WORDS) ?? []);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  const parts = [...segmenter.segment(text.toLowerCase())];
  return new Set(parts.filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment));
}

/**
 * Return a word of each row as its category. The most frequent word gets all rows that contain it,
 * then the most frequent word of the remaining rows, and so on; rows with none of the `limit` words
 * are called `other`.
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
  const candidates = [...counts]
    .filter(([, count]) => count <= Math.max(1, MAX_SHARE * known))
    .sort(([one, first], [two, second]) => second - first || (one < two ? -1 : 1))
    .slice(0, MAX_CANDIDATES)
    .map(([word]) => word);
  const chosen: string[] = [];
  const byText = new Int32Array(categories.length).fill(-1);
  while (chosen.length < limit) {
    const found = findMostFrequent(candidates, words, byText, rows);
    if (found === null) break;
    words.forEach((set, code) => {
      if ((byText[code] ?? 0) < 0 && set.has(found)) byText[code] = chosen.length;
    });
    chosen.push(found);
  }
  const rest = chosen.length;
  const hasRest = byText.some((word, code) => word < 0 && (rows[code] ?? 0) > 0);
  return {
    numbers: null,
    codes: codes.map((code) => {
      const word = byText[code] ?? -1;
      return code < 0 ? -1 : word < 0 ? rest : word;
    }),
    categories: [...chosen, ...(hasRest ? [other] : [])],
  };
}

/** Return the word of most rows whose text has no word yet; null if there is none. */
function findMostFrequent(
  candidates: readonly string[],
  words: readonly ReadonlySet<string>[],
  byText: Int32Array,
  rows: Int32Array,
): string | null {
  const counts = new Map(candidates.map((word) => [word, 0]));
  words.forEach((set, code) => {
    if ((byText[code] ?? 0) >= 0) return;
    for (const word of set) {
      const count = counts.get(word);
      if (count !== undefined) counts.set(word, count + (rows[code] ?? 0));
    }
  });
  let [best, most]: [string | null, number] = [null, 0];
  for (const [word, count] of counts) if (count > most) [best, most] = [word, count];
  return best;
}
