import { choice, type Codec, flag, json, list, number, optionalText } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { AxisScale } from './model/column-axes';
import { type ColumnFilter, type ColumnFilters, NO_FILTERS } from './model/trial-filters';
import type { SortKey } from './model/trials';
import type { Reduction } from './schemas';

export const HPARAMS_VIEWS = [
  'table',
  'parallel',
  'scatter',
  'importance',
  'slice',
  'contour',
  'progress',
] as const;

export type HParamsView = (typeof HPARAMS_VIEWS)[number];

/** What each view is called. */
export const VIEW_TITLES: Readonly<Record<HParamsView, string>> = {
  table: 'Table',
  parallel: 'Parallel',
  scatter: 'Scatter',
  importance: 'Importance',
  slice: 'Slices',
  contour: 'Contour',
  progress: 'Best so far',
};

const REDUCTIONS: readonly Reduction[] = ['last', 'min', 'max', 'mean', 'step'];
const REPEAT_MODES = ['each', 'mean', 'median', 'min', 'max'] as const;

export type RepeatMode = (typeof REPEAT_MODES)[number];

/** Narrower screens are the picture's, until somebody asks for the filters. */
const MIN_PANEL_WINDOW_PX = 1100;

export type HParamsSettings = ReturnType<typeof makeHParamsSettings>;

/** What the dashboard is set to: in the address, but for what is a matter of taste. */
export function makeHParamsSettings({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    view: url.param<HParamsView>('hp', choice(HPARAMS_VIEWS, 'parallel'), 'parallel'),
    /** The metric that sessions are judged by, and whether less of it is better. */
    metric: url.param('hp-metric', optionalText, null),
    goal: url.param('hp-goal', choice(['usual', 'min', 'max'], 'usual'), 'usual'),
    reduction: url.param<Reduction>('hp-how', choice(REDUCTIONS, 'last'), 'last'),
    lastCount: url.param('hp-n', number(10), 10),
    step: url.param('hp-step', number(0), 0),
    repeats: url.param<RepeatMode>('hp-repeats', choice(REPEAT_MODES, 'each'), 'each'),
    filters: url.param('hp-if', filtersCodec, NO_FILTERS),
    sort: url.param('hp-sort', sortCodec, []),
    /** Columns in an order of somebody's own come before the others. */
    columnOrder: url.param('hp-cols', list, []),
    hiddenColumns: url.param('hp-hide', list, []),
    /** Columns that are seen though they would not be by themselves. */
    addedColumns: url.param('hp-add', list, []),
    pinnedColumns: url.param('hp-pin', list, []),
    axes: url.param('hp-axes', axesCodec, new Map()),
    colorBy: url.param('hp-colour', optionalText, null),
    contourX: url.param('hp-x', optionalText, null),
    contourY: url.param('hp-y', optionalText, null),
    filtersOpen: preferences.param('hparams-filters', flag, innerWidth >= MIN_PANEL_WINDOW_PX),
    columnWidths: preferences.param('hparams-widths', widthsCodec, new Map()),
  };
}

type FilterEntries = readonly (readonly [string, ColumnFilter])[];

const filterEntries = json<FilterEntries>(isFilterEntries, []);

/** Rules as JSON: a pair of key and rule each. */
export const filtersCodec: Codec<ColumnFilters> = {
  parse: (text) => (text === '' ? NO_FILTERS : new Map(filterEntries.parse(text))),
  format: (rules) => (rules.size === 0 ? '' : filterEntries.format([...rules])),
};

/** `-metric:acc,hparam:lr`: a minus before a key that falls. */
export const sortCodec: Codec<readonly SortKey[]> = {
  parse: (text) =>
    list
      .parse(text)
      .map((word) => ({ key: word.replace(/^-/, ''), descending: word.startsWith('-') })),
  format: (keys) => list.format(keys.map(({ key, descending }) => (descending ? `-${key}` : key))),
};

/** How somebody wants an axis. */
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

/** The choices with something else said of one axis. */
export function withAxisSetting(axes: AxisSettings, key: string, said: AxisSetting): AxisSettings {
  return new Map([...axes, [key, { ...axes.get(key), ...said }]]);
}

/** Widths of columns by their key. */
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
  return isPairList(value) && value.every(([, rule]) => isColumnFilter(rule));
}

function isColumnFilter(rule: unknown): rule is ColumnFilter {
  if (!isObject(rule)) return false;
  const { range, values, pattern, blank } = rule;
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
  return isPairList(value) && value.every(([, choice]) => isObject(choice));
}

function isWidthEntries(value: unknown): value is readonly (readonly [string, number])[] {
  return isPairList(value) && value.every(([, width]) => typeof width === 'number');
}
