import * as codec from '../../../base/codec';
import { type Orbit, orbitCodec } from '../../../charts/space/orbit';
import type { Context } from '../../../plugin/context';

export const METHODS = ['pca', 'tsne', 'umap', 'custom'] as const;
export type Method = (typeof METHODS)[number];
export const METRICS = ['euclidean', 'cosine', 'dot'] as const;
export type Metric = (typeof METRICS)[number];
export const DRAWINGS = ['auto', 'points', 'pictures', 'labels'] as const;
export const SCALES = ['auto', 'categories', 'gradient', 'diverging'] as const;
export const SWITCHES = ['auto', 'on', 'off'] as const;
export const TOOLS = ['move', 'box', 'lasso'] as const;
export type Tool = (typeof TOOLS)[number];

/** The ends of an axis that somebody chose, as texts to search for. */
export interface Axis {
  readonly from: string;
  readonly to: string;
}

export const NO_AXES: readonly Axis[] = [
  { from: '', to: '' },
  { from: '', to: '' },
  { from: '', to: '' },
];

function isAxes(value: unknown): value is readonly Axis[] {
  const isAxis = (axis: unknown): boolean =>
    typeof axis === 'object' && axis !== null && 'from' in axis && 'to' in axis;
  return Array.isArray(value) && value.length === 3 && value.every(isAxis);
}

const switchOf = codec.choice(SWITCHES, 'auto');

export type Params = ReturnType<typeof openParams>;

/** All that decides what is seen, and how layouts are made. */
export function openParams({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    embedding: address.param('vectors', codec.text, ''),
    /** Which of its versions; null: the last. */
    version: address.param('at', codec.optionalNumber, null),
    /** What it is compared with, and how far points are on their way there. */
    other: address.param('with', codec.text, ''),
    otherVersion: address.param('with-at', codec.optionalNumber, null),
    /** The column that says which points are the same; empty for what suits, null for none. */
    otherBy: address.param('with-by', codec.optionalText, ''),
    way: address.param('way', codec.number(0), 0),

    method: address.param('method', codec.choice(METHODS, 'pca'), 'pca'),
    dimensions: address.param('dims', codec.choice(['auto', '2', '3'], 'auto'), 'auto'),
    components: address.param('components', codec.list, []),
    spherize: address.param('spherize', switchOf, 'auto'),
    seed: address.param('seed', codec.number(0), 0),
    metric: address.param('metric', codec.choice(METRICS, 'euclidean'), 'euclidean'),
    perplexity: address.param('perplexity', codec.number(30), 30),
    iterations: address.param('iterations', codec.number(750), 750),
    learningRate: address.param('rate', codec.optionalNumber, null),
    exaggeration: address.param('exaggeration', codec.number(12), 12),
    neighbours: address.param('neighbours', codec.number(15), 15),
    minDist: address.param('min-dist', codec.number(0.1), 0.1),
    epochs: address.param('epochs', codec.optionalNumber, null),
    supervise: address.param('supervise', codec.optionalText, null),
    pull: address.param('pull', codec.number(0.5), 0.5),
    axes: address.param('axes', codec.json(isAxes, NO_AXES), NO_AXES),
    axesColumn: address.param('axes-by', codec.optionalText, null),
    axesRegex: address.param('axes-regex', codec.flag, false),

    /** Columns; empty for what suits, null for none. */
    colour: address.param('paint', codec.optionalText, ''),
    scale: address.param('scale', codec.choice(SCALES, 'auto'), 'auto'),
    /** Values of that column whose points are not seen. */
    off: address.param('off', codec.list, []),
    label: address.param('label', codec.optionalText, ''),
    size: address.param('size', codec.optionalText, null),
    draw: address.param('draw', codec.choice(DRAWINGS, 'auto'), 'auto'),
    density: address.param('density', switchOf, 'auto'),
    pointSize: address.param('dot', codec.optionalNumber, null),

    query: address.param('find', codec.text, ''),
    regex: address.param('regex', codec.flag, false),
    column: address.param('find-in', codec.optionalText, null),

    /** The point that is looked at, and how its neighbours are told. */
    point: address.param('point', codec.optionalNumber, null),
    near: address.param('near', codec.choice(METRICS, 'cosine'), 'cosine'),
    count: address.param('near-count', codec.number(20), 20),

    /** Rows, as long as they are few. */
    chosen: address.param('chosen', codec.text, ''),
    only: address.param('only', codec.text, ''),
    hidden: address.param('hidden', codec.text, ''),

    orbit: address.param<Orbit | null>('eye', orbitCodec, null),
    /** On a phone it would cover half of the picture. */
    panel: tastes.param('projector-panel', codec.flag, innerWidth > 900),
  };
}
