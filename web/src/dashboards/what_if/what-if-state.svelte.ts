import { createContext } from 'svelte';

import { type Query, QueryMap } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type {
  AddFeatureRequest,
  ConfigureRequest,
  DataColumnInfo,
  DataSessionsResponse,
  DistanceRequest,
  DistancesResponse,
  Metric,
  ModelInfo,
  ModelJobStatus,
  OpenRequest,
  OptimizeResponse,
  Problem,
  RowEditRequest,
  RowEditResponse,
  RowResponse,
  Sentence,
  SessionInfo,
  SliceThresholds,
} from '../../api/schemas';
import { encodeMask } from '../../charts/points/point-scene';
import { RUN_COLORS } from '../../lib/colors';
import type { Context } from '../../plugin/context';
import { getOwn } from './feature-values';
import {
  DEFAULT_BINS,
  makeConditionMask,
  removeSliceThresholds,
  selectSliceThresholds,
  type Slicing,
} from './slices';
import { CounterfactualSearch, WhatIfJob } from './what-if-job.svelte';
import {
  ATTRIBUTIONS,
  type ColumnTypes,
  type DistanceColumn,
  formatDistance,
  type LinkedModel,
  makeWhatIfSettings,
  nameDistance,
  parseDistance,
  type WhatIfSettings,
} from './what-if-settings';
import {
  type ColumnData,
  columnQuery,
  type ColumnRequest,
  distancesQuery,
  isRunning,
  rowQuery,
  sessionsQuery,
  VERSIONED_QUERIES,
} from './query';

const DEFAULT_THRESHOLD = 0.5;

type DistanceOptions = Required<
  Pick<DistanceRequest, 'metric' | 'weights' | 'embedding' | 'by_attributions' | 'model'>
>;

/** The answer to the chosen strategy. */
export interface StrategyResult {
  /** What was asked for: another model, other data or slices have another one. */
  readonly key: string;
  readonly choice: OptimizeResponse | null;
  readonly problem: Problem | null;
}

/** The open data set with its models, what is chosen of it, and changes of its rows. */
export class WhatIfState {
  readonly context: Context;
  readonly settings: WhatIfSettings;
  readonly sessionsQuery: Query<DataSessionsResponse>;
  readonly rowQuery: Query<RowResponse>;
  readonly counterfactuals: CounterfactualSearch;
  readonly prediction: WhatIfJob;
  /** Why the last change failed. */
  problem = $state.raw<Problem | null>(null);
  /** Why models could not predict the changed datapoint, which has no scores then. */
  rowProblems = $state.raw<readonly Sentence[]>([]);
  isEditing = $state(false);
  /** The file of a link is being read. */
  isOpening = $state(false);
  /** The model of a link that is being connected, which can take long. */
  connecting = $state<string | null>(null);
  /** Rows chosen with a box or a lasso. */
  selectedRows = $state.raw<ReadonlySet<number>>(new Set());
  dialog = $state<'data' | 'model' | 'settings' | null>(null);
  strategyResult = $state.raw<StrategyResult | null>(null);
  readonly #columns: QueryMap<ColumnRequest, ColumnData>;
  readonly #distances: QueryMap<DistanceRequest, DistancesResponse>;
  /** Models whose prediction was started, by session, so that a failure is not repeated. */
  #attempted = new Set<string>();

  /** Call it where effects can be created. */
  constructor(context: Context) {
    this.context = context;
    this.settings = makeWhatIfSettings(context);
    const { settings } = this;
    this.sessionsQuery = context.query(sessionsQuery, () => ({}));
    this.prediction = new WhatIfJob(context, () => this.#invalidate());
    this.#columns = new QueryMap(context.queries, columnQuery, (key) => this.#makeRequest(key));
    $effect(() => {
      // Other views change thresholds, which must not fetch the columns that depend on them.
      const isShown = ['datapoints', 'compare'].includes(settings.view.value);
      const names = this.columnNames.filter((name) => isShown || !this.isComputed(name));
      const stops = names.map((name) => this.#columns.subscribe(name));
      return () => {
        for (const stop of stops) stop();
      };
    });
    this.rowQuery = context.query(rowQuery, () => {
      const { info, row } = this;
      return info && row !== null && context.supports('GET what_if/row')
        ? { session: info.session, row }
        : null;
    });
    this.#distances = new QueryMap(context.queries, distancesQuery, (name) => {
      const { info } = this;
      const column = parseDistance(name);
      return info && column && column.row < info.row_count
        ? { session: info.session, row: column.row, ...this.#makeOptions(column) }
        : null;
    });
    $effect(() => {
      const stops = this.usedDistances.map((name) => this.#distances.subscribe(name));
      return () => {
        for (const stop of stops) stop();
      };
    });
    this.counterfactuals = new CounterfactualSearch(context, () => {
      const { info, row, model } = this;
      if (!info || row === null || !model?.is_predicted || !settings.counterfactual.value)
        return null;
      return {
        session: info.session,
        row,
        ...this.distanceOptions,
        count: Math.max(1, Math.min(100, settings.count.value)),
        locked: settings.locked.value,
        threshold: this.flipThreshold,
        slice_thresholds: this.flipSliceThresholds,
      };
    });
    $effect(() => this.#predictNext(this.info));
    $effect(() => void this.#openLinkedFile());
  }

  readonly sessions: readonly SessionInfo[] = $derived.by(
    () => this.sessionsQuery.data?.sessions ?? [],
  );

  /** The chosen data set, or the one that was opened last. */
  readonly info: SessionInfo | null = $derived.by(
    () =>
      this.sessions.find(({ session }) => session === this.settings.session.value) ??
      this.sessions.at(-1) ??
      null,
  );

  readonly models: readonly ModelInfo[] = $derived.by(() => this.info?.models ?? []);

  readonly model: ModelInfo | null = $derived.by(
    () =>
      this.models.find(({ name }) => name === this.settings.model.value) ?? this.models[0] ?? null,
  );

  readonly row: number | null = $derived.by(() => {
    const { value } = this.settings.row;
    const count = this.info?.row_count ?? 0;
    return value !== null && Number.isInteger(value) && value >= 0 && value < count ? value : null;
  });

  readonly isBinary: boolean = $derived.by(
    () => this.model?.task === 'classification' && this.model.class_names.length === 2,
  );

  /** The threshold of all rows, from which on a score is predicted as positive. */
  readonly threshold: number = $derived.by(() => this.getThreshold(this.model?.name ?? ''));

  /** Each model has a threshold of its own. */
  getThreshold(model: string): number {
    return getOwn(this.settings.thresholds.value, model)?.[''] ?? DEFAULT_THRESHOLD;
  }

  /** The thresholds of models other than the default one. */
  listModelThresholds(): Record<string, number> {
    return Object.fromEntries(
      this.models
        .map(({ name }) => [name, this.getThreshold(name)] as const)
        .filter(([, threshold]) => threshold !== DEFAULT_THRESHOLD),
    );
  }

  /** How the chosen columns divide the datapoints into slices. */
  readonly slicing: Slicing = $derived.by(() => {
    const { settings, numericColumns } = this;
    const sliceBy = settings.sliceBy.value;
    const binned = numericColumns.filter(
      (column) => sliceBy.includes(column.name) && !hasFewValues(column),
    );
    return {
      slice_by: [...sliceBy],
      buckets: Object.fromEntries(
        binned.map(({ name }) => [name, getOwn(settings.bins.value, name) ?? DEFAULT_BINS]),
      ),
      // Slices by other columns do not depend on thresholds.
      model_thresholds: sliceBy.some((name) => this.isComputed(name))
        ? this.listModelThresholds()
        : {},
    };
  });

  /** Thresholds of slices, which decide the predicted classes of their datapoints. */
  readonly sliceThresholds: SliceThresholds | null = $derived.by(() => {
    const { info, slicing, settings } = this;
    const known = new Set(info?.columns.map(({ name }) => name));
    if (!slicing.slice_by.every((name) => known.has(name))) return null;
    return selectSliceThresholds(settings.thresholds.value, slicing, (model) =>
      this.getThreshold(model),
    );
  });

  /** Those that decide what counts as another prediction of the chosen model. */
  readonly flipSliceThresholds: SliceThresholds | null = $derived.by(() =>
    this.isBinary ? this.selectModelThresholds(this.model?.name ?? '') : null,
  );

  /** The thresholds of slices that decide the predictions of one model. */
  selectModelThresholds(model: string): SliceThresholds | null {
    const { sliceThresholds } = this;
    const own = getOwn(sliceThresholds?.thresholds, model);
    return sliceThresholds && own ? { ...sliceThresholds, thresholds: { [model]: own } } : null;
  }

  /** Let all slices have the thresholds of their models. */
  removeSliceThresholds(): void {
    const { thresholds, sliceBy } = this.settings;
    thresholds.set(removeSliceThresholds(thresholds.value, sliceBy.value), 'push');
    this.resetStrategy();
  }

  /** What counts as another prediction: a difference of values, or the threshold of two classes. */
  readonly flipThreshold: number | null = $derived.by(() => {
    if (this.model?.task === 'regression') return this.settings.difference.value;
    return this.isBinary ? this.threshold : null;
  });

  /** Whether the chosen model returns attributions, by which datapoints can be compared. */
  readonly hasAttributions: boolean = $derived.by(() =>
    this.returnsAttributions(this.model?.name ?? ''),
  );

  returnsAttributions(model: string): boolean {
    return (this.info?.columns ?? []).some(
      ({ name, is_computed: isComputed }) =>
        isComputed &&
        name.startsWith('attribution:') &&
        (this.models.length < 2 || name.endsWith(` (${model})`)),
    );
  }

  /** Whether rows can be changed; predictions that are columns of the data do not change. */
  readonly canEdit: boolean = $derived.by(() => this.context.supports('POST what_if/edit'));

  // ---- columns

  readonly numericColumns: readonly DataColumnInfo[] = $derived.by(() =>
    (this.info?.columns ?? []).filter((column) => isNumeric(column) && !column.is_list),
  );

  /** Columns that can be axes, colors, labels and facets. */
  readonly plotColumns: readonly DataColumnInfo[] = $derived.by(() =>
    (this.info?.columns ?? []).filter(
      ({ type, dimensions }) => type !== 'image' && type !== 'bytes' && dimensions === null,
    ),
  );

  readonly imageColumns: readonly DataColumnInfo[] = $derived.by(() =>
    this.context.supports('GET what_if/thumbnails')
      ? (this.info?.columns ?? []).filter(({ type }) => type === 'image')
      : [],
  );

  /** The column of images that are drawn; empty for none. */
  readonly imageName: string = $derived.by(
    () => this.imageColumns.find(({ name }) => name === this.settings.image.value)?.name ?? '',
  );

  /** Columns of vectors. */
  readonly embeddingColumns: readonly DataColumnInfo[] = $derived.by(() =>
    (this.info?.columns ?? []).filter(({ dimensions }) => dimensions !== null),
  );

  /** The column of vectors by which distances are measured; empty for all features. */
  readonly embeddingName: string = $derived.by(
    () =>
      this.embeddingColumns.find(({ name }) => name === this.settings.embedding.value)?.name ?? '',
  );

  /** The distance; a link to a custom one may be opened with data that have none. */
  readonly metric: Metric = $derived.by(() => {
    const { value } = this.settings.metric;
    return value === 'custom' && !this.info?.has_distance ? 'l1' : value;
  });

  /** What counterfactuals are compared by: a column of vectors, attributions, or all features. */
  readonly comparedBy: string = $derived.by(() =>
    this.isByAttributions ? ATTRIBUTIONS : this.embeddingName,
  );

  readonly isByAttributions: boolean = $derived.by(
    () => this.settings.byAttributions.value && this.hasAttributions,
  );

  /** How counterfactuals are compared. */
  readonly distanceOptions: DistanceOptions = $derived.by(() =>
    this.#makeOptions({ metric: this.metric, by: this.comparedBy }),
  );

  /** Vectors and custom distances have no weights. */
  #makeOptions({ metric, by }: Omit<DistanceColumn, 'row'>): DistanceOptions {
    const options = { metric, weights: {}, embedding: null, by_attributions: false };
    const model = this.model?.name ?? null;
    if (metric === 'custom') return { ...options, model };
    if (by === ATTRIBUTIONS) return { ...options, model, by_attributions: true };
    return by === ''
      ? { ...options, model, weights: this.settings.weights.value }
      : { ...options, model, embedding: by };
  }

  /** Names of the columns with distances. */
  readonly distances: readonly string[] = $derived.by(() =>
    this.settings.distances.value.filter((name) => parseDistance(name) !== null),
  );

  /** Those that are shown. */
  readonly usedDistances: readonly string[] = $derived.by(() => {
    const shown = [
      ...[this.xName, this.yName, this.colorName],
      ...[this.settings.facetX.value, this.settings.facetY.value],
    ];
    return this.distances.filter((name) => shown.includes(name));
  });

  readonly xName: string = $derived.by(() => this.#choose(this.settings.x.value, this.#defaults.x));
  readonly yName: string = $derived.by(() => this.#choose(this.settings.y.value, this.#defaults.y));
  readonly colorName: string = $derived.by(() =>
    this.#choose(this.settings.color.value, this.#defaults.color),
  );

  /** Axes and color that show the predictions, as long as the user has not chosen others. */
  readonly #defaults = $derived.by(() => {
    const columns = this.info?.columns ?? [];
    const find = (...names: string[]): string =>
      names.find((name) => columns.some((column) => column.name === name)) ?? '';
    const [first, second] = this.models;
    const score = (model: ModelInfo | undefined): string =>
      model ? find(...['score', 'value'].map((name) => this.nameComputed(name, model.name))) : '';
    const inputs = this.numericColumns.filter(({ is_input: isInput }) => isInput);
    const [x = '', y = ''] = (inputs.length > 1 ? inputs : this.numericColumns).map(
      ({ name }) => name,
    );
    const color = first ? find(this.nameComputed('predicted', first.name)) : '';
    if (score(first) && score(second)) return { x: score(first), y: score(second), color };
    if (score(first)) return { x, y: score(first), color: color || find(this.info?.label ?? '') };
    return { x, y, color: color || find(this.info?.label ?? '') };
  });

  /** Computed columns have the name of the model if there are several. */
  nameComputed(column: string, model: string): string {
    return this.models.length > 1 ? `${column} (${model})` : column;
  }

  #choose(chosen: string | null, fallback: string): string {
    if (chosen === null) return fallback;
    const isKnown =
      chosen === '' ||
      this.distances.includes(chosen) ||
      this.info?.columns.some(({ name }) => name === chosen);
    return isKnown ? chosen : fallback;
  }

  /** The columns that are loaded. At least one, for the numbers of the rows. */
  readonly columnNames: readonly string[] = $derived.by(() => {
    const { info, settings } = this;
    if (!info) return [];
    const known = new Set(info.columns.map(({ name }) => name));
    const wanted = [
      this.xName,
      this.yName,
      this.colorName,
      settings.label.value,
      settings.facetX.value,
      settings.facetY.value,
      ...settings.conditions.value.map(({ column }) => column),
      ...this.#extraColumns,
    ].filter((name) => known.has(name));
    const names = [...new Set(wanted)];
    return names.length > 0 ? names : info.columns.slice(0, 1).map(({ name }) => name);
  });

  #extraColumns = $state.raw<readonly string[]>([]);

  /** Load further columns while a view is open; return a function that stops. */
  requestColumns(names: readonly string[]): () => void {
    this.#extraColumns = names;
    return () => (this.#extraColumns = []);
  }

  #makeRequest(name: string): ColumnRequest | null {
    const { info, models } = this;
    const model =
      models.length > 1 ? models.find((one) => name.endsWith(` (${one.name})`)) : models[0];
    const threshold =
      this.isComputed(name) && model ? this.getThreshold(model.name) : DEFAULT_THRESHOLD;
    const isDecision =
      model !== undefined &&
      ['predicted', 'correct'].some((column) => this.nameComputed(column, model.name) === name);
    const sliceThresholds = isDecision ? this.selectModelThresholds(model.name) : null;
    return info && { session: info.session, name, threshold, sliceThresholds };
  }

  isComputed(name: string): boolean {
    return this.info?.columns.some((one) => one.name === name && one.is_computed) ?? false;
  }

  getColumn(name: string): ColumnData | null {
    if (name === '') return null;
    if (parseDistance(name)) return this.#getDistanceColumn(name);
    const column = this.#columns.get(name)?.data ?? null;
    return column && column.rows.length === this.rows.length ? column : null;
  }

  #getDistanceColumn(name: string): ColumnData | null {
    const data = this.#distances.get(name)?.data;
    if (!data || data.distances.length !== this.rows.length) return null;
    return {
      name: this.getTitle(name),
      type: 'float',
      numbers: Float64Array.from(data.distances),
      codes: null,
      categories: [],
      version: this.info?.version ?? 0,
      rows: this.rows,
    };
  }

  /** Return the name of a column to show. */
  getTitle(name: string): string {
    const distance = parseDistance(name);
    return distance ? formatDistance(distance) : name;
  }

  readonly #firstColumn: ColumnData | null = $derived.by(() => {
    const name = this.columnNames[0];
    return (name === undefined ? undefined : this.#columns.get(name)?.data) ?? null;
  });

  /** The numbers of the rows that are not deleted. */
  readonly rows: Int32Array = $derived.by(() => this.#firstColumn?.rows ?? new Int32Array());

  readonly columnsError: Problem | null = $derived.by(() => {
    for (const name of this.columnNames) {
      const error = this.#columns.get(name)?.error;
      if (error) return error.problem;
    }
    for (const name of this.usedDistances) {
      const error = this.#distances.get(name)?.error;
      if (error) return error.problem;
    }
    return null;
  });

  /** The state of distances whose computation takes long. */
  readonly distancesStatus: ModelJobStatus | null = $derived.by(() => {
    const states = this.usedDistances.map((name) => this.#distances.get(name)?.data?.status);
    return states.find((status) => status && isRunning(status)) ?? null;
  });

  /** Distances to a datapoint are being computed. */
  readonly isComparing: boolean = $derived.by(
    () =>
      this.distancesStatus !== null ||
      this.usedDistances.some((name) => this.#distances.get(name)?.isLoading ?? false),
  );

  readonly isLoadingColumns: boolean = $derived.by(() =>
    this.columnNames.some((name) => this.#columns.get(name)?.isLoading ?? true),
  );

  /** 1 for each row that fits the conditions; null if there are none. */
  readonly mask: Uint8Array | null = $derived.by(() => {
    const { conditions } = this.settings;
    const columns = new Map(
      conditions.value.flatMap(({ column }) => {
        const data = this.getColumn(column);
        return data ? [[column, data] as const] : [];
      }),
    );
    return makeConditionMask(conditions.value, columns, this.rows.length);
  });

  /** Return the position of a row in the columns; null if it is deleted. */
  findPosition(row: number | null): number | null {
    if (row === null) return null;
    const { rows } = this;
    let [low, high] = [0, rows.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = rows[middle] ?? 0;
      if (found === row) return middle;
      if (found < row) low = middle + 1;
      else high = middle - 1;
    }
    return null;
  }

  /** Color all datapoints by their distance to one, compared like counterfactuals. */
  addDistance(row: number): void {
    const { distances, color } = this.settings;
    const name = nameDistance({ row, metric: this.metric, by: this.comparedBy });
    distances.set([...this.distances.filter((one) => one !== name), name], 'push');
    color.set(name, 'push');
  }

  /** Compare the datapoints in another way. */
  changeDistance(name: string, column: DistanceColumn): void {
    const next = nameDistance(column);
    const { x, y, color, facetX, facetY, distances } = this.settings;
    const changed = this.distances.map((one) => (one === name ? next : one));
    distances.set([...new Set(changed)], 'push');
    for (const param of [x, y, color]) if (param.value === name) param.set(next);
    for (const param of [facetX, facetY]) if (param.value === name) param.set(next);
  }

  removeDistance(name: string): void {
    const { x, y, color, facetX, facetY, distances } = this.settings;
    for (const param of [x, y, color]) if (param.value === name) param.set(null);
    for (const param of [facetX, facetY]) if (param.value === name) param.set('');
    distances.set(
      this.distances.filter((one) => one !== name),
      'push',
    );
  }

  getModelColor(name: string): string {
    const at = this.models.findIndex((model) => model.name === name);
    return RUN_COLORS[Math.max(0, at) % RUN_COLORS.length] ?? RUN_COLORS[0] ?? '#4269d0';
  }

  // ---- changes

  selectRow(row: number | null): void {
    this.settings.row.set(row, 'push');
  }

  /** Choose the model of the views that show one. */
  selectModel(name: string): void {
    this.settings.model.set(name, 'push');
    this.resetStrategy();
  }

  /** Choose the columns whose values are slices. */
  setSliceColumns(names: readonly string[]): void {
    this.settings.sliceBy.set(names, 'push');
    this.resetStrategy();
  }

  selectSession(session: string): void {
    this.settings.session.set(session, 'push');
    this.settings.row.set(null);
    this.resetStrategy();
  }

  /** A strategy has chosen thresholds for one model, its data and slices: not for others. */
  resetStrategy(): void {
    const { strategy } = this.settings;
    this.strategyResult = null;
    if (strategy.value !== 'custom') strategy.set('custom');
  }

  /** Select the next or previous row, of the selected rows if there are some. */
  stepRow(offset: number): void {
    const { rows, selectedRows, mask } = this;
    const candidates =
      selectedRows.size > 0
        ? [...selectedRows].sort((one, other) => one - other)
        : [...(mask ? rows.filter((_, at) => mask[at]) : rows)];
    if (candidates.length === 0) return;
    const at = candidates.indexOf(this.row ?? -1);
    const next = at < 0 ? 0 : (at + offset + candidates.length) % candidates.length;
    this.selectRow(candidates[next] ?? null);
  }

  edit(change: Omit<RowEditRequest, 'session'>): Promise<RowResponse | null> {
    return this.#change((session) =>
      this.context.queries.mutate('POST what_if/edit', { ...change, session }),
    );
  }

  /** Add a feature that has a value in one row. */
  addFeature(feature: Omit<AddFeatureRequest, 'session'>): Promise<RowResponse | null> {
    return this.#change((session) =>
      this.context.queries.mutate('POST what_if/feature', { ...feature, session }),
    );
  }

  async #change(send: (session: string) => Promise<RowEditResponse>): Promise<RowResponse | null> {
    const { info } = this;
    if (!info) return null;
    this.isEditing = true;
    this.problem = null;
    this.rowProblems = [];
    try {
      const { row, problems } = await send(info.session);
      this.#invalidate();
      this.resetStrategy();
      this.rowProblems = problems;
      if (row) {
        this.context.queries.set(rowQuery, { session: info.session, row: row.row }, row);
        this.selectRow(row.row);
      } else this.selectRow(null);
      return row;
    } catch (error) {
      this.problem = toProblem(error);
      return null;
    } finally {
      this.isEditing = false;
    }
  }

  /** Use a description that a request has returned, and fetch everything that depends on it. */
  applyInfo(info: SessionInfo, mode: 'push' | 'replace' = 'push'): void {
    const others = this.sessions.filter(({ session }) => session !== info.session);
    const isOpen = others.length < this.sessions.length;
    const sessions = isOpen
      ? this.sessions.map((one) => (one.session === info.session ? info : one))
      : [...others, info];
    this.#invalidate();
    this.context.queries.set(sessionsQuery, {}, { sessions });
    this.settings.session.set(info.session, mode);
  }

  /** Open data files; return why that failed. */
  async openData(request: OpenRequest, mode: 'push' | 'replace' = 'push'): Promise<Problem | null> {
    const { queries } = this.context;
    try {
      const info = await queries.mutate('POST what_if/open', request);
      this.settings.row.set(null);
      this.resetStrategy();
      this.selectedRows = new Set();
      this.settings.file.set(request.path);
      this.settings.fileLabel.set(request.label ?? '');
      this.settings.fileScores.set(request.prediction ?? []);
      this.settings.fileTask.set(request.task ?? 'classification');
      this.settings.fileRows.set(request.max_rows ?? null);
      this.settings.fileRatio.set(request.sampling_ratio ?? 1);
      this.settings.fileClasses.set(request.class_names ?? []);
      this.settings.fileTypes.set(request.types ?? {});
      this.settings.fileInputs.set([]);
      this.settings.fileModels.set([]);
      this.applyInfo(info, mode);
      return null;
    } catch (error) {
      return toProblem(error);
    }
  }

  /** A link to a data set of a server that was restarted opens its file again. */
  async #openLinkedFile(): Promise<void> {
    const { file, fileLabel, session, row, strategy } = this.settings;
    const { fileRows, fileRatio, fileClasses, fileInputs, fileTypes } = this.settings;
    const isOpen = this.sessions.some((one) => one.session === session.value);
    if (isOpen || file.value === '' || !this.sessionsQuery.data) return;
    if (!this.context.supports('POST what_if/open')) return;
    const path = file.value;
    const label = fileLabel.value === '' ? null : fileLabel.value;
    // A link without a session comes from another dashboard; the file may be open already. One that
    // reads a part of it, or names classes, was written by hand.
    const hasOptions =
      fileRows.value !== null ||
      fileRatio.value !== 1 ||
      fileClasses.value.length > 0 ||
      fileInputs.value.length > 0 ||
      Object.keys(fileTypes.value).length > 0;
    const found =
      session.value === '' && !hasOptions
        ? this.sessions.find((one) => one.path === path && one.label === label)
        : undefined;
    if (found) {
      session.set(found.session);
      return;
    }
    if (this.#openedFile === path) return;
    this.#openedFile = path;
    const chosen = row.value;
    const chosenStrategy = strategy.value;
    // No history entry, so that Back returns to the page with the link.
    this.isOpening = true;
    const isOpened = await this.#openFile(path, label, fileTypes.value);
    this.isOpening = false;
    if (!isOpened) return;
    row.set(chosen);
    strategy.set(chosenStrategy);
  }

  /** Open a file as the link says, with its models. */
  async #openFile(path: string, label: string | null, types: ColumnTypes): Promise<boolean> {
    const { fileScores, fileTask, fileRows, fileRatio, fileClasses, fileInputs, fileModels } =
      this.settings;
    const models = fileModels.value;
    const inputs = fileInputs.value;
    const options = {
      prediction: fileScores.value,
      task: fileTask.value,
      sampling_ratio: fileRatio.value,
      class_names: fileClasses.value,
      types,
      ...(fileRows.value === null ? {} : { max_rows: fileRows.value }),
    };
    this.problem = await this.openData({ path, label, ...options }, 'replace');
    if (this.problem) return false;
    if (inputs.length > 0) this.problem = await this.configure({ label, features: [...inputs] });
    fileModels.set(models);
    for (const model of models) {
      this.connecting = model.spec.name;
      // A model that cannot be reached does not keep the others away.
      this.problem = (await this.#connectModel(model, 'replace')) ?? this.problem;
    }
    this.connecting = null;
    return true;
  }

  /** Whether columns can get other types: the file is read again, in which they are inferred. */
  readonly canChangeTypes: boolean = $derived.by(
    () =>
      this.settings.file.value !== '' &&
      this.info?.path === this.settings.file.value &&
      this.context.supports('POST what_if/open'),
  );

  /** Read the file again with other types of columns; return why that failed. */
  async changeTypes(types: ColumnTypes): Promise<Problem | null> {
    const { info, settings } = this;
    if (!info || !this.canChangeTypes) return null;
    const row = settings.row.value;
    if (!(await this.#openFile(settings.file.value, info.label, types))) {
      const { problem } = this;
      this.problem = null;
      return problem;
    }
    settings.row.set(row);
    const request = { session: info.session };
    const response = await this.context.queries
      .mutate('POST what_if/close', request)
      .catch(() => null);
    if (response) this.context.queries.set(sessionsQuery, {}, response);
    return null;
  }

  /** Connect a model, also in the link; return why that failed. */
  async addModel(model: LinkedModel): Promise<Problem | null> {
    const { file, fileModels } = this.settings;
    return this.#connectModel(model, 'push', () => {
      if (file.value !== '') fileModels.set([...fileModels.value, model], 'push');
    });
  }

  async #connectModel(
    model: LinkedModel,
    mode: 'push' | 'replace',
    link: () => void = () => undefined,
  ): Promise<Problem | null> {
    const { info } = this;
    if (!info) return null;
    try {
      const request = { ...model, session: info.session };
      const next = await this.context.queries.mutate('POST what_if/models', request);
      link();
      this.applyInfo(next, mode);
      return null;
    } catch (error) {
      return toProblem(error);
    }
  }

  /** The last file that was opened by a link, so that a failure is not repeated. */
  #openedFile: string | null = null;

  /** Columns of conditions that the data does not have. */
  readonly unknownColumns: readonly string[] = $derived.by(() => {
    const { info } = this;
    if (!info) return [];
    const known = new Set(info.columns.map(({ name }) => name));
    const wanted = new Set(this.settings.conditions.value.map(({ column }) => column));
    return [...wanted].filter((name) => !known.has(name));
  });

  async closeSession(session: string): Promise<void> {
    try {
      const response = await this.context.queries.mutate('POST what_if/close', { session });
      this.context.queries.set(sessionsQuery, {}, response);
      this.settings.session.set('');
      this.settings.file.set('');
      this.settings.fileModels.set([]);
      this.settings.row.set(null);
      this.resetStrategy();
    } catch (error) {
      this.problem = toProblem(error);
    }
  }

  /** Save the chosen rows, or those that fit the conditions, under a name; return why it failed. */
  async saveSlice(name: string): Promise<Problem | null> {
    const { info, selectedRows, mask, rows } = this;
    if (!info) return null;
    const chosen = selectedRows.size > 0 ? selectedRows : rows.filter((_, at) => mask?.[at]);
    const inside = new Uint8Array(info.row_count);
    for (const row of chosen) inside[row] = 1;
    try {
      this.applyInfo(
        await this.context.queries.mutate('POST what_if/slice', {
          session: info.session,
          name,
          row_bits: encodeMask(inside),
        }),
      );
      return null;
    } catch (error) {
      return toProblem(error);
    }
  }

  async removeSlice(name: string): Promise<void> {
    const { info } = this;
    if (!info) return;
    try {
      const request = { session: info.session, name };
      this.applyInfo(await this.context.queries.mutate('DELETE what_if/slice', request));
    } catch (error) {
      this.problem = toProblem(error);
    }
  }

  /** Change the label, and inputs and class names if given; return why that failed. */
  async configure(change: Omit<ConfigureRequest, 'session'>): Promise<Problem | null> {
    const { info, settings } = this;
    if (!info) return null;
    try {
      const request = { ...change, session: info.session };
      const next = await this.context.queries.mutate('POST what_if/configure', request);
      // Models that get other inputs have no predictions any more.
      this.#attempted.clear();
      this.resetStrategy();
      if (settings.file.value !== '') {
        settings.fileLabel.set(next.label ?? '');
        if (change.features) settings.fileInputs.set(change.features);
        const classifier = next.models.find(({ task }) => task === 'classification');
        if (change.class_names ?? change.classes_path)
          settings.fileClasses.set(classifier?.class_names ?? change.class_names ?? []);
      }
      this.applyInfo(next);
      return null;
    } catch (error) {
      return toProblem(error);
    }
  }

  async setLabel(label: string | null): Promise<void> {
    this.problem = await this.configure({ label });
  }

  async removeModel(model: string): Promise<void> {
    const { info } = this;
    if (!info) return;
    try {
      const request = { session: info.session, model };
      const { fileModels } = this.settings;
      fileModels.set(fileModels.value.filter(({ spec }) => spec.name !== model));
      this.applyInfo(await this.context.queries.mutate('DELETE what_if/models', request));
      this.resetStrategy();
    } catch (error) {
      this.problem = toProblem(error);
    }
  }

  /** Predict all rows with the models that have not done so. */
  retryPrediction(): void {
    this.#attempted.clear();
    this.#predictNext(this.info);
  }

  #predictNext(info: SessionInfo | null): void {
    if (!info || !this.context.supports('POST what_if/predict')) return;
    const { session } = info;
    const next = info.models.find(
      ({ name, is_predicted: isPredicted }) =>
        !isPredicted && !this.#attempted.has(`${session}/${name}`),
    );
    if (!next || this.prediction.isRunning) return;
    this.#attempted.add(`${session}/${next.name}`);
    void this.prediction.run('POST what_if/predict', { session, model: next.name });
  }

  #invalidate(): void {
    for (const definition of VERSIONED_QUERIES) this.context.queries.invalidate(definition);
  }
}

/** Numbers such as 0 and 1 are slices of their own. */
function hasFewValues({ type, minimum, maximum }: DataColumnInfo): boolean {
  return type !== 'float' && minimum !== null && maximum !== null && maximum - minimum < 2;
}

export function isNumeric({ type }: Pick<DataColumnInfo, 'type'>): boolean {
  return type === 'integer' || type === 'float' || type === 'boolean';
}

export const [getWhatIf, setWhatIf] = createContext<WhatIfState>();
