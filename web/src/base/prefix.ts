/**
 * How much of each name its neighbours repeat, so that it can be dimmed. The names are sorted; what
 * is shared ends at a slash or, in names without one, at a dash, dot or underscore.
 */
export function sharedPrefixes(names: readonly string[]): number[] {
  return names.map((name, at) => {
    const before = commonLength(name, names[at - 1] ?? '');
    const after = commonLength(name, names[at + 1] ?? '');
    return cut(name, Math.max(before, after));
  });
}

function commonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}

function cut(name: string, length: number): number {
  const shared = name.slice(0, Math.min(length, name.length - 1));
  if (name.includes('/')) return shared.lastIndexOf('/') + 1;
  return Math.max(...['-', '_', '.'].map((mark) => shared.lastIndexOf(mark))) + 1;
}
