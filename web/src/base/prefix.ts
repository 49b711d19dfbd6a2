/**
 * How much of a name its neighbours in a sorted list repeat, so that it can be dimmed. What is shared
 * ends at a slash or, in a name without one, at a dash, dot or underscore.
 */
export function sharedPrefix(name: string, before = '', after = ''): number {
  const length = Math.max(commonLength(name, before), commonLength(name, after));
  const shared = name.slice(0, Math.min(length, name.length - 1));
  if (name.includes('/')) return shared.lastIndexOf('/') + 1;
  return Math.max(...['-', '_', '.'].map((mark) => shared.lastIndexOf(mark))) + 1;
}

function commonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}
