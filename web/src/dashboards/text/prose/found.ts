/** A stretch of a text. */
export interface Span {
  readonly start: number;
  readonly stop: number;
}

/** More are not marked in one text. */
const MOST = 2000;

/** Where any of some words stand in a text, in order and never one over the other. */
export function findSpans(text: string, words: readonly string[], matchCase: boolean): Span[] {
  const hay = fold(text, matchCase);
  const spans = words.flatMap((word) => spansOf(hay, fold(word, matchCase)));
  spans.sort((a, b) => a.start - b.start || b.stop - a.stop);
  const kept: Span[] = [];
  for (const span of spans) {
    if (span.start >= (kept.at(-1)?.stop ?? 0)) kept.push(span);
  }
  return kept.slice(0, MOST);
}

function spansOf(hay: string, word: string): Span[] {
  const spans: Span[] = [];
  let at = word === '' ? -1 : hay.indexOf(word);
  while (at >= 0 && spans.length < MOST) {
    spans.push({ start: at, stop: at + word.length });
    at = hay.indexOf(word, at + word.length);
  }
  return spans;
}

/** Letters whose small form is longer would move all that comes after them. */
function fold(text: string, matchCase: boolean): string {
  if (matchCase) return text;
  const small = text.toLowerCase();
  return small.length === text.length
    ? small
    : Array.from(text, (sign) =>
        sign.toLowerCase().length === sign.length ? sign.toLowerCase() : sign,
      ).join('');
}
