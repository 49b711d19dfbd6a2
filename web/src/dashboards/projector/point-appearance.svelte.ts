import { formatCount, formatValue } from '../../lib/format';
import type { PointAttributes } from './canvas/point-scene';
import type { EmbeddingInfo, ColumnInfo } from './schemas';
import {
  categoryColorOf,
  codesByFrequency,
  colorCodes,
  colorNumbers,
  type ColorRamp,
  colorUniform,
  divergingRamp,
  gradientRamp,
  type LabelColumn,
  pointSizes,
  valueRange,
  withAlpha,
} from './point-colors';
import type { RowMask } from './row-mask';
import type { PointSelection } from './point-selection.svelte';
import type { ClusterJob } from './projector-jobs.svelte';
import type { LabelColumnCache, PointQueries } from './query.svelte';
import type { ProjectorParams } from './projector-params';

/** What the colour of points is told by, where it is not a column of labels. */
export const CLUSTERS_COLUMN = ' clusters';

export interface PointLegendEntry {
  readonly name: string;
  readonly color: string;
  readonly count: number;
  readonly isHidden: boolean;
}

export interface PointLegendModel {
  readonly title: string;
  readonly entries: readonly PointLegendEntry[];
  /** How many values have no entry. */
  readonly more: number;
  readonly ramp: { readonly from: string; readonly to: string; readonly colors: string[] } | null;
}

/** By what points are told apart. */
type PointColoring =
  | { readonly kind: 'alike' }
  | { readonly kind: 'codes'; readonly codes: Int32Array; readonly names: readonly string[] }
  | { readonly kind: 'numbers'; readonly numbers: Float32Array; readonly isDiverging: boolean };

const MAX_LEGEND_ENTRIES = 60;
const MAX_CATEGORICAL_NUMBERS = 24;
const LEGEND_STOPS = [0, 0.2, 0.4, 0.6, 0.8, 1];

/** How points look: by their labels, by what was chosen and found, and by what is hidden. */
export class PointAppearance {
  readonly #params: ProjectorParams;
  readonly #columns: LabelColumnCache;
  readonly #selection: PointSelection;
  readonly #pointQueries: PointQueries;
  readonly #clusters: ClusterJob;
  readonly #getInfo: () => EmbeddingInfo | null;

  constructor(
    params: ProjectorParams,
    columns: LabelColumnCache,
    choice: PointSelection,
    near: PointQueries,
    clusters: ClusterJob,
    about: () => EmbeddingInfo | null,
  ) {
    this.#params = params;
    this.#columns = columns;
    this.#selection = choice;
    this.#pointQueries = near;
    this.#clusters = clusters;
    this.#getInfo = about;
  }

  /** The column that points are labelled by; null for their numbers. */
  readonly labelBy = $derived.by(() => this.#resolveColumn(this.#params.labelBy.value, 'label'));
  readonly labels = $derived.by(() => this.#columns.find(this.labelBy));

  readonly colorBy = $derived.by(() => {
    const wanted = this.#params.colorBy.value;
    return wanted === CLUSTERS_COLUMN ? CLUSTERS_COLUMN : this.#resolveColumn(wanted, 'colour');
  });

  /** Columns that colours can tell of. */
  readonly colorColumns = $derived.by<readonly ColumnInfo[]>(() =>
    (this.#getInfo()?.columns ?? []).filter(
      ({ kind, values }) => kind === 'number' || values.length > 0,
    ),
  );

  readonly numericColumns = $derived.by<readonly ColumnInfo[]>(() =>
    (this.#getInfo()?.columns ?? []).filter(({ kind }) => kind === 'number'),
  );

  /** Whether colours are on a scale rather than of values. */
  readonly isScaled = $derived.by(() => this.#coloring.kind === 'numbers');

  nameOf(row: number): string {
    return this.labels?.textAt(row) || `Point ${formatCount(row)}`;
  }

  readonly #coloring = $derived.by<PointColoring>(() => {
    const by = this.colorBy;
    const { result } = this.#clusters;
    if (by === CLUSTERS_COLUMN && result?.codes) {
      const names = result.clusters.map(({ name }) => name);
      return { kind: 'codes', codes: result.codes, names };
    }
    const column = this.#getInfo()?.columns.find(({ name }) => name === by);
    const labels = column && this.#columns.find(column.name);
    return labels ? this.#columnColoring(column, labels) : { kind: 'alike' };
  });

  #columnColoring(column: ColumnInfo, labels: LabelColumn): PointColoring {
    const wish = this.#params.colorScale.value;
    const isFew = column.values.length > 0 && column.distinct <= MAX_CATEGORICAL_NUMBERS;
    const asValues = wish === 'categories' || (wish === 'auto' && isFew);
    if (labels.numbers && !(asValues && column.values.length > 0)) {
      return { kind: 'numbers', numbers: labels.numbers, isDiverging: wish === 'diverging' };
    }
    const names = column.values.map(({ text }) => text);
    return { kind: 'codes', codes: codesByFrequency(labels, names, this.#total), names };
  }

  get #total(): number {
    return this.#getInfo()?.rows ?? 0;
  }

  readonly #rgba = $derived.by<Uint8Array>(() => {
    const shade = this.#coloring;
    if (shade.kind === 'alike') return colorUniform(this.#total);
    if (shade.kind === 'codes') return colorCodes(shade.codes);
    const range = valueRange(shade.numbers, shade.isDiverging);
    return colorNumbers(shade.numbers, selectRamp(shade.isDiverging), range);
  });

  /** A byte for each row that can be seen at all. */
  readonly visible = $derived.by<RowMask>(() => {
    const { isolated, hidden } = this.#selection;
    const shade = this.#coloring;
    const off = this.#params.hiddenValues.value;
    const isOff = shade.kind === 'codes' ? shade.names.map((name) => off.includes(name)) : [];
    const seen = new Uint8Array(this.#total).fill(1);
    const codes = shade.kind === 'codes' && off.length > 0 ? shade.codes : null;
    if (!isolated && !hidden && !codes) return seen;
    for (let row = 0; row < seen.length; row++) {
      if (isolated?.[row] === 0 || hidden?.[row] || (codes && isOff[codes[row] ?? -1]))
        seen[row] = 0;
    }
    return seen;
  });

  /** The rows that stand out; null where none do. */
  readonly highlighted = $derived.by<RowMask | null>(() => {
    const { selected } = this.#selection;
    const found = this.#pointQueries.search.data?.rows;
    const point = this.#params.point.value;
    if (!selected && !found && point === null) return null;
    const standing = selected ? selected.slice() : new Uint8Array(this.#total);
    for (const row of found ?? []) standing[row] = 1;
    if (point !== null) {
      standing[point] = 1;
      for (const row of this.#pointQueries.neighbors.data?.rows ?? []) standing[row] = 1;
    }
    return standing;
  });

  readonly attributes = $derived.by<PointAttributes>(() => {
    const sizes = this.#columns.find(this.#params.sizeBy.value);
    return {
      rgba: withAlpha(this.#rgba, this.visible, this.highlighted),
      sizes: sizes ? pointSizes(sizes) : null,
    };
  });

  colorOf(row: number): string {
    const [red = 0, green = 0, blue = 0] = this.#rgba.subarray(4 * row, 4 * row + 3);
    return `rgb(${red} ${green} ${blue})`;
  }

  readonly legend = $derived.by<PointLegendModel | null>(() => {
    const shade = this.#coloring;
    const title = this.colorBy === CLUSTERS_COLUMN ? 'Clusters' : (this.colorBy ?? '');
    if (shade.kind === 'alike') return null;
    if (shade.kind === 'numbers') return { title, entries: [], more: 0, ramp: legendRamp(shade) };
    const counts = countCodes(shade);
    const off = this.#params.hiddenValues.value;
    const entries = shade.names.slice(0, MAX_LEGEND_ENTRIES).map((name, code) => ({
      ...{ name, color: categoryColorOf(code), count: counts[code] ?? 0 },
      isHidden: off.includes(name),
    }));
    return { title, entries, more: shade.names.length - entries.length, ramp: null };
  });

  /** Shows the points of a value or does not; alone, where all others are to go. */
  toggleValue(name: string, alone: boolean): void {
    const { hiddenValues } = this.#params;
    if (alone) this.isolateValue(name);
    else if (hiddenValues.value.includes(name))
      hiddenValues.set(hiddenValues.value.filter((other) => other !== name));
    else hiddenValues.set([...hiddenValues.value, name]);
  }

  /** Hides all others; if they are hidden, all are back. */
  isolateValue(name: string): void {
    const { hiddenValues } = this.#params;
    const others = (this.legend?.entries ?? []).flatMap((entry) =>
      entry.name === name ? [] : entry.name,
    );
    const isAlone =
      others.every((other) => hiddenValues.value.includes(other)) &&
      !hiddenValues.value.includes(name);
    hiddenValues.set(isAlone ? [] : others);
  }

  #resolveColumn(wanted: string | null, usual: 'label' | 'colour'): string | null {
    const about = this.#getInfo();
    const isThere = about?.columns.some(({ name }) => name === wanted) ?? false;
    if (wanted === null) return null;
    return isThere ? wanted : (about?.[usual] ?? null);
  }
}

function selectRamp(isDiverging: boolean): ColorRamp {
  return isDiverging ? divergingRamp : gradientRamp;
}

function legendRamp({
  numbers,
  isDiverging,
}: Extract<PointColoring, { kind: 'numbers' }>): PointLegendModel['ramp'] {
  const [from, to] = valueRange(numbers, isDiverging).map((end) => formatValue(end));
  return { from: from ?? '', to: to ?? '', colors: LEGEND_STOPS.map(selectRamp(isDiverging)) };
}

function countCodes({ codes, names }: Extract<PointColoring, { kind: 'codes' }>): Int32Array {
  const counts = new Int32Array(names.length);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row] ?? -1;
    if (code >= 0) counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}
