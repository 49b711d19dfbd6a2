export interface Option {
  readonly key: string;
  readonly label: string;
  readonly hint?: string;
  readonly title?: string;
  readonly selected?: boolean;
}

export interface OptionGroup {
  readonly title: string;
  readonly options: readonly Option[];
}

/** Things to choose from, by what they belong to. */
export function groupOptions<Thing>(
  things: readonly Thing[],
  titleOf: (thing: Thing) => string,
  optionOf: (thing: Thing) => Option,
): OptionGroup[] {
  const groups = new Map<string, Option[]>();
  for (const thing of things) {
    const title = titleOf(thing);
    groups.set(title, [...(groups.get(title) ?? []), optionOf(thing)]);
  }
  return [...groups].map(([title, options]) => ({ title, options }));
}

/** The options whose label has all the words, the first `most` of them, and how many are left. */
export function findOptions(
  groups: readonly OptionGroup[],
  text: string,
  most: number,
): { readonly groups: readonly OptionGroup[]; readonly left: number } {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: OptionGroup[] = [];
  let room = most;
  let left = 0;
  for (const { title, options } of groups) {
    const matching = options.filter(({ label }) => hasAll(label.toLowerCase(), words));
    const taken = matching.slice(0, room);
    if (taken.length > 0) found.push({ title, options: taken });
    room -= taken.length;
    left += matching.length - taken.length;
  }
  return { groups: found, left };
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}
