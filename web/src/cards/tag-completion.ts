import { compileTextFilter, type TextFilter } from '../lib/text-filter';

export interface Completions {
  readonly tags: readonly string[];
  /** How many match beyond those. */
  readonly more: number;
}

/** The tags that a filter finds: those that begin with it first. */
export function completeTags(
  tags: readonly string[],
  filter: TextFilter,
  most: number,
): Completions {
  const { matches, error } = compileTextFilter(filter);
  const found = error ? [] : tags.filter(matches);
  const start = filter.text.toLowerCase();
  const isFirst = (tag: string): boolean => !filter.regex && tag.toLowerCase().startsWith(start);
  const ordered = [...found.filter(isFirst), ...found.filter((tag) => !isFirst(tag))];
  return { tags: ordered.slice(0, most), more: Math.max(0, ordered.length - most) };
}
