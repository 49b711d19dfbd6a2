/** The first rows of several lists, each once and not more than `most`. */
export function firstOf(
  lists: readonly (ArrayLike<number> | undefined)[],
  most: number,
): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const list of lists) {
    for (let at = 0; list && at < list.length && rows.size < most; at++) rows.add(list[at] ?? 0);
  }
  return rows;
}
