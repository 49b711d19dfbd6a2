/** How run names are shortened in the table without hiding what tells runs apart. */

/** Return the longest folder, with its slash, that all names are in; empty if there is none. */
export function findCommonFolder(names: Iterable<string>): string {
  let folder: string | null = null;
  for (const name of names) {
    folder ??= name.slice(0, name.lastIndexOf('/') + 1);
    while (folder !== '' && !name.startsWith(folder))
      folder = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1);
    if (folder === '') break;
  }
  return folder ?? '';
}

/** A last path component up to this length is kept in one piece. */
const MAX_COMPONENT = 24;

/**
 * Return how many characters at the start of a name its neighbors in the list repeat. The shared
 * part ends at a slash or, if what is left is long or has no slash, at another separator.
 */
export function getSharedLength(name: string, before = '', after = ''): number {
  const length = Math.max(getCommonLength(name, before), getCommonLength(name, after));
  const shared = name.slice(0, Math.min(length, name.length - 1));
  const folder = shared.lastIndexOf('/') + 1;
  if (name.includes('/') && name.length - folder <= MAX_COMPONENT) return folder;
  return Math.max(folder, ...['-', '_', '.'].map((mark) => shared.lastIndexOf(mark) + 1));
}

/** Return the length of the longest part that tells a name from its neighbors in the list. */
export function getLongestDistinctPart(names: readonly string[]): number {
  let longest = 0;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? '';
    if (name.length <= longest) continue;
    const shared = getSharedLength(name, names[index - 1], names[index + 1]);
    longest = Math.max(longest, name.length - shared);
  }
  return longest;
}

function getCommonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}
