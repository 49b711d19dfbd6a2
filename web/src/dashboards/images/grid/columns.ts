/** Some of many, evenly spread, with the first and the last among them. */
export function chooseEvenly(items: ArrayLike<number>, most: number): number[] {
  if (items.length <= most) return Array.from(items);
  if (most <= 1) return [items[items.length - 1] ?? NaN];
  const spread = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, at) => items[Math.round(at * spread)] ?? NaN);
}
