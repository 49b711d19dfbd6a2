/** Finds a few of many names by some letters of them, the best first. */

export interface Match<Item> {
  readonly item: Item;
  readonly score: number;
}

const WHOLE_WORD = 100;
const WORD_START = 60;
const INSIDE = 40;
const SPELT = 10;

/**
 * The names that hold every word of the query: as it is, or spelt by the starts of the name's parts
 * (`vacc` for validation/accuracy). A hit at the start of a part is better than one inside, a short
 * name better than a long one.
 */
export class Haystack<Item> {
  readonly #items: readonly Item[];
  readonly #names: readonly string[];

  constructor(items: readonly Item[], nameOf: (item: Item) => string) {
    this.#items = items;
    this.#names = items.map((item) => nameOf(item).toLowerCase());
  }

  find(query: string, limit: number): Match<Item>[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found: Match<Item>[] = [];
    this.#items.forEach((item, at) => {
      const score = rate(words, this.#names[at] ?? '');
      if (score > 0) found.push({ item, score });
    });
    return found.sort((one, other) => other.score - one.score).slice(0, limit);
  }
}

/** Zero where a word is missing. */
function rate(words: readonly string[], name: string): number {
  let sum = 0;
  for (const word of words) {
    const score = rateWord(word, name);
    if (score === 0) return 0;
    sum += score;
  }
  return sum + 1 / (1 + name.length);
}

function rateWord(word: string, name: string): number {
  let best = 0;
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    const starts = at === 0 || isEdge(name, at - 1);
    const ends = at + word.length === name.length || isEdge(name, at + word.length);
    best = Math.max(best, starts ? (ends ? WHOLE_WORD : WORD_START) : INSIDE);
  }
  return best || (isSpelt(word, name, 0) ? SPELT : 0);
}

/** Whether a character parts words: no letter and no digit. Those beyond ASCII are letters. */
function isEdge(name: string, at: number): boolean {
  const code = name.charCodeAt(at);
  return code < 0x80 && !(code >= 0x61 && code <= 0x7a) && !(code >= 0x30 && code <= 0x39);
}

/** Whether the letters stand at starts of parts from `from` on, each with any that follow it. */
function isSpelt(letters: string, name: string, from: number): boolean {
  if (letters === '') return true;
  const first = letters[0] ?? '';
  for (let at = name.indexOf(first, from); at >= 0; at = name.indexOf(first, at + 1)) {
    if (at > 0 && !isEdge(name, at - 1)) continue;
    let length = 1;
    while (length < letters.length && name[at + length] === letters[length]) length++;
    for (; length > 0; length--) {
      if (isSpelt(letters.slice(length), name, at + length)) return true;
    }
  }
  return false;
}
