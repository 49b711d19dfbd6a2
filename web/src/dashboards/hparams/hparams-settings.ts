/** The settings of the dashboard and how they are written into the URL. */
import { sortOrdersCodec } from '../../components/data-table';
import type { ReductionKind } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/hparams';
import { choice, type Codec, flag, json, list, number, optionalText } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { AxisScale } from './model/column-axes';
import { type ColumnFilter, type ColumnFilters, NO_FILTERS } from './model/trial-filters';

export const HPARAMS_VIEWS = [
  'table',
  'parallel',
  'scatter',
  'importance',
  'slice',
  'contour',
  'progress',
  'intermediate',
  'pareto',
  'distribution',
  'timeline',
] as const;

export type HParamsView = (typeof HPARAMS_VIEWS)[number];

export const VIEW_TITLES: Readonly<Record<HParamsView, string>> = {
  table: common.table,
  parallel: m.viewParallel,
  scatter: m.viewScatter,
  importance: m.viewImportance,
  slice: m.viewSlice,
  contour: m.viewContour,
  progress: m.viewHistory,
  intermediate: m.viewIntermediate,
  pareto: m.viewPareto,
  distribution: m.viewDistribution,
  timeline: m.viewTimeline,
};

const REDUCTIONS: readonly ReductionKind[] = ['last', 'min', 'max', 'mean', 'step'];
const REPEAT_MODES = ['each', 'mean', 'median', 'min', 'max'] as const;

export type RepeatMode = (typeof REPEAT_MODES)[number];

/** The filter panel is open by default in windows of at least this width. */
const MIN_PANEL_WINDOW_PX = 1100;

export type HParamsSettings = ReturnType<typeof makeHParamsSettings>;

export function makeHParamsSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    view: url.param<HParamsView>('hp', choice(HPARAMS_VIEWS, 'parallel'), 'parallel'),
    /** The name of the study; null for all. */
    study: url.param('hp-study', optionalText, null),
    /** The objective: a metric, and whether it is minimized. */
    metric: url.param('hp-metric', optionalText, null),
    goal: url.param('hp-goal', choice(['usual', 'min', 'max'], 'usual'), 'usual'),
    reduction: url.param<ReductionKind>('hp-reduction', choice(REDUCTIONS, 'last'), 'last'),
    lastCount: url.param('hp-last-count', number(10), 10),
    step: url.param('hp-step', number(0), 0),
    repeats: url.param<RepeatMode>('hp-repeats', choice(REPEAT_MODES, 'each'), 'each'),
    filters: url.param('hp-filter', filtersCodec, NO_FILTERS),
    sort: url.param('hp-sort', sortOrdersCodec, []),
    /** Columns that the user has moved; they come before the others. */
    columnOrder: url.param('hp-columns', list, []),
    hiddenColumns: url.param('hp-hidden', list, []),
    /** Columns that are not visible by default. */
    addedColumns: url.param('hp-added', list, []),
    pinnedColumns: url.param('hp-pinned', list, []),
    axes: url.param('hp-axes', axesCodec, new Map()),
    colorBy: url.param('hp-color', optionalText, null),
    contourX: url.param('hp-contour-x', optionalText, null),
    contourY: url.param('hp-contour-y', optionalText, null),
    paretoX: url.param('hp-pareto-x', optionalText, null),
    paretoY: url.param('hp-pareto-y', optionalText, null),
    /** The column by which distributions are split; null for the study. */
    distributionBy: url.param('hp-distribution-by', optionalText, null),
    filtersOpen: preferences.param('hparams-filters', flag, innerWidth >= MIN_PANEL_WINDOW_PX),
    columnWidths: preferences.param('hparams-widths', widthsCodec, new Map()),
  };
}

type FilterEntries = readonly (readonly [string, ColumnFilter])[];

const filterEntries = json<FilterEntries>(isFilterEntries, []);

/** JSON: a list of pairs of column key and filter. */
export const filtersCodec: Codec<ColumnFilters> = {
  parse: (text) => (text === '' ? NO_FILTERS : new Map(filterEntries.parse(text))),
  format: (filters) => (filters.size === 0 ? '' : filterEntries.format([...filters])),
};

/** The user's choice for an axis. */
export interface AxisSetting {
  readonly scale?: AxisScale;
  readonly flipped?: boolean;
}

export type AxisSettings = ReadonlyMap<string, AxisSetting>;

const axisEntries = json<readonly (readonly [string, AxisSetting])[]>(isAxisEntries, []);

export const axesCodec: Codec<AxisSettings> = {
  parse: (text) => new Map(axisEntries.parse(text || '[]')),
  format: (axes) => (axes.size === 0 ? '' : axisEntries.format([...axes])),
};

/** Change the settings of one axis. */
export function withAxisSetting(
  axes: AxisSettings,
  key: string,
  change: AxisSetting,
): AxisSettings {
  return new Map([...axes, [key, { ...axes.get(key), ...change }]]);
}

/** Widths in pixels by column key. */
export type ColumnWidths = ReadonlyMap<string, number>;

const widthEntries = json<readonly (readonly [string, number])[]>(isWidthEntries, []);

export const widthsCodec: Codec<ColumnWidths> = {
  parse: (text) => new Map(widthEntries.parse(text || '[]')),
  format: (widths) => (widths.size === 0 ? '' : widthEntries.format([...widths])),
};

function isPairList(value: unknown): value is [string, unknown][] {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string')
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFilterEntries(value: unknown): value is FilterEntries {
  return isPairList(value) && value.every(([, filter]) => isColumnFilter(filter));
}

function isColumnFilter(filter: unknown): filter is ColumnFilter {
  if (!isObject(filter)) return false;
  const { range, values, pattern, blank } = filter;
  return (
    (range === undefined || (isListOf(range, 'number') && range.length === 2)) &&
    (values === undefined || isListOf(values, 'string')) &&
    (pattern === undefined || typeof pattern === 'string') &&
    (blank === undefined || typeof blank === 'boolean')
  );
}

function isListOf(value: unknown, kind: 'number' | 'string'): value is unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item === kind);
}

function isAxisEntries(value: unknown): value is readonly (readonly [string, AxisSetting])[] {
  return isPairList(value) && value.every(([, setting]) => isObject(setting));
}

function isWidthEntries(value: unknown): value is readonly (readonly [string, number])[] {
  return isPairList(value) && value.every(([, width]) => typeof width === 'number');
}
