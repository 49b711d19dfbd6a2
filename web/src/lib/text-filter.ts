import * as common from '../catalog/common';
/** A text filter: words that must all occur, or a regular expression. */
export interface TextFilter {
  readonly text: string;
  readonly regex: boolean;
}

export interface TextMatcher {
  readonly matches: (name: string) => boolean;
  /** Syntax error of a regular expression; everything matches then. */
  readonly error: string | null;
}

export const NO_FILTER: TextFilter = { text: '', regex: false };

const matchAll = (): boolean => true;

/** Compile a filter. Both kinds ignore case. */
export function compileTextFilter(filter: TextFilter): TextMatcher {
  return filter.regex ? compileRegex(filter.text) : compileWords(filter.text);
}

function compileWords(text: string): TextMatcher {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return { matches: matchAll, error: null };
  const matches = (name: string): boolean => {
    const lower = name.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
  return { matches, error: null };
}

function compileRegex(text: string): TextMatcher {
  try {
    const pattern = new RegExp(text, 'i');
    return { matches: (name) => pattern.test(name), error: null };
  } catch (error) {
    return { matches: matchAll, error: common.invalidRegex({ reason: getRegexError(error) }) };
  }
}

/** What browsers say about invalid regular expressions, and the message for it. */
const REGEX_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/unterminated (group|parenthetical)|missing \)/i, common.regexUnclosedGroup],
  [/unmatched/i, common.regexUnmatchedParenthesis],
  [/unterminated character class|missing terminating \]/i, common.regexUnclosedClass],
  [/nothing to repeat/i, common.regexNothingToRepeat],
  [/\\ at end/i, common.regexTrailingBackslash],
];

/** Return what is wrong with a regular expression that the browser rejects. */
export function getRegexError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // V8 repeats the expression, which may contain any words.
  const reason = message.replace(/^.*\/[a-z]*: /s, '');
  return REGEX_ERRORS.find(([said]) => said.test(reason))?.[1] ?? common.regexInvalidSyntax;
}

export interface FuzzyMatch<Item> {
  readonly item: Item;
  readonly score: number;
}

const WHOLE_WORD = 100;
const WORD_START = 60;
const INSIDE = 40;
const INITIALS = 10;

/**
 * Searches names that contain every word of a query, literally or as initials of their parts
 * (`vacc` for validation/accuracy). Matches at the start of a part rank higher, and so do short
 * names.
 */
export class FuzzyIndex<Item> {
  readonly #items: readonly Item[];
  readonly #names: readonly string[];

  constructor(items: readonly Item[], nameOf: (item: Item) => string) {
    this.#items = items;
    this.#names = items.map((item) => nameOf(item).toLowerCase());
  }

  search(query: string, limit: number): FuzzyMatch<Item>[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found: FuzzyMatch<Item>[] = [];
    this.#items.forEach((item, at) => {
      const score = scoreName(words, this.#names[at] ?? '');
      if (score > 0) found.push({ item, score });
    });
    return found.sort((one, other) => other.score - one.score).slice(0, limit);
  }
}

/** Return the score of a name; zero if a word is missing. */
function scoreName(words: readonly string[], name: string): number {
  let sum = 0;
  for (const word of words) {
    const score = scoreWord(word, name);
    if (score === 0) return 0;
    sum += score;
  }
  return sum + 1 / (1 + name.length);
}

function scoreWord(word: string, name: string): number {
  let best = 0;
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    const starts = at === 0 || isSeparator(name, at - 1);
    const ends = at + word.length === name.length || isSeparator(name, at + word.length);
    best = Math.max(best, starts ? (ends ? WHOLE_WORD : WORD_START) : INSIDE);
  }
  return best || (matchesInitials(word, name, 0) ? INITIALS : 0);
}

/** Return whether a character separates words. Non-ASCII characters count as letters. */
function isSeparator(name: string, at: number): boolean {
  const code = name.charCodeAt(at);
  return code < 0x80 && !(code >= 0x61 && code <= 0x7a) && !(code >= 0x30 && code <= 0x39);
}

/** Return whether the letters are prefixes of successive parts, starting at `from`. */
function matchesInitials(letters: string, name: string, from: number): boolean {
  if (letters === '') return true;
  const first = letters[0] ?? '';
  for (let at = name.indexOf(first, from); at >= 0; at = name.indexOf(first, at + 1)) {
    if (at > 0 && !isSeparator(name, at - 1)) continue;
    let length = 1;
    while (length < letters.length && name[at + length] === letters[length]) length++;
    for (; length > 0; length--) {
      if (matchesInitials(letters.slice(length), name, at + length)) return true;
    }
  }
  return false;
}
