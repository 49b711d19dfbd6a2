import type { Codec } from './codecs';
import { sortNatural } from './arrays';

export interface TagSection<Item> {
  /** The common prefix of the tags; empty for ungrouped tags. */
  readonly title: string;
  readonly items: readonly Item[];
}

interface Tagged {
  readonly tag: string;
}

/** Sort tags in natural order, internal ones (`_hparams_`) last. */
export function sortTags<Item extends Tagged>(items: Iterable<Item>): Item[] {
  return sortNatural(items, ({ tag }) => tag).sort((a, b) => getTagRank(a.tag) - getTagRank(b.tag));
}

/**
 * Group sorted items by tag prefix. Tags without a prefix come first: they are usually the main
 * metrics.
 */
export function groupByPrefix<Item extends Tagged>(items: readonly Item[]): TagSection<Item>[] {
  const stems = countStems(items);
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const title = getSectionTitle(item.tag, stems);
    const group = groups.get(title);
    if (group) group.push(item);
    else groups.set(title, [item]);
  }
  const sections = Array.from(groups, ([title, items]) => ({ title, items }));
  return sortNatural(sections, ({ title }) => title).sort(
    (a, b) => getTagRank(a.title) - getTagRank(b.title),
  );
}

function getTagRank(name: string): number {
  return name === '' ? 0 : name.startsWith('_') ? 2 : 1;
}

function getSectionTitle(tag: string, stems: ReadonlyMap<string, number>): string {
  const slash = tag.indexOf('/');
  if (slash > 0) return tag.slice(0, slash);
  const stem = getStem(tag);
  return (stems.get(stem) ?? 0) > 1 ? stem : '';
}

/** Count stems of tags without a slash: epoch_loss and epoch_accuracy share `epoch`. */
function countStems(items: readonly Tagged[]): Map<string, number> {
  const stems = new Map<string, number>();
  for (const { tag } of items) {
    if (tag.includes('/')) continue;
    const stem = getStem(tag);
    if (stem) stems.set(stem, (stems.get(stem) ?? 0) + 1);
  }
  return stems;
}

function getStem(tag: string): string {
  const end = tag.search(/[_.: ]/);
  return end > 0 ? tag.slice(0, end) : '';
}

/** How runs are grouped. `part` is the part of the path, counted from 1. */
export type Grouping =
  | { readonly by: 'path'; readonly part: number }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'label' }
  | { readonly by: 'column'; readonly key: string };

/** null is no grouping. */
export const groupingCodec: Codec<Grouping | null> = {
  parse(text) {
    if (text === 'label') return { by: 'label' };
    const [kind, rest] = splitOnce(text);
    if (kind === 'path' && /^[1-9]\d?$/.test(rest)) return { by: 'path', part: Number(rest) };
    if (kind === 're' && rest) return { by: 'regex', pattern: rest };
    return isColumn(kind) && rest ? { by: 'column', key: text } : null;
  },
  format(grouping) {
    if (grouping === null) return '';
    if (grouping.by === 'path') return `path:${grouping.part}`;
    if (grouping.by === 'regex') return `re:${grouping.pattern}`;
    return grouping.by === 'label' ? 'label' : grouping.key;
  },
};

/** Return the capture groups of a pattern, or the whole match if it has none. */
export function matchCapture(pattern: RegExp, name: string): string | null {
  const match = pattern.exec(name);
  if (!match) return null;
  return match.length === 1 ? match[0] : match.slice(1).filter(Boolean).join(' ');
}

export function getPathPart(name: string, part: number): string | null {
  const parts = name.split('/');
  // The last part is the run itself; it groups only names without a slash.
  return part <= Math.max(1, parts.length - 1) ? (parts[part - 1] ?? null) : null;
}

/** Return how many parts of the names can be grouped by. */
export function getPathDepth(names: Iterable<string>): number {
  let depth = 0;
  for (const name of names) depth = Math.max(depth, name.split('/').length - 1);
  return depth;
}

export interface Group<Item> {
  /** null for ungrouped items. */
  readonly key: string | null;
  readonly items: readonly Item[];
}

/** Group items by key, in their order. Keys are in natural order; items without a key come last. */
export function groupBy<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | null,
): Group<Item>[] {
  const buckets = new Map<string | null, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const bucket = buckets.get(key);
    if (bucket) bucket.push(item);
    else buckets.set(key, [item]);
  }
  const rest = buckets.get(null);
  buckets.delete(null);
  const named = sortNatural(buckets as Map<string, Item[]>, ([key]) => key);
  return [
    ...named.map(([key, items]) => ({ key, items })),
    ...(rest ? [{ key: null, items: rest }] : []),
  ];
}

function isColumn(kind: string): boolean {
  return ['hparam', 'last', 'min', 'max'].includes(kind);
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf(':');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/**
 * Return the length of the prefix that a name shares with its neighbors in a sorted list. It ends
 * at a slash or, in names without one, at a dash, dot or underscore.
 */
export function getSharedPrefixLength(name: string, before = '', after = ''): number {
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
