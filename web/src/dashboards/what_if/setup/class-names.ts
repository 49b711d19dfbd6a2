/** Names of classes as lines of text. */

/** Return the lines of a text without empty lines at its end. */
export function splitLines(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
