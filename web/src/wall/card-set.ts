import { type Codec, list } from '../base/codec';

/** Some cards, or all but some: `*` stands for all, and those named after it are left out. */
export interface CardSet {
  readonly all: boolean;
  readonly named: readonly string[];
}

export const NO_CARDS: CardSet = { all: false, named: [] };

export const cardSet: Codec<CardSet> = {
  parse(text) {
    const names = list.parse(text);
    return names[0] === '*' ? { all: true, named: names.slice(1) } : { all: false, named: names };
  },
  format: ({ all, named }) => list.format(all ? ['*', ...named] : named),
};

export function includes({ all, named }: CardSet, id: string): boolean {
  return all !== named.includes(id);
}

export function toggle({ all, named }: CardSet, id: string): CardSet {
  return { all, named: toggleName(named, id) };
}

export function toggleName(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
}
