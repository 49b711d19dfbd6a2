import { formatCount, formatValue } from '../../../base/format';
import type { Dress } from '../cloud/shown';
import type { AboutAnswer, ColumnRow } from '../data/answers';
import type { Labels } from '../data/labels';
import type { Mask } from '../data/rows';
import type { Choice } from './choice.svelte';
import type { Clusters } from './clusters.svelte';
import type { LabelColumns } from './columns.svelte';
import type { Neighbourhood } from './neighbourhood.svelte';
import {
  colourOfCode,
  diverging,
  gradient,
  paintAlike,
  paintCodes,
  paintNumbers,
  type Ramp,
  rangeOf,
  sizesOf,
  withSeen,
} from './paint';
import type { Params } from './params';
import { rankCodes } from './ranks';

/** What the colour of points is told by, where it is not a column of labels. */
export const CLUSTERS = ' clusters';

export interface LegendEntry {
  readonly name: string;
  readonly colour: string;
  readonly count: number;
  readonly isOff: boolean;
}

export interface Legend {
  readonly title: string;
  readonly entries: readonly LegendEntry[];
  /** How many values have no entry. */
  readonly more: number;
  readonly ramp: { readonly from: string; readonly to: string; readonly colours: string[] } | null;
}

/** By what points are told apart. */
type Shade =
  | { readonly kind: 'alike' }
  | { readonly kind: 'codes'; readonly codes: Int32Array; readonly names: readonly string[] }
  | { readonly kind: 'numbers'; readonly numbers: Float32Array; readonly isDiverging: boolean };

const MOST_ENTRIES = 60;
const FEW_NUMBERS = 24;
const STOPS = [0, 0.2, 0.4, 0.6, 0.8, 1];

/** How points look: by their labels, by what was chosen and found, and by what is hidden. */
export class Look {
  readonly #params: Params;
  readonly #columns: LabelColumns;
  readonly #choice: Choice;
  readonly #near: Neighbourhood;
  readonly #clusters: Clusters;
  readonly #about: () => AboutAnswer | null;

  constructor(
    params: Params,
    columns: LabelColumns,
    choice: Choice,
    near: Neighbourhood,
    clusters: Clusters,
    about: () => AboutAnswer | null,
  ) {
    this.#params = params;
    this.#columns = columns;
    this.#choice = choice;
    this.#near = near;
    this.#clusters = clusters;
    this.#about = about;
  }

  /** The column that points are labelled by; null for their numbers. */
  readonly labelBy = $derived.by(() => this.#pick(this.#params.label.value, 'label'));
  readonly labels = $derived.by(() => this.#columns.find(this.labelBy));

  readonly colourBy = $derived.by(() => {
    const wanted = this.#params.colour.value;
    return wanted === CLUSTERS ? CLUSTERS : this.#pick(wanted, 'colour');
  });

  /** Columns that colours can tell of. */
  readonly colourable = $derived.by<readonly ColumnRow[]>(() =>
    (this.#about()?.columns ?? []).filter(
      ({ kind, values }) => kind === 'number' || values.length > 0,
    ),
  );

  readonly numeric = $derived.by<readonly ColumnRow[]>(() =>
    (this.#about()?.columns ?? []).filter(({ kind }) => kind === 'number'),
  );

  /** Whether colours are on a scale rather than of values. */
  readonly isScaled = $derived.by(() => this.#shade.kind === 'numbers');

  nameOf(row: number): string {
    return this.labels?.of(row) || `Point ${formatCount(row)}`;
  }

  readonly #shade = $derived.by<Shade>(() => {
    const by = this.colourBy;
    const { answer } = this.#clusters;
    if (by === CLUSTERS && answer?.codes) {
      const names = answer.clusters.map(({ name }) => name);
      return { kind: 'codes', codes: answer.codes, names };
    }
    const column = this.#about()?.columns.find(({ name }) => name === by);
    const labels = column && this.#columns.find(column.name);
    return labels ? this.#shadeOf(column, labels) : { kind: 'alike' };
  });

  #shadeOf(column: ColumnRow, labels: Labels): Shade {
    const wish = this.#params.scale.value;
    const isFew = column.values.length > 0 && column.distinct <= FEW_NUMBERS;
    const asValues = wish === 'categories' || (wish === 'auto' && isFew);
    if (labels.numbers && !(asValues && column.values.length > 0)) {
      return { kind: 'numbers', numbers: labels.numbers, isDiverging: wish === 'diverging' };
    }
    const names = column.values.map(({ text }) => text);
    return { kind: 'codes', codes: rankCodes(labels, names, this.#total), names };
  }

  get #total(): number {
    return this.#about()?.rows ?? 0;
  }

  readonly #painted = $derived.by<Uint8Array>(() => {
    const shade = this.#shade;
    if (shade.kind === 'alike') return paintAlike(this.#total);
    if (shade.kind === 'codes') return paintCodes(shade.codes);
    const range = rangeOf(shade.numbers, shade.isDiverging);
    return paintNumbers(shade.numbers, rampOf(shade.isDiverging), range);
  });

  /** A byte for each row that can be seen at all. */
  readonly seen = $derived.by<Mask>(() => {
    const { only, hidden } = this.#choice;
    const shade = this.#shade;
    const off = this.#params.off.value;
    const isOff = shade.kind === 'codes' ? shade.names.map((name) => off.includes(name)) : [];
    const seen = new Uint8Array(this.#total).fill(1);
    const codes = shade.kind === 'codes' && off.length > 0 ? shade.codes : null;
    if (!only && !hidden && !codes) return seen;
    for (let row = 0; row < seen.length; row++) {
      if (only?.[row] === 0 || hidden?.[row] || (codes && isOff[codes[row] ?? -1])) seen[row] = 0;
    }
    return seen;
  });

  /** The rows that stand out; null where none do. */
  readonly standing = $derived.by<Mask | null>(() => {
    const { selected } = this.#choice;
    const found = this.#near.found.answer?.rows;
    const point = this.#params.point.value;
    if (!selected && !found && point === null) return null;
    const standing = selected ? selected.slice() : new Uint8Array(this.#total);
    for (const row of found ?? []) standing[row] = 1;
    if (point !== null) {
      standing[point] = 1;
      for (const row of this.#near.near.answer?.rows ?? []) standing[row] = 1;
    }
    return standing;
  });

  readonly dress = $derived.by<Dress>(() => {
    const sizes = this.#columns.find(this.#params.size.value);
    return {
      colour: withSeen(this.#painted, this.seen, this.standing),
      size: sizes ? sizesOf(sizes) : null,
    };
  });

  colourOf(row: number): string {
    const [red = 0, green = 0, blue = 0] = this.#painted.subarray(4 * row, 4 * row + 3);
    return `rgb(${red} ${green} ${blue})`;
  }

  readonly legend = $derived.by<Legend | null>(() => {
    const shade = this.#shade;
    const title = this.colourBy === CLUSTERS ? 'Clusters' : (this.colourBy ?? '');
    if (shade.kind === 'alike') return null;
    if (shade.kind === 'numbers') return { title, entries: [], more: 0, ramp: rampIn(shade) };
    const counts = countsOf(shade);
    const off = this.#params.off.value;
    const entries = shade.names.slice(0, MOST_ENTRIES).map((name, code) => ({
      ...{ name, colour: colourOfCode(code), count: counts[code] ?? 0 },
      isOff: off.includes(name),
    }));
    return { title, entries, more: shade.names.length - entries.length, ramp: null };
  });

  /** Shows the points of a value or does not; alone, where all others are to go. */
  toggle(name: string, alone: boolean): void {
    const { off } = this.#params;
    if (alone) this.alone(name);
    else if (off.value.includes(name)) off.set(off.value.filter((other) => other !== name));
    else off.set([...off.value, name]);
  }

  /** Hides all others; if they are hidden, all are back. */
  alone(name: string): void {
    const { off } = this.#params;
    const others = (this.legend?.entries ?? []).flatMap((entry) =>
      entry.name === name ? [] : entry.name,
    );
    const isAlone = others.every((other) => off.value.includes(other)) && !off.value.includes(name);
    off.set(isAlone ? [] : others);
  }

  #pick(wanted: string | null, usual: 'label' | 'colour'): string | null {
    const about = this.#about();
    const isThere = about?.columns.some(({ name }) => name === wanted) ?? false;
    if (wanted === null) return null;
    return isThere ? wanted : (about?.[usual] ?? null);
  }
}

function rampOf(isDiverging: boolean): Ramp {
  return isDiverging ? diverging : gradient;
}

function rampIn({ numbers, isDiverging }: Extract<Shade, { kind: 'numbers' }>): Legend['ramp'] {
  const [from, to] = rangeOf(numbers, isDiverging).map((end) => formatValue(end));
  return { from: from ?? '', to: to ?? '', colours: STOPS.map(rampOf(isDiverging)) };
}

function countsOf({ codes, names }: Extract<Shade, { kind: 'codes' }>): Int32Array {
  const counts = new Int32Array(names.length);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row] ?? -1;
    if (code >= 0) counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}
