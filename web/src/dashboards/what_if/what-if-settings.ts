import type { AddModelRequest, Measure, Metric, Strategy, Task } from '../../api/schemas';
import * as m from '../../catalog/what_if';
import { sortOrderCodec } from '../../components/data-table';
import {
  choice,
  flag,
  json,
  list,
  number,
  optionalNumber,
  optionalText,
  text,
} from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import { type BinRules, type Condition, isBinRules, isConditions } from './slices';
import { type Palette, PALETTES } from './datapoints/datapoint-colors';

export const WHAT_IF_VIEWS = [
  'datapoints',
  'performance',
  'dependence',
  'features',
  'compare',
  'attributions',
] as const;
export type WhatIfView = (typeof WHAT_IF_VIEWS)[number];

const METRICS: readonly Metric[] = ['l1', 'l2', 'cosine', 'custom'];

export const STRATEGIES = [
  'custom',
  'single',
  'group',
  'demographic_parity',
  'equal_opportunity',
  'equal_accuracy',
  'predictive_parity',
  'equalized_odds',
  'bounded_gap',
] as const satisfies readonly (Strategy | 'custom')[];
export type StrategyChoice = (typeof STRATEGIES)[number];

export const MEASURES: readonly Measure[] = [
  'positive_rate',
  'true_positive_rate',
  'false_positive_rate',
  'accuracy',
  'precision',
];

/** Thresholds by slice. */
export type Thresholds = Readonly<Record<string, number>>;

function isThresholds(value: unknown): value is Thresholds {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'number' && one >= 0 && one <= 1)
  );
}

/** Thresholds by model and slice. */
type ModelThresholds = Readonly<Record<string, Thresholds>>;

function isModelThresholds(value: unknown): value is ModelThresholds {
  return typeof value === 'object' && value !== null && Object.values(value).every(isThresholds);
}

/** Types by column. */
export type ColumnTypes = Readonly<Record<string, string>>;

function isColumnTypes(value: unknown): value is ColumnTypes {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string')
  );
}

/** Numbers by feature. */
type Weights = Readonly<Record<string, number>>;

function isWeights(value: unknown): value is Weights {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'number' && one >= 0)
  );
}

/** A model in a link: the request that adds it. */
export type LinkedModel = Omit<AddModelRequest, 'session'>;

/** The server checks everything else. */
function isLinkedModels(value: unknown): value is readonly LinkedModel[] {
  return (
    Array.isArray(value) &&
    value.every(
      (one: unknown) =>
        typeof one === 'object' &&
        one !== null &&
        'spec' in one &&
        typeof one.spec === 'object' &&
        one.spec !== null &&
        'name' in one.spec &&
        typeof one.spec.name === 'string',
    )
  );
}

/** Dependence of all classes in one chart; no class has this name. */
export const ALL_CLASSES = ' all';

/** Over how many datapoints partial dependence is averaged. */
export const DEFAULT_SAMPLE = 1000;

/** Into how many parts a facet divides a column. */
export const DEFAULT_BUCKETS = 10;

const NO_MODELS: readonly LinkedModel[] = [];
const NO_BINS: BinRules = {};
const NO_TYPES: ColumnTypes = {};
const NO_WEIGHTS: Weights = {};
const NO_THRESHOLDS: ModelThresholds = {};
const NO_CONDITIONS: readonly Condition[] = [];

export type WhatIfSettings = ReturnType<typeof makeWhatIfSettings>;

/** Everything that decides what is shown is in the URL. */
export function makeWhatIfSettings({ url, preferences }: Context) {
  return {
    view: url.param<WhatIfView>('wi', choice(WHAT_IF_VIEWS, 'datapoints'), 'datapoints'),
    session: url.param('wi-data', text, ''),
    /** The file of the data set and its label, so that a link opens it again. */
    file: url.param('wi-file', text, ''),
    fileLabel: url.param('wi-file-label', text, ''),
    /** Its columns with scores, and what they predict. */
    fileScores: url.param('wi-file-scores', list, []),
    fileTask: url.param<Task>(
      'wi-file-task',
      choice(['classification', 'regression'], 'classification'),
      'classification',
    ),
    /** Models that are added when a link opens the file. */
    fileModels: url.param('wi-models', json(isLinkedModels, NO_MODELS), NO_MODELS),
    /** Its limits, and the names of the classes. */
    fileRows: url.param('wi-file-rows', optionalNumber, null),
    fileRatio: url.param('wi-file-ratio', number(1), 1),
    fileClasses: url.param('wi-file-classes', list, []),
    /** Types of columns in place of the inferred ones. */
    fileTypes: url.param('wi-file-types', json(isColumnTypes, NO_TYPES), NO_TYPES),
    /** The columns that models get; empty for all. */
    fileInputs: url.param('wi-file-inputs', list, []),
    /** The model of views that show one; empty for the first. */
    model: url.param('wi-model', text, ''),
    row: url.param('wi-row', optionalNumber, null),
    // Datapoints. Null chooses a column that fits the models.
    x: url.param('wi-x', optionalText, null),
    y: url.param('wi-y', optionalText, null),
    color: url.param('wi-color', optionalText, null),
    label: url.param('wi-label', text, ''),
    /** A column of images that are drawn in place of points. */
    image: url.param('wi-image', text, ''),
    /** Colors of the points. */
    palette: url.param<Palette>('wi-palette', choice(PALETTES, 'standard'), 'standard'),
    facetX: url.param('wi-facet-x', text, ''),
    facetY: url.param('wi-facet-y', text, ''),
    buckets: url.param('wi-buckets', number(DEFAULT_BUCKETS), DEFAULT_BUCKETS),
    /** Of the rows of facets, if not the same. */
    bucketsY: url.param('wi-buckets-y', optionalNumber, null),
    /** Text columns of facets and axes are divided by their words. */
    words: url.param('wi-words', flag, false),
    conditions: url.param('wi-filter', json(isConditions, NO_CONDITIONS), NO_CONDITIONS),
    /** Columns with the distance to a datapoint, by their names. */
    distances: url.param('wi-distances', list, []),
    /** A column of vectors by which distances are measured; empty for all features. */
    embedding: url.param('wi-embedding', text, ''),
    /** Compare datapoints by the attributions of the model instead of the values of features. */
    byAttributions: url.param('wi-by-attributions', flag, false),
    metric: url.param<Metric>('wi-metric', choice(METRICS, 'l1'), 'l1'),
    // Counterfactuals.
    counterfactual: url.param('wi-cf', flag, false),
    count: url.param('wi-cf-count', number(1), 1),
    locked: url.param('wi-locked', list, []),
    /** Weights of features in distances, if not 1. */
    weights: url.param('wi-weights', json(isWeights, NO_WEIGHTS), NO_WEIGHTS),
    /** Difference of predictions that counts as another prediction of a regression model. */
    difference: url.param('wi-cf-difference', optionalNumber, null),
    // Performance.
    sliceBy: url.param('wi-slice', list, []),
    /** How numeric columns are divided, if not in the default way. */
    bins: url.param('wi-bins', json(isBinRules, NO_BINS), NO_BINS),
    sliceFilter: url.param('wi-slice-search', text, ''),
    thresholds: url.param('wi-thresholds', json(isModelThresholds, NO_THRESHOLDS), NO_THRESHOLDS),
    costRatio: url.param('wi-cost', number(1), 1),
    strategy: url.param<StrategyChoice>('wi-strategy', choice(STRATEGIES, 'custom'), 'custom'),
    /** The rate whose gap is bounded, and the largest gap. */
    measure: url.param<Measure>('wi-measure', choice(MEASURES, 'positive_rate'), 'positive_rate'),
    maxGap: url.param('wi-gap', number(0.05), 0.05),
    /** Show what a smaller gap costs. */
    frontier: url.param('wi-frontier', flag, false),
    sliceSort: url.param('wi-slice-sort', sortOrderCodec, { key: 'count', descending: true }),
    slice: url.param('wi-open-slice', text, ''),
    /** Show curves and matrices of all slices instead of one. */
    allSlices: url.param('wi-all-slices', flag, false),
    // Partial dependence.
    isLocal: url.param('wi-local', flag, false),
    curves: url.param('wi-curves', flag, false),
    overlay: url.param('wi-overlay', flag, true),
    points: url.param('wi-points', number(10), 10),
    sample: url.param('wi-sample', number(DEFAULT_SAMPLE), DEFAULT_SAMPLE),
    /** Items of lists that are varied, such as `0,2,4-6`; empty for the first ones. */
    items: url.param('wi-items', text, ''),
    pair: url.param('wi-pair', list, []),
    dependenceClass: url.param('wi-class', text, ''),
    // Features.
    /** Data sets that are compared with the open one. */
    otherSessions: url.param('wi-other', list, []),
    /** Types and shapes of the listed features; empty for all. */
    featureTypes: url.param('wi-types', list, []),
    featureFilter: url.param('wi-feature-search', text, ''),
    /** The feature whose distribution is shown in full. */
    openFeature: url.param('wi-feature', text, ''),
    featureSort: url.param('wi-feature-sort', sortOrderCodec, { key: 'order', descending: false }),
    // Comparison.
    otherModel: url.param('wi-other-model', text, ''),
    panel: preferences.param('what-if-panel', flag, true),
  };
}

export interface DistanceColumn {
  /** The datapoint that the others are compared with. */
  readonly row: number;
  readonly metric: Metric;
  /** `ATTRIBUTIONS`, a column of vectors, or empty for all features. */
  readonly by: string;
}

/** No column of the data begins like this. */
const PREFIX = ' distance:';
/** Compare by the attributions of the model; no column has this name. */
export const ATTRIBUTIONS = ' attributions';

export function nameDistance({ row, metric, by }: DistanceColumn): string {
  return `${PREFIX}${row}:${metric}${by === '' ? '' : `:${by}`}`;
}

/** Return what a column measures, or null if it is not a distance. */
export function parseDistance(name: string): DistanceColumn | null {
  const found = /^ distance:(\d+):(l1|l2|cosine|custom)(?::(.+))?$/s.exec(name);
  if (!found) return null;
  return { row: Number(found[1]), metric: found[2] as Metric, by: found[3] ?? '' };
}

export function formatDistance({ row, metric, by }: DistanceColumn): string {
  const names: Readonly<Record<Metric, string>> = {
    l1: 'L1',
    l2: 'L2',
    cosine: m.cosine,
    custom: m.customDistance,
  };
  const title = m.distanceTo({ row: String(row), metric: names[metric] });
  if (by === '') return title;
  return m.distanceToBy({ distance: title, by: by === ATTRIBUTIONS ? m.viewAttributions : by });
}
