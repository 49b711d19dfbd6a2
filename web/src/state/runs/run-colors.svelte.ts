import {
  assignRunColors,
  isEvaluationRun,
  RUN_COLORS,
  getRunColor,
  interpolateColor,
} from '../../lib/colors';
import type { Codec } from '../../lib/codecs';
import { matchCapture } from '../../lib/grouping';
import { sortNatural } from '../../lib/sorting';
import { pageUrl } from '../url.svelte';
import { runEntries, type RunEntry } from './run-entries.svelte';
import { runGroups } from './run-groups.svelte';

/** By what runs have their colour. */
export type ColorBy =
  | { readonly by: 'run' | 'group' }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'column'; readonly key: string };

const DASHED = [5, 4];
const SOLID: readonly number[] = [];
/** For runs that say nothing about what the others are told apart by. */
const NEUTRAL_COLOR = '#7d7d8a';

export const colorByCodec: Codec<ColorBy> = {
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

type ColorReader = (entry: RunEntry) => string;

class RunColors {
  readonly #by = pageUrl.param<ColorBy>('colour', colorByCodec, { by: 'run' });

  /** Of the oldest runs; later ones have the colour of their name. */
  readonly #assigned = $derived(
    assignRunColors(runEntries.newestFirst.toReversed().map((entry) => entry.name)),
  );
  readonly #reader = $derived(makeColorReader(this.by));
  readonly #groupColours = $derived(makePalette(runGroups.sortedKeys.filter(Boolean)));

  get by(): ColorBy {
    return this.#by.value;
  }

  setColorBy(by: ColorBy): void {
    this.#by.set(by, 'push');
  }

  /** What a user has chosen for a run wins. */
  getColor(entry: RunEntry): string {
    return entry.userNote.color || this.#reader(entry);
  }

  getDefaultColor(name: string): string {
    return this.#assigned.get(name) ?? getRunColor(name);
  }

  getGroupColor(key: string): string {
    return this.#groupColours.get(key) ?? NEUTRAL_COLOR;
  }

  getDash(name: string): readonly number[] {
    return isEvaluationRun(name) ? DASHED : SOLID;
  }
}

function makeColorReader(by: ColorBy): ColorReader {
  switch (by.by) {
    case 'run':
      return ({ name }) => runColors.getDefaultColor(name);
    case 'group':
      return ({ name }) =>
        runGroups.keys === null
          ? runColors.getDefaultColor(name)
          : runColors.getGroupColor(runGroups.keys.get(name) ?? '');
    case 'regex':
      return colorByCapture(by.pattern);
    case 'column':
      return colorByColumn(by.key);
  }
}

function colorByCapture(text: string): ColorReader {
  try {
    const pattern = new RegExp(text);
    const captures = new Map(runEntries.all.map(({ name }) => [name, matchCapture(pattern, name)]));
    const palette = makePalette([...captures.values()].filter((key) => key !== null));
    return ({ name }) => palette.get(captures.get(name) ?? '') ?? NEUTRAL_COLOR;
  } catch {
    return () => NEUTRAL_COLOR;
  }
}

function colorByColumn(key: string): ColorReader {
  const values = runEntries.all
    .map((entry) => entry.getValue(key))
    .filter((value) => value !== null);
  if (values.every((value) => typeof value === 'number')) return colorByNumber(key, values);
  const palette = makePalette(values.map(String));
  return (entry) => palette.get(String(entry.getValue(key))) ?? NEUTRAL_COLOR;
}

/** A shade between the lowest and the highest; by their powers of ten where they lie far apart. */
function colorByNumber(key: string, values: readonly number[]): ColorReader {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const place = low > 0 && high / low > 50 ? Math.log : (value: number): number => value;
  const reach = place(high) - place(low) || 1;
  return (entry) => {
    const value = entry.getValue(key);
    if (typeof value !== 'number' || !Number.isFinite(value)) return NEUTRAL_COLOR;
    return interpolateColor((place(value) - place(low)) / reach);
  };
}

/** A colour for each of the keys, by their place in natural order. */
function makePalette(keys: Iterable<string>): Map<string, string> {
  return new Map(
    sortNatural(new Set(keys), (key) => key).map((key, place) => [
      key,
      RUN_COLORS[place % RUN_COLORS.length] ?? NEUTRAL_COLOR,
    ]),
  );
}

export const runColors = new RunColors();
