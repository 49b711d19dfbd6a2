import type { Codec } from './codec';
import { sortNatural } from './natural';

/** By what runs are put together. `part` counts the parts of a path from 1. */
export type Grouping =
  | { readonly by: 'path'; readonly part: number }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'label' }
  | { readonly by: 'column'; readonly key: string };

/** null: not at all. */
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

/** What the pattern takes out of the name: its groups or, without any, all that it matches. */
export function captureOf(pattern: RegExp, name: string): string | null {
  const match = pattern.exec(name);
  if (!match) return null;
  return match.length === 1 ? match[0] : match.slice(1).filter(Boolean).join(' ');
}

export function partOf(name: string, part: number): string | null {
  const parts = name.split('/');
  // The last part tells the run itself and groups nothing, unless it is all there is.
  return part <= Math.max(1, parts.length - 1) ? (parts[part - 1] ?? null) : null;
}

/** How many parts of a path there are to group by. */
export function depthOf(names: Iterable<string>): number {
  let depth = 0;
  for (const name of names) depth = Math.max(depth, name.split('/').length - 1);
  return depth;
}

export interface Bucket<Item> {
  /** null for those that have nothing in common. */
  readonly key: string | null;
  readonly items: readonly Item[];
}

/** Items of one key together, in their order; keys in natural order, and those without one last. */
export function putTogether<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string | null,
): Bucket<Item>[] {
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
