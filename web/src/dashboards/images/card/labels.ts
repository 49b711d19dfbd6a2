/** What tells names apart: without the folders that all of them begin with, or end with. */
export function distinctLabels(labels: readonly string[]): string[] {
  const all = labels.map((label) => label.split('/'));
  const [first = [], ...others] = all;
  if (others.length === 0) return [...labels];
  const shortest = Math.min(...all.map(({ length }) => length));
  let before = 0;
  while (before < shortest - 1 && all.every((parts) => parts[before] === first[before])) before++;
  let after = 0;
  const isShared = (): boolean =>
    all.every((parts) => parts.at(-1 - after) === first.at(-1 - after));
  while (after < shortest - 1 - before && isShared()) after++;
  return all.map((parts) => parts.slice(before, parts.length - after).join('/'));
}
