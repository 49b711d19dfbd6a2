/** How run names are shortened in the table without hiding what tells runs apart. */

/** Return the folder of a run, with its slash; empty if it is not in a folder. */
export function getFolder(name: string): string {
  return name.slice(0, name.lastIndexOf('/') + 1);
}

/** Count the runs that are directly in each folder. */
export function countFolders(names: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const folder = getFolder(name);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return counts;
}

/** Return the longest folder, with its slash, that all names are in; empty if there is none. */
export function findCommonFolder(names: Iterable<string>): string {
  let folder: string | null = null;
  for (const name of names) {
    folder ??= getFolder(name);
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

function getCommonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
}
