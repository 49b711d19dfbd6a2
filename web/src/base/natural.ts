const NUMBER = /[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?/g;
const bits = new DataView(new ArrayBuffer(8));

/**
 * Sorts by name as a person would, and as the server does: part by part of the path, so that a run
 * and those below it stay together, and numbers by value, so that lr3e-4 comes before lr1e-3.
 */
export function sortNatural<Item>(items: Iterable<Item>, nameOf: (item: Item) => string): Item[] {
  return Array.from(items, (item) => ({ item, name: nameOf(item), key: keyOf(nameOf(item)) }))
    .sort((a, b) => compare(a.key, b.key) || compare(a.name, b.name))
    .map(({ item }) => item);
}

function keyOf(name: string): string {
  return name.toLowerCase().replaceAll('/', '\0').replace(NUMBER, writeSortable);
}

/** The bytes of floats that are not negative sort as the floats do. */
function writeSortable(digits: string): string {
  bits.setFloat64(0, Number(digits));
  return `0${hex(bits.getUint32(0))}${hex(bits.getUint32(4))}`;
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
