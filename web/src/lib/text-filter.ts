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
