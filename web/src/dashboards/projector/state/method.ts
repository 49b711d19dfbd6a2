import { encodeMask, type Mask } from '../data/rows';
import type { Params } from './params';

export const METHOD_NAMES = { pca: 'PCA', tsne: 't-SNE', umap: 'UMAP', custom: 'Axes' } as const;

/** With more points these take so long that somebody has to ask for them. */
const MANY = { pca: Infinity, custom: Infinity, tsne: 20_000, umap: 50_000 } as const;

export function isLong(params: Params, rows: number): boolean {
  return rows > MANY[params.method.value];
}

export function dimensionsOf({ dimensions, method, axes }: Params): 2 | 3 {
  if (dimensions.value !== 'auto') return dimensions.value === '3' ? 3 : 2;
  if (method.value === 'custom') return isWhole(axes.value[2]) ? 3 : 2;
  return method.value === 'pca' ? 3 : 2;
}

/** The components of PCA that are looked at. */
export function componentsOf(params: Params): number[] {
  const usual = [0, 1, 2];
  const chosen = usual.map((axis) => parseInt(params.components.value[axis] ?? '', 10));
  return usual
    .slice(0, dimensionsOf(params))
    .map((axis) => (Number.isInteger(chosen[axis]) ? (chosen[axis] ?? axis) : axis));
}

/** How a layout is asked for; null where there is something left to choose. */
export function methodOf(params: Params): Readonly<Record<string, unknown>> | null {
  const dimensions = dimensionsOf(params);
  const metric = params.metric.value;
  const supervise = params.supervise.value;
  const pull = supervise === null ? 0 : params.pull.value;
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
        neighbours: params.neighbours.value,
        min_dist: params.minDist.value,
        epochs: params.epochs.value,
      };
    case 'custom':
      return customOf(params, dimensions);
  }
}

function customOf(params: Params, dimensions: 2 | 3): Readonly<Record<string, unknown>> | null {
  const { axes, axesColumn, axesRegex } = params;
  const wanted = axes.value.slice(0, dimensions);
  if (!wanted.every(isWhole)) return null;
  const end = (query: string) => ({ query, regex: axesRegex.value, column: axesColumn.value });
  return { type: 'custom', axes: wanted.map(({ from, to }) => ({ from: end(from), to: end(to) })) };
}

const isWhole = (axis: { from: string; to: string } | undefined): boolean =>
  axis !== undefined && axis.from.trim() !== '' && axis.to.trim() !== '';

/** What all layouts of one picture have in common, whatever version they are of. */
export function askOf(params: Params, spherizes: boolean, only: Mask | null) {
  const method = methodOf(params);
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

export type LayoutAsk = NonNullable<ReturnType<typeof askOf>>;
