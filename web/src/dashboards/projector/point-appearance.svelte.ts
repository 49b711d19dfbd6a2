import type { Query } from '../../api/create-query.svelte';
import type {
  ColumnInfo,
  EmbeddingInfo,
  NeighborsResponse,
  Problem,
  ProjectorSearchResponse,
  SimilarResponse,
} from '../../api/schemas';
import * as m from '../../catalog/projector';
import {
  categoryColorOf,
  computeColorCodes,
  computeColorNumbers,
  type ColorRamp,
  colorUniform,
  divergingRamp,
  gradientRamp,
  type PointAttributes,
  valueRange,
  withAlpha,
} from '../../charts/points/point-scene';
import { formatCount, formatValue } from '../../lib/format';
import type { Context } from '../../plugin/context';
import { sortCodesByFrequency, type LabelColumn, computePointSizes } from './label-columns';
import type { PointFilters } from './point-filters.svelte';
import type { PointSelection } from './point-selection.svelte';
import { type ClusterJob, CLUSTERS_COLUMN } from './projector-jobs.svelte';
import type { ProjectorParams } from './projector-params';
import { columnQuery } from './query';
import type { RowMask } from './row-mask';

export interface PointLegendEntry {
  readonly name: string;
  readonly color: string;
  readonly count: number;
  readonly isHidden: boolean;
}

export interface PointLegendModel {
  readonly title: string;
  readonly entries: readonly PointLegendEntry[];
  /** Number of values without an entry. */
  readonly more: number;
  readonly ramp: { readonly from: string; readonly to: string; readonly colors: string[] } | null;
}

/** What the colors of points depend on. */
type PointColoring =
  | { readonly kind: 'uniform' }
  | { readonly kind: 'codes'; readonly codes: Int32Array; readonly names: readonly string[] }
  | { readonly kind: 'numbers'; readonly numbers: Float32Array; readonly isDiverging: boolean };

const MAX_LEGEND_ENTRIES = 60;
const MAX_CATEGORICAL_NUMBERS = 24;
const LEGEND_STOPS = [0, 0.2, 0.4, 0.6, 0.8, 1];

/** What the appearance of points depends on. */
export interface AppearanceSource {
  readonly context: Context;
  readonly params: ProjectorParams;
  readonly info: Query<EmbeddingInfo>;
  readonly selection: PointSelection;
  readonly search: Query<ProjectorSearchResponse>;
  readonly neighbors: Query<NeighborsResponse>;
  readonly clusters: ClusterJob;
  readonly filters: PointFilters;
  readonly similar: Query<SimilarResponse>;
  /** The server draws the points; columns of so many rows are not loaded. */
  readonly usesTiles: () => boolean;
}

/** Colors, sizes and labels of points, and which of them are visible and highlighted. */
export class PointAppearance {
  readonly #source: AppearanceSource;
  readonly #params: ProjectorParams;
  readonly #columns: Readonly<Record<'label' | 'color' | 'size' | 'sequence', Query<LabelColumn>>>;

  /** Call it where effects can be created. */
  constructor(source: AppearanceSource) {
    this.#source = source;
    this.#params = source.params;
    this.#columns = {
      label: this.#queryColumn(() => this.labelBy),
      color: this.#queryColumn(() => this.colorBy),
      size: this.#queryColumn(() => this.#params.sizeBy.value),
      sequence: this.#queryColumn(() => this.#info?.sequence_column ?? null),
    };
  }

  #queryColumn(getName: () => string | null): Query<LabelColumn> {
    return this.#source.context.query(
      columnQuery,
      () => {
        const [info, name] = [this.#info, getName()];
        if (this.#source.usesTiles()) return null;
        if (!info?.columns.some((column) => column.name === name) || name === null) return null;
        const { id, index, mark, revision } = info;
        return { id, index, mark, name, revision };
      },
      // Keep the labels from before an edit until those after it arrive.
      { keepPrevious: (a, b) => a.name === b.name && a.mark === b.mark },
    );
  }

  get #info(): EmbeddingInfo | undefined {
    return this.#source.info.data;
  }

  get #rowCount(): number {
    return this.#info?.rows ?? 0;
  }

  /** A column of labels that could not be loaded. */
  get error(): Problem | null {
    const failed = Object.values(this.#columns).find(({ error }) => error !== null);
    return failed?.error?.problem ?? null;
  }

  /** The column that points are labeled by; null for the row number. */
  readonly labelBy = $derived.by(() =>
    this.#resolveColumn(this.#params.labelBy.value, 'label_column'),
  );

  readonly colorBy = $derived.by(() => {
    const { value } = this.#params.colorBy;
    return value === CLUSTERS_COLUMN ? value : this.#resolveColumn(value, 'color_column');
  });

  get labels(): LabelColumn | undefined {
    return this.#columns.label.data;
  }

  /** For each point the row of the next one in its sequence. */
  get nextRows(): Float32Array | null {
    return this.#columns.sequence.data?.numbers ?? null;
  }

  readonly colorColumns = $derived.by<readonly ColumnInfo[]>(() =>
    (this.#info?.columns ?? []).filter(
      ({ kind, values }) => values.length > 0 || (kind === 'number' && !this.#source.usesTiles()),
    ),
  );

  readonly numericColumns = $derived.by<readonly ColumnInfo[]>(() =>
    (this.#info?.columns ?? []).filter(({ kind }) => kind === 'number'),
  );

  nameOf(row: number): string {
    return this.labels?.textAt(row) || m.pointName({ row: formatCount(row) });
  }

  /** What color and size mean for a point, as names and values. */
  describe(row: number): readonly (readonly [name: string, value: string])[] {
    const { color, size } = this.#columns;
    const facts = new Map<string, string>();
    for (const column of [color.data, size.data]) {
      if (column && column.name !== this.labelBy) facts.set(column.name, column.textAt(row));
    }
    const { result, names } = this.#source.clusters;
    const cluster = names[result?.codes[row] ?? -1];
    if (cluster !== undefined) facts.set(m.cluster, cluster);
    return [...facts];
  }

  readonly #coloring = $derived.by<PointColoring>(() => {
    const { result, names } = this.#source.clusters;
    if (this.colorBy === CLUSTERS_COLUMN && result) {
      return { kind: 'codes', codes: result.codes, names };
    }
    const labels = this.#columns.color.data;
    const column = this.#info?.columns.find(({ name }) => name === this.colorBy);
    return column && labels ? this.#colorByColumn(column, labels) : { kind: 'uniform' };
  });

  #colorByColumn(column: ColumnInfo, labels: LabelColumn): PointColoring {
    const scale = this.#params.colorScale.value;
    const hasFewValues = column.values.length > 0 && column.distinct <= MAX_CATEGORICAL_NUMBERS;
    const isCategorical = scale === 'categories' || (scale === 'auto' && hasFewValues);
    if (labels.numbers && !(isCategorical && column.values.length > 0)) {
      return { kind: 'numbers', numbers: labels.numbers, isDiverging: scale === 'diverging' };
    }
    const names = column.values.map(({ text }) => text);
    return { kind: 'codes', codes: sortCodesByFrequency(labels, names, this.#rowCount), names };
  }

  readonly #rgba = $derived.by<Uint8Array>(() => {
    const coloring = this.#coloring;
    if (coloring.kind === 'uniform') return colorUniform(this.#rowCount);
    if (coloring.kind === 'codes') return computeColorCodes(coloring.codes);
    const range = valueRange(coloring.numbers, coloring.isDiverging);
    return computeColorNumbers(coloring.numbers, selectRamp(coloring.isDiverging), range);
  });

  /** Points that are neither hidden nor outside of the isolated ones. */
  readonly visible = $derived.by<RowMask>(() => {
    const { isolated, hidden } = this.#source.selection;
    const { passing } = this.#source.filters;
    const coloring = this.#coloring;
    const hiddenValues = this.#params.hiddenValues.value;
    const visible = new Uint8Array(this.#rowCount).fill(1);
    const { codes, names } = coloring.kind === 'codes' ? coloring : { codes: null, names: [] };
    const isHidden = names.map((name) => hiddenValues.includes(name));
    if (!isolated && !hidden && !passing && !isHidden.includes(true)) return visible;
    for (let row = 0; row < visible.length; row++) {
      const isExcluded = isolated?.[row] === 0 || passing?.[row] === 0;
      if (isExcluded || hidden?.[row] || isHidden[codes?.[row] ?? -1]) visible[row] = 0;
    }
    return visible;
  });

  /** Selected points, matches, the inspected point and its neighbors; null if there are none. */
  readonly highlighted = $derived.by<RowMask | null>(() => {
    const { selection, search, neighbors, similar } = this.#source;
    const { selected } = selection;
    const matches = search.data?.rows;
    const point = this.#params.point.value;
    if (!selected && !matches && !similar.data && point === null) return null;
    const highlighted = selected ? selected.slice() : new Uint8Array(this.#rowCount);
    for (const row of matches ?? []) highlighted[row] = 1;
    for (const row of similar.data?.rows ?? []) highlighted[row] = 1;
    if (point !== null) {
      highlighted[point] = 1;
      for (const row of neighbors.data?.rows ?? []) highlighted[row] = 1;
    }
    return highlighted;
  });

  readonly attributes = $derived.by<PointAttributes>(() => {
    const sizes = this.#columns.size.data;
    return {
      rgba: withAlpha(this.#rgba, this.visible, this.highlighted),
      sizes: sizes ? computePointSizes(sizes) : null,
    };
  });

  colorOf(row: number): string {
    if (this.#source.usesTiles()) return 'var(--faint)';
    const [red = 0, green = 0, blue = 0] = this.#rgba.subarray(4 * row, 4 * row + 3);
    return `rgb(${red} ${green} ${blue})`;
  }

  readonly legend = $derived.by<PointLegendModel | null>(() => {
    if (this.#source.usesTiles()) return this.#tileLegend;
    const coloring = this.#coloring;
    const title = this.colorBy === CLUSTERS_COLUMN ? m.clustersTitle : (this.colorBy ?? '');
    if (coloring.kind === 'uniform') return null;
    if (coloring.kind === 'numbers') {
      return { title, entries: [], more: 0, ramp: legendRamp(coloring) };
    }
    const counts = countCodes(coloring);
    const hiddenValues = this.#params.hiddenValues.value;
    const entries = coloring.names.slice(0, MAX_LEGEND_ENTRIES).map((name, code) => ({
      name,
      color: categoryColorOf(code),
      count: counts[code] ?? 0,
      isHidden: hiddenValues.includes(name),
    }));
    return { title, entries, more: coloring.names.length - entries.length, ramp: null };
  });

  /** Tiles have the most frequent values, in the order of the server. */
  readonly #tileLegend = $derived.by<PointLegendModel | null>(() => {
    const column = this.colorColumns.find(({ name }) => name === this.colorBy);
    if (!column) return null;
    const hiddenValues = this.#params.hiddenValues.value;
    const entries = column.values.slice(0, MAX_LEGEND_ENTRIES).map(({ text, count }, code) => ({
      ...{ name: text, color: categoryColorOf(code), count },
      isHidden: hiddenValues.includes(text),
    }));
    const more = column.distinct - entries.length;
    return { title: column.name, entries, more: Math.max(0, more), ramp: null };
  });

  /** Hide or show the points with a value. */
  toggleValue(name: string): void {
    const { hiddenValues } = this.#params;
    const others = hiddenValues.value.filter((other) => other !== name);
    const isHidden = others.length < hiddenValues.value.length;
    hiddenValues.set(isHidden ? others : [...others, name], 'push');
  }

  /** Hide all other values; show them again if they are hidden. */
  isolateValue(name: string): void {
    const { hiddenValues } = this.#params;
    const others = (this.legend?.entries ?? []).flatMap((entry) =>
      entry.name === name ? [] : entry.name,
    );
    const isIsolated =
      others.every((other) => hiddenValues.value.includes(other)) &&
      !hiddenValues.value.includes(name);
    hiddenValues.set(isIsolated ? [] : others, 'push');
  }

  /** Return an existing column, else the one that the server suggests; null for none. */
  #resolveColumn(name: string | null, suggestion: 'label_column' | 'color_column'): string | null {
    if (name === null) return null;
    const isKnown = this.#info?.columns.some((column) => column.name === name) ?? false;
    return isKnown ? name : (this.#info?.[suggestion] ?? null);
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
