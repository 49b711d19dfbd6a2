/** Converts a value to text and back, for URL parameters and stored preferences. */
export interface Codec<Value> {
  parse(text: string): Value;
  format(value: Value): string;
}

export const text: Codec<string> = { parse: (text) => text, format: (value) => value };

export const flag: Codec<boolean> = {
  parse: (text) => text === '1' || text === '',
  format: (value) => (value ? '1' : '0'),
};

/** Text or null; the empty string is text. */
export const optionalText: Codec<string | null> = {
  parse: (text) => (text === '~' ? null : text.replace(/^~~/, '~')),
  format: (value) => (value === null ? '~' : value.replace(/^~/, '~~')),
};

/** A number; invalid text becomes the fallback. */
export const number = (fallback: number): Codec<number> => ({
  parse: (text) => readNumber(text) ?? fallback,
  format: String,
});

export const optionalNumber: Codec<number | null> = {
  parse: readNumber,
  format: (value) => (value === null ? '' : String(value)),
};

/** A range as `low~high`. */
export const range: Codec<readonly [number, number] | null> = {
  parse(text) {
    const [one, other] = text.split('~').map(readNumber);
    if (one === null || other === null || one === undefined || other === undefined) return null;
    return one <= other ? [one, other] : [other, one];
  },
  format: (value) => (value === null ? '' : `${value[0]}~${value[1]}`),
};

/** One of several words; any other becomes the fallback. */
export const choice = <Word extends string>(
  words: readonly Word[],
  fallback: Word,
): Codec<Word> => ({
  parse: (text) => words.find((word) => word === text) ?? fallback,
  format: (value) => value,
});

/** A list of names: `a,b`. Commas within names are escaped with a backslash. */
export const list: Codec<readonly string[]> = {
  parse: (text) => (text === '' ? [] : splitList(text)),
  // A list of one empty name would look like an empty list.
  format: (names) =>
    names.length === 1 && names[0] === '' ? '\\' : names.map(escapeName).join(','),
};

/** A JSON value; the fallback if the text is invalid or `isValid` rejects the value. */
export const json = <Value>(
  isValid: (value: unknown) => value is Value,
  fallback: Value,
): Codec<Value> => ({
  parse(text) {
    try {
      const value: unknown = JSON.parse(text);
      return isValid(value) ? value : fallback;
    } catch {
      return fallback;
    }
  },
  format: (value) => JSON.stringify(value),
});

function readNumber(text: string): number | null {
  const value = text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function escapeName(name: string): string {
  return name.replace(/[\\,]/g, '\\$&');
}

function splitList(text: string): string[] {
  const names = [''];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === ',') names.push('');
    else names[names.length - 1] += character === '\\' ? (text[++at] ?? '') : character;
  }
  return names;
}
