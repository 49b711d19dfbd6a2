/** A filter as it is typed: words that must all occur, or one regular expression. */
export interface Filter {
  readonly text: string;
  readonly regex: boolean;
}

export interface Matcher {
  readonly matches: (name: string) => boolean;
  /** What is wrong with the expression; everything then matches. */
  readonly error: string | null;
}

export const NO_FILTER: Filter = { text: '', regex: false };

const everything = (): boolean => true;

/** Upper and lower case are the same in both kinds of filter. */
export function compileFilter(filter: Filter): Matcher {
  return filter.regex ? compileRegex(filter.text) : compileWords(filter.text);
}

function compileWords(text: string): Matcher {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return { matches: everything, error: null };
  const matches = (name: string): boolean => {
    const lower = name.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
  return { matches, error: null };
}

function compileRegex(text: string): Matcher {
  try {
    const pattern = new RegExp(text, 'i');
    return { matches: (name) => pattern.test(name), error: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { matches: everything, error: message.replace(/^.*\/[a-z]*: /s, '') };
  }
}
