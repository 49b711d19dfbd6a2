import {
  assignColours,
  isValidation,
  RUN_COLOURS,
  runColour,
  scaleColour,
} from '../../base/colour';
import type { Codec } from '../../base/codec';
import { captureOf } from '../../base/grouping';
import { sortNatural } from '../../base/natural';
import { address } from '../address.svelte';
import { entries, type RunEntry } from './entries.svelte';
import { groups } from './groups.svelte';

/** By what runs have their colour. */
export type ColourBy =
  | { readonly by: 'run' | 'group' }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'column'; readonly key: string };

const DASHED = [5, 4];
const SOLID: readonly number[] = [];
/** For runs that say nothing about what the others are told apart by. */
const NEUTRAL = '#7d7d8a';

export const colourByCodec: Codec<ColourBy> = {
  parse(text) {
    if (text.startsWith('re:')) return { by: 'regex', pattern: text.slice(3) };
    if (text === 'run' || text === 'group') return { by: text };
    return { by: 'column', key: text };
  },
  format(value) {
    if (value.by === 'regex') return `re:${value.pattern}`;
    return value.by === 'column' ? value.key : value.by;
  },
};

type ColourOf = (entry: RunEntry) => string;

class Colours {
  readonly #by = address.param<ColourBy>('colour', colourByCodec, { by: 'run' });

  /** Of the oldest runs; later ones have the colour of their name. */
  readonly #assigned = $derived(
    assignColours(entries.newestFirst.toReversed().map((entry) => entry.name)),
  );
  readonly #reader = $derived(readerOf(this.by));
  readonly #groupColours = $derived(paletteOf(groups.inOrder.filter(Boolean)));

  get by(): ColourBy {
    return this.#by.value;
  }

  colourBy(by: ColourBy): void {
    this.#by.set(by, 'push');
  }

  /** What a user has chosen for a run wins. */
  colourOf(entry: RunEntry): string {
    return entry.said.color || this.#reader(entry);
  }

  ownColourOf(name: string): string {
    return this.#assigned.get(name) ?? runColour(name);
  }

  colourOfGroup(key: string): string {
    return this.#groupColours.get(key) ?? NEUTRAL;
  }

  dashOf(name: string): readonly number[] {
    return isValidation(name) ? DASHED : SOLID;
  }
}

function readerOf(by: ColourBy): ColourOf {
  switch (by.by) {
    case 'run':
      return ({ name }) => colours.ownColourOf(name);
    case 'group':
      return ({ name }) =>
        groups.keys === null
          ? colours.ownColourOf(name)
          : colours.colourOfGroup(groups.keys.get(name) ?? '');
    case 'regex':
      return colourByCapture(by.pattern);
    case 'column':
      return colourByColumn(by.key);
  }
}

function colourByCapture(text: string): ColourOf {
  try {
    const pattern = new RegExp(text);
    const captures = new Map(entries.all.map(({ name }) => [name, captureOf(pattern, name)]));
    const palette = paletteOf([...captures.values()].filter((key) => key !== null));
    return ({ name }) => palette.get(captures.get(name) ?? '') ?? NEUTRAL;
  } catch {
    return () => NEUTRAL;
  }
}

function colourByColumn(key: string): ColourOf {
  const values = entries.all.map((entry) => entry.valueOf(key)).filter((value) => value !== null);
  if (values.every((value) => typeof value === 'number')) return colourByNumber(key, values);
  const palette = paletteOf(values.map(String));
  return (entry) => palette.get(String(entry.valueOf(key))) ?? NEUTRAL;
}

/** A shade between the lowest and the highest; by their powers of ten where they lie far apart. */
function colourByNumber(key: string, values: readonly number[]): ColourOf {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const place = low > 0 && high / low > 50 ? Math.log : (value: number): number => value;
  const reach = place(high) - place(low) || 1;
  return (entry) => {
    const value = entry.valueOf(key);
    if (typeof value !== 'number' || !Number.isFinite(value)) return NEUTRAL;
    return scaleColour((place(value) - place(low)) / reach);
  };
}

/** A colour for each of the keys, by their place in natural order. */
function paletteOf(keys: Iterable<string>): Map<string, string> {
  return new Map(
    sortNatural(new Set(keys), (key) => key).map((key, place) => [
      key,
      RUN_COLOURS[place % RUN_COLOURS.length] ?? NEUTRAL,
    ]),
  );
}

export const colours = new Colours();
