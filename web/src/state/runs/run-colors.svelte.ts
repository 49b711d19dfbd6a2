import {
  assignRunColors,
  isEvaluationRun,
  RUN_COLORS,
  getRunColor,
  interpolateColor,
} from '../../lib/run-colors';
import type { Codec } from '../../lib/codecs';
import { matchCapture } from '../../lib/grouping';
import { sortNatural } from '../../lib/sorting';
import type { Param, UrlState } from '../../plugin/context';
import type { RunEntries, RunEntry } from './run-entries.svelte';
import type { RunGroups } from './run-groups.svelte';

/** What determines the color of a run. */
export type ColorBy =
  | { readonly by: 'run' | 'group' }
  | { readonly by: 'regex'; readonly pattern: string }
  | { readonly by: 'column'; readonly key: string };

const DASHED = [5, 4];
const SOLID: readonly number[] = [];
/** For runs without a value of the column or pattern. */
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

/** Colors and dashes of runs and groups, the same in all dashboards. */
export class RunColors {
  readonly #entries: RunEntries;
  readonly #groups: RunGroups;
  readonly #by: Param<ColorBy>;

  /** Colors of the oldest runs; others have a color that depends on the name only. */
  readonly #assigned = $derived.by(() =>
    this.#entries.isLarge
      ? new Map<string, string>()
      : assignRunColors(this.#entries.newestFirst.toReversed().map((entry) => entry.name)),
  );
  readonly #reader = $derived.by(() => this.#makeReader(this.by));
  readonly #groupColors = $derived.by(() => makePalette(this.#groups.sortedKeys.filter(Boolean)));

  constructor(url: UrlState, entries: RunEntries, groups: RunGroups) {
    this.#entries = entries;
    this.#groups = groups;
    this.#by = url.param<ColorBy>('color', colorByCodec, { by: 'run' });
  }

  get by(): ColorBy {
    return this.#by.value;
  }

  setColorBy(by: ColorBy): void {
    this.#by.set(by, 'push');
  }

  /** Return the color that the user chose for the run, or the one by the setting. */
  getColor(entry: RunEntry): string {
    return entry.userNote.color || this.#reader(entry);
  }

  getGroupColor(key: string): string {
    const { list } = this.#entries;
    return (list ? list.getGroupColor(key) : this.#groupColors.get(key)) ?? NEUTRAL_COLOR;
  }

  getDash(name: string): readonly number[] {
    return isEvaluationRun(name) ? DASHED : SOLID;
  }

  #getDefaultColor(name: string): string {
    return this.#assigned.get(name) ?? getRunColor(name);
  }

  #makeReader(by: ColorBy): ColorReader {
    // The runs in charts determine the scale of a large log, not those that happen to be loaded.
    const entries = this.#entries.list?.visible ?? this.#entries.all;
    switch (by.by) {
      case 'run':
        return ({ name }) => this.#getDefaultColor(name);
      case 'group': {
        const { keys } = this.#groups;
        if (keys === null) return ({ name }) => this.#getDefaultColor(name);
        return ({ name }) => this.getGroupColor(keys.get(name) ?? '');
      }
      case 'regex':
        return colorByCapture(by.pattern, entries);
      case 'column':
        return colorByColumn(by.key, entries);
    }
  }
}

function colorByCapture(text: string, entries: readonly RunEntry[]): ColorReader {
  try {
    const pattern = new RegExp(text);
    const captures = new Map(entries.map(({ name }) => [name, matchCapture(pattern, name)]));
    const palette = makePalette([...captures.values()].filter((key) => key !== null));
    return ({ name }) => palette.get(captures.get(name) ?? '') ?? NEUTRAL_COLOR;
  } catch {
    return () => NEUTRAL_COLOR;
  }
}

function colorByColumn(key: string, entries: readonly RunEntry[]): ColorReader {
  const values = entries.map((entry) => entry.getValue(key)).filter((value) => value !== null);
  if (values.every((value) => typeof value === 'number')) return colorByNumber(key, values);
  const palette = makePalette(values.map(String));
  return (entry) => palette.get(String(entry.getValue(key))) ?? NEUTRAL_COLOR;
}

/** Shades between the lowest and the highest value; logarithmic for values far apart. */
function colorByNumber(key: string, values: readonly number[]): ColorReader {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const scale = low > 0 && high / low > 50 ? Math.log : (value: number): number => value;
  const extent = scale(high) - scale(low) || 1;
  return (entry) => {
    const value = entry.getValue(key);
    if (typeof value !== 'number' || !Number.isFinite(value)) return NEUTRAL_COLOR;
    return interpolateColor((scale(value) - scale(low)) / extent);
  };
}

/** Return a color for each key, by its position in natural order. */
function makePalette(keys: Iterable<string>): Map<string, string> {
  return new Map(
    sortNatural(new Set(keys), (key) => key).map((key, index) => [
      key,
      RUN_COLORS[index % RUN_COLORS.length] ?? NEUTRAL_COLOR,
    ]),
  );
}
