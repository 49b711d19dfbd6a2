import { type Orbit, orbitCodec } from '../../charts/webgl/orbit-camera';
import * as codec from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import { encodeMask, type RowMask } from './row-mask';

export const PROJECTION_METHODS = ['pca', 'tsne', 'umap', 'custom'] as const;
export type ProjectionMethodName = (typeof PROJECTION_METHODS)[number];
export const DISTANCE_METRICS = ['euclidean', 'cosine', 'dot'] as const;
export type DistanceMetric = (typeof DISTANCE_METRICS)[number];
export const POINT_STYLES = ['auto', 'points', 'pictures', 'labels'] as const;
export const COLOR_SCALES = ['auto', 'categories', 'gradient', 'diverging'] as const;
export const AUTO_SWITCHES = ['auto', 'on', 'off'] as const;
export const DRAG_TOOLS = ['move', 'box', 'lasso'] as const;
export type DragTool = (typeof DRAG_TOOLS)[number];

/** The ends of an axis that somebody chose, as texts to search for. */
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
  const isAxis = (axis: unknown): boolean =>
    typeof axis === 'object' && axis !== null && 'from' in axis && 'to' in axis;
  return Array.isArray(value) && value.length === 3 && value.every(isAxis);
}

const autoSwitchCodec = codec.choice(AUTO_SWITCHES, 'auto');

export type ProjectorParams = ReturnType<typeof createProjectorParams>;

/** All that decides what is seen, and how layouts are made. */
export function createProjectorParams({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    embedding: url.param('vectors', codec.text, ''),
    /** Which of its versions; null: the last. */
    version: url.param('at', codec.optionalNumber, null),
    /** What it is compared with, and how far points are on their way there. */
    other: url.param('with', codec.text, ''),
    otherVersion: url.param('with-at', codec.optionalNumber, null),
    /** The column that says which points are the same; empty for what suits, null for none. */
    otherBy: url.param('with-by', codec.optionalText, ''),
    comparisonProgress: url.param('way', codec.number(0), 0),

    method: url.param('method', codec.choice(PROJECTION_METHODS, 'pca'), 'pca'),
    dimensions: url.param('dims', codec.choice(['auto', '2', '3'], 'auto'), 'auto'),
    components: url.param('components', codec.list, []),
    spherize: url.param('spherize', autoSwitchCodec, 'auto'),
    seed: url.param('seed', codec.number(0), 0),
    metric: url.param('metric', codec.choice(DISTANCE_METRICS, 'euclidean'), 'euclidean'),
    perplexity: url.param('perplexity', codec.number(30), 30),
    iterations: url.param('iterations', codec.number(750), 750),
    learningRate: url.param('rate', codec.optionalNumber, null),
    exaggeration: url.param('exaggeration', codec.number(12), 12),
    neighbors: url.param('neighbours', codec.number(15), 15),
    minDist: url.param('min-dist', codec.number(0.1), 0.1),
    epochs: url.param('epochs', codec.optionalNumber, null),
    supervise: url.param('supervise', codec.optionalText, null),
    supervisionWeight: url.param('pull', codec.number(0.5), 0.5),
    axes: url.param('axes', codec.json(isAxes, NO_AXES), NO_AXES),
    axesColumn: url.param('axes-by', codec.optionalText, null),
    axesRegex: url.param('axes-regex', codec.flag, false),

    /** Columns; empty for what suits, null for none. */
    colorBy: url.param('paint', codec.optionalText, ''),
    colorScale: url.param('scale', codec.choice(COLOR_SCALES, 'auto'), 'auto'),
    /** Values of that column whose points are not seen. */
    hiddenValues: url.param('off', codec.list, []),
    labelBy: url.param('label', codec.optionalText, ''),
    sizeBy: url.param('size', codec.optionalText, null),
    pointStyle: url.param('draw', codec.choice(POINT_STYLES, 'auto'), 'auto'),
    density: url.param('density', autoSwitchCodec, 'auto'),
    pointSize: url.param('dot', codec.optionalNumber, null),

    query: url.param('find', codec.text, ''),
    regex: url.param('regex', codec.flag, false),
    column: url.param('find-in', codec.optionalText, null),

    /** The point that is looked at, and how its neighbours are told. */
    point: url.param('point', codec.optionalNumber, null),
    neighborMetric: url.param('near', codec.choice(DISTANCE_METRICS, 'cosine'), 'cosine'),
    neighborCount: url.param('near-count', codec.number(20), 20),

    /** Rows, as long as they are few. */
    selectedRows: url.param('chosen', codec.text, ''),
    isolatedRows: url.param('only', codec.text, ''),
    hiddenRows: url.param('hidden', codec.text, ''),

    orbit: url.param<Orbit | null>('eye', orbitCodec, null),
    /** On a phone it would cover half of the picture. */
    panel: preferences.param('projector-panel', codec.flag, innerWidth > 900),
  };
}

export const METHOD_LABELS = { pca: 'PCA', tsne: 't-SNE', umap: 'UMAP', custom: 'Axes' } as const;

/** With more points these take so long that somebody has to ask for them. */
const CONFIRM_ABOVE_ROWS = { pca: Infinity, custom: Infinity, tsne: 20_000, umap: 50_000 } as const;

export function needsConfirmation(params: ProjectorParams, rows: number): boolean {
  return rows > CONFIRM_ABOVE_ROWS[params.method.value];
}

export function outputDimensions({ dimensions, method, axes }: ProjectorParams): 2 | 3 {
  if (dimensions.value !== 'auto') return dimensions.value === '3' ? 3 : 2;
  if (method.value === 'custom') return isCompleteAxis(axes.value[2]) ? 3 : 2;
  return method.value === 'pca' ? 3 : 2;
}

/** The components of PCA that are looked at. */
export function pcaComponents(params: ProjectorParams): number[] {
  const usual = [0, 1, 2];
  const chosen = usual.map((axis) => parseInt(params.components.value[axis] ?? '', 10));
  return usual
    .slice(0, outputDimensions(params))
    .map((axis) => (Number.isInteger(chosen[axis]) ? (chosen[axis] ?? axis) : axis));
}

/** How a layout is asked for; null where there is something left to choose. */
export function buildMethod(params: ProjectorParams): Readonly<Record<string, unknown>> | null {
  const dimensions = outputDimensions(params);
  const metric = params.metric.value;
  const supervise = params.supervise.value;
  const pull = supervise === null ? 0 : params.supervisionWeight.value;
  switch (params.method.value) {
    case 'pca':
      return { type: 'pca', components: 10 };
    case 'tsne':
      return {
        ...{ type: 'tsne', dimensions, metric, supervise, pull },
        perplexity: params.perplexity.value,
        iterations: params.iterations.value,
        learning_rate: params.learningRate.value,
        early_exaggeration: params.exaggeration.value,
      };
    case 'umap':
      return {
        ...{ type: 'umap', dimensions, metric, supervise, pull },
        neighbours: params.neighbors.value,
        min_dist: params.minDist.value,
        epochs: params.epochs.value,
      };
    case 'custom':
      return buildCustomAxes(params, dimensions);
  }
}

function buildCustomAxes(
  params: ProjectorParams,
  dimensions: 2 | 3,
): Readonly<Record<string, unknown>> | null {
  const { axes, axesColumn, axesRegex } = params;
  const wanted = axes.value.slice(0, dimensions);
  if (!wanted.every(isCompleteAxis)) return null;
  const end = (query: string) => ({ query, regex: axesRegex.value, column: axesColumn.value });
  return { type: 'custom', axes: wanted.map(({ from, to }) => ({ from: end(from), to: end(to) })) };
}

const isCompleteAxis = (axis: { from: string; to: string } | undefined): boolean =>
  axis !== undefined && axis.from.trim() !== '' && axis.to.trim() !== '';

/** What all layouts of one picture have in common, whatever version they are of. */
export function buildProjectionRequest(
  params: ProjectorParams,
  spherizes: boolean,
  only: RowMask | null,
) {
  const method = buildMethod(params);
  const { spherize, seed } = params;
  return (
    method && {
      method,
      rows: encodeMask(only),
      spherize: spherize.value === 'auto' ? spherizes : spherize.value === 'on',
      seed: seed.value,
    }
  );
}

export type ProjectionRequestFields = NonNullable<ReturnType<typeof buildProjectionRequest>>;
