import type {
  AxisEndInput,
  DistanceMetric,
  ProjectionMethodInput,
  ProjectionRequest,
} from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/projector';
import { type Orbit, orbitCodec } from '../../charts/webgl/orbit-camera';
import { type SortOrder, sortOrderCodec } from '../../components/data-table';
import type { SelectOption } from '../../components/options';
import * as codec from '../../lib/codecs';
import type { Context, Param } from '../../plugin/context';
import { isColumnFilters, NO_FILTERS } from './label-columns';
import { encodeMask, type RowMask } from './row-mask';

export const PROJECTION_METHODS = ['pca', 'tsne', 'umap', 'custom'] as const;
export type ProjectionMethodName = (typeof PROJECTION_METHODS)[number];
const DISTANCE_METRICS = ['euclidean', 'cosine', 'dot'] as const satisfies DistanceMetric[];
const POINT_STYLES = ['auto', 'points', 'pictures', 'labels'] as const;
const COLOR_SCALES = ['auto', 'categories', 'gradient', 'diverging'] as const;
const AUTO_SWITCHES = ['auto', 'on', 'off'] as const;
const TABLE_SCOPES = ['visible', 'selected', 'matches'] as const;
export type TableScope = (typeof TABLE_SCOPES)[number];
export const DRAG_TOOLS = ['move', 'box', 'lasso'] as const;
export type DragTool = (typeof DRAG_TOOLS)[number];

/** A custom axis: searches for the points at its ends. */
export interface CustomAxisQuery {
  readonly from: string;
  readonly to: string;
}

export const NO_AXES: readonly CustomAxisQuery[] = [
  { from: '', to: '' },
  { from: '', to: '' },
  { from: '', to: '' },
];

function isAxes(value: unknown): value is readonly CustomAxisQuery[] {
  const isAxis = (axis: Partial<CustomAxisQuery> | null): boolean =>
    typeof axis?.from === 'string' && typeof axis.to === 'string';
  return Array.isArray(value) && value.length === 3 && value.every(isAxis);
}

const optionalSortOrder: codec.Codec<SortOrder | null> = {
  parse: (text) => (text === '' ? null : sortOrderCodec.parse(text)),
  format: (order) => (order ? sortOrderCodec.format(order) : ''),
};

const autoSwitchCodec = codec.choice(AUTO_SWITCHES, 'auto');

/** The names of the parameters in URLs and in saved views. */
export const PARAM_NAMES = {
  embedding: 'embedding',
  version: 'version',
  other: 'compare',
  otherVersion: 'compare-version',
  moreOthers: 'compare-more',
  otherBy: 'compare-key',
  comparisonProgress: 'compare-progress',
  method: 'method',
  dimensions: 'dimensions',
  components: 'components',
  spherize: 'spherize',
  seed: 'seed',
  metric: 'metric',
  perplexity: 'perplexity',
  iterations: 'iterations',
  learningRate: 'learning-rate',
  exaggeration: 'exaggeration',
  neighbors: 'neighbors',
  minDist: 'min-dist',
  epochs: 'epochs',
  supervise: 'supervise',
  supervisionWeight: 'supervision-weight',
  axes: 'axes',
  axesColumn: 'axes-column',
  axesRegex: 'axes-regex',
  colorBy: 'color-by',
  colorScale: 'color-scale',
  hiddenValues: 'hidden-values',
  labelBy: 'label-by',
  sizeBy: 'size-by',
  pointStyle: 'point-style',
  density: 'density',
  pointSize: 'point-size',
  query: 'search',
  regex: 'search-regex',
  column: 'search-column',
  point: 'point',
  neighborMetric: 'neighbor-metric',
  neighborCount: 'neighbor-count',
  clusters: 'clusters',
  selectedRows: 'selected-points',
  isolatedRows: 'isolated-points',
  hiddenRows: 'hidden-points',
  filters: 'filters',
  tableSort: 'table-sort',
  tableScope: 'table-rows',
  regions: 'regions',
  comparisonView: 'compare-view',
  similarText: 'similar-text',
  similarSource: 'similar-source',
  orbit: 'orbit',
} as const;

export type ProjectorParamName = keyof typeof PARAM_NAMES;
export type ProjectorParams = ReturnType<typeof createProjectorParams>;

/** Create the parameters that decide what is shown and how layouts are computed. */
export function createProjectorParams({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  const param = <Value>(
    name: ProjectorParamName,
    valueCodec: codec.Codec<Value>,
    fallback: Value,
  ): Param<Value> => url.param(PARAM_NAMES[name], valueCodec, fallback);
  return {
    embedding: param('embedding', codec.text, ''),
    /** Null for the last version. */
    version: param('version', codec.optionalNumber, null),
    /** The compared embedding. */
    other: param('other', codec.text, ''),
    otherVersion: param('otherVersion', codec.optionalNumber, null),
    /** Further embeddings, which are shown side by side with the compared one. */
    moreOthers: param('moreOthers', codec.list, []),
    /** The column that identifies points; empty for automatic, null for the row number. */
    otherBy: param('otherBy', codec.optionalText, ''),
    comparisonProgress: param('comparisonProgress', codec.number(0), 0),

    method: param('method', codec.choice(PROJECTION_METHODS, 'pca'), 'pca'),
    dimensions: param('dimensions', codec.choice(['auto', '2', '3'], 'auto'), 'auto'),
    components: param('components', codec.list, []),
    spherize: param('spherize', autoSwitchCodec, 'auto'),
    seed: param('seed', codec.number(0), 0),
    metric: param('metric', codec.choice(DISTANCE_METRICS, 'euclidean'), 'euclidean'),
    perplexity: param('perplexity', codec.number(30), 30),
    iterations: param('iterations', codec.number(750), 750),
    learningRate: param('learningRate', codec.optionalNumber, null),
    exaggeration: param('exaggeration', codec.number(12), 12),
    neighbors: param('neighbors', codec.number(15), 15),
    minDist: param('minDist', codec.number(0.1), 0.1),
    epochs: param('epochs', codec.optionalNumber, null),
    supervise: param('supervise', codec.optionalText, null),
    supervisionWeight: param('supervisionWeight', codec.number(0.5), 0.5),
    axes: param('axes', codec.json(isAxes, NO_AXES), NO_AXES),
    axesColumn: param('axesColumn', codec.optionalText, null),
    axesRegex: param('axesRegex', codec.flag, false),

    /** Columns; empty for automatic, null for none. */
    colorBy: param('colorBy', codec.optionalText, ''),
    colorScale: param('colorScale', codec.choice(COLOR_SCALES, 'auto'), 'auto'),
    /** Values of the color column whose points are hidden. */
    hiddenValues: param('hiddenValues', codec.list, []),
    labelBy: param('labelBy', codec.optionalText, ''),
    sizeBy: param('sizeBy', codec.optionalText, null),
    pointStyle: param('pointStyle', codec.choice(POINT_STYLES, 'auto'), 'auto'),
    density: param('density', autoSwitchCodec, 'auto'),
    pointSize: param('pointSize', codec.optionalNumber, null),

    query: param('query', codec.text, ''),
    regex: param('regex', codec.flag, false),
    column: param('column', codec.optionalText, null),

    /** The inspected point and its neighbors. */
    point: param('point', codec.optionalNumber, null),
    neighborMetric: param('neighborMetric', codec.choice(DISTANCE_METRICS, 'cosine'), 'cosine'),
    neighborCount: param('neighborCount', codec.number(20), 20),

    /** The job that computed the clusters. */
    clusters: param('clusters', codec.text, ''),
    /** Rows, see `PointSelection`. */
    selectedRows: param('selectedRows', codec.text, ''),
    isolatedRows: param('isolatedRows', codec.text, ''),
    hiddenRows: param('hiddenRows', codec.text, ''),
    /** Filters by column. */
    filters: param('filters', codec.json(isColumnFilters, NO_FILTERS), NO_FILTERS),
    /** The column that the table is sorted by; null for the row number. */
    tableSort: param<SortOrder | null>('tableSort', optionalSortOrder, null),
    tableScope: param('tableScope', codec.choice(TABLE_SCOPES, 'visible'), 'visible'),
    /** Names of dense regions. */
    regions: param('regions', autoSwitchCodec, 'auto'),
    /** Show the compared embedding beside this one, instead of moving the points. */
    comparisonView: param('comparisonView', codec.flag, false),

    /** A text whose vector points are compared with, and the embedding that has it. */
    similarText: param('similarText', codec.text, ''),
    similarSource: param('similarSource', codec.text, ''),

    orbit: param<Orbit | null>('orbit', orbitCodec, null),
    table: preferences.param('projector-table', codec.flag, false),
    /** On a phone the panel would cover half of the points. */
    panel: preferences.param('projector-panel', codec.flag, innerWidth > 900),
  };
}

// ---- Labels of options

export const METHOD_LABELS: Readonly<Record<ProjectionMethodName, string>> = {
  pca: m.methodPca,
  tsne: m.methodTsne,
  umap: m.methodUmap,
  custom: m.methodCustom,
};

export const METRIC_OPTIONS: readonly SelectOption<DistanceMetric>[] = [
  { value: 'euclidean', label: m.metricEuclidean },
  { value: 'cosine', label: m.metricCosine },
  { value: 'dot', label: m.metricDot },
];

export const POINT_STYLE_OPTIONS: readonly SelectOption<(typeof POINT_STYLES)[number]>[] = [
  { value: 'auto', label: common.automatic },
  { value: 'points', label: common.points },
  { value: 'pictures', label: common.images },
  { value: 'labels', label: m.styleLabels },
];

export const COLOR_SCALE_OPTIONS: readonly SelectOption<(typeof COLOR_SCALES)[number]>[] = [
  { value: 'auto', label: common.automatic },
  { value: 'categories', label: m.colorScaleCategories },
  { value: 'gradient', label: m.colorScaleGradient },
  { value: 'diverging', label: m.colorScaleDiverging },
];

export const AUTO_SWITCH_OPTIONS: readonly SelectOption<(typeof AUTO_SWITCHES)[number]>[] = [
  { value: 'auto', label: common.automatic },
  { value: 'on', label: common.on },
  { value: 'off', label: common.off },
];

export const AXIS_NAMES = [m.axisX, m.axisY, m.axisZ] as const;

/** Value of the option for no column, or for any column. */
export const NO_COLUMN = '';

/** Return the columns as options, after one for none or all of them. */
export function listColumnOptions(
  columns: readonly { readonly name: string }[],
  noneLabel: string,
): SelectOption<string>[] {
  const options = columns.map(({ name }) => ({ value: name, label: name }));
  return [{ value: NO_COLUMN, label: noneLabel }, ...options];
}

// ---- Requests

/** Larger layouts are computed only on request. */
const CONFIRM_ABOVE_ROWS = { pca: Infinity, custom: Infinity, tsne: 20_000, umap: 50_000 } as const;

export function needsConfirmation(params: ProjectorParams, rows: number): boolean {
  return rows > CONFIRM_ABOVE_ROWS[params.method.value];
}

/** More points are drawn as tiles, which the server computes. */
export const TILED_ABOVE_ROWS = 2_000_000;

export function getOutputDimensions({ dimensions, method, axes }: ProjectorParams): 2 | 3 {
  if (dimensions.value !== 'auto') return dimensions.value === '3' ? 3 : 2;
  if (method.value === 'custom') return isCompleteAxis(axes.value[2]) ? 3 : 2;
  return method.value === 'pca' ? 3 : 2;
}

/** The PCA components that are shown along the axes. */
export function getPcaComponents(params: ProjectorParams): number[] {
  return [0, 1, 2].slice(0, getOutputDimensions(params)).map((axis) => {
    const component = parseInt(params.components.value[axis] ?? '', 10);
    return Number.isInteger(component) ? component : axis;
  });
}

/** Return the method with its settings; null if some are missing. */
function buildMethod(params: ProjectorParams): ProjectionMethodInput | null {
  const dimensions = getOutputDimensions(params);
  const supervise = params.supervise.value;
  const shared = {
    dimensions,
    metric: params.metric.value,
    supervise_column: supervise,
    supervise_factor: supervise === null ? 0 : params.supervisionWeight.value,
  };
  switch (params.method.value) {
    case 'pca':
      return { type: 'pca', components: 10 };
    case 'tsne':
      return {
        type: 'tsne',
        ...shared,
        perplexity: params.perplexity.value,
        iterations: params.iterations.value,
        learning_rate: params.learningRate.value,
        early_exaggeration: params.exaggeration.value,
      };
    case 'umap':
      return {
        type: 'umap',
        ...shared,
        n_neighbors: params.neighbors.value,
        min_dist: params.minDist.value,
        epochs: params.epochs.value,
      };
    case 'custom':
      return buildCustomAxes(params, dimensions);
  }
}

function buildCustomAxes(
  { axes, axesColumn, axesRegex }: ProjectorParams,
  dimensions: 2 | 3,
): ProjectionMethodInput | null {
  const shown = axes.value.slice(0, dimensions);
  if (!shown.every(isCompleteAxis)) return null;
  const makeEnd = (query: string): AxisEndInput => ({
    query,
    regex: axesRegex.value,
    column: axesColumn.value,
  });
  return {
    type: 'custom',
    axes: shown.map(({ from, to }) => ({ from: makeEnd(from), to: makeEnd(to) })),
  };
}

const isCompleteAxis = (axis: CustomAxisQuery | undefined): boolean =>
  axis !== undefined && axis.from.trim() !== '' && axis.to.trim() !== '';

/** The part of a request for a layout that does not name the embedding. */
export type ProjectionRequestFields = Pick<
  ProjectionRequest,
  'method' | 'rows' | 'spherize' | 'seed'
>;

export function buildProjectionRequest(
  params: ProjectorParams,
  spherize: boolean,
  rows: RowMask | null,
): ProjectionRequestFields | null {
  const method = buildMethod(params);
  return method && { method, rows: encodeMask(rows), spherize, seed: params.seed.value };
}
