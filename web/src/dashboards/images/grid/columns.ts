/** Some of many, evenly spread, with the first and the last among them. */
export function chooseEvenly<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items];
  if (most <= 1) return items.slice(-1);
  const spread = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, at) => items[Math.round(at * spread)] as Item);
}

/** The steps of several columns put together: sorted, each once. */
export function uniteSteps(columns: readonly Float64Array[]): number[] {
  const [first] = columns;
  if (!first) return [];
  const all = columns.length === 1 ? first : joined(columns);
  const sorted = Float64Array.from(all).sort();
  return [...sorted.filter((step, at) => at === 0 || step !== sorted[at - 1])];
}

function joined(columns: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const column of columns) {
    all.set(column, at);
    at += column.length;
  }
  return all;
}
