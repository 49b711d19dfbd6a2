import type { Center, Comparison, Spread } from '../../api/scalars';
import { choice, flag, list, number, text } from '../../base/codec';
import type { Address, Context, Tastes } from '../../plugin/context';
import { cardSet, NO_CARDS } from '../../wall/card-set';
import { openWallSettings } from '../../wall/settings';
import { forms, limits, xAxis, zooms } from './codecs';
import { SmoothingParam } from './smoothing';

/** Each run by itself, groups of runs as bands, or all beside one run. */
export type Mode = 'lines' | 'bands' | 'baseline';
export type Stat = 'last' | 'min' | 'max';
export type Best = 'none' | 'min' | 'max' | 'both';
export type RowOrder = 'name' | 'ascending' | 'descending' | 'nearest';

/** How wide a card is, in pixels, until somebody says otherwise. */
const USUAL_WIDTH = 340;

export type Settings = ReturnType<typeof openSettings>;

/** What the view is set to. All of it is in the address, but for what is a matter of taste. */
export function openSettings({ address, tastes }: Context, name: string) {
  return {
    ...openWallSettings({ address, tastes }, name, USUAL_WIDTH),
    smoothing: new SmoothingParam(address),
    ...openAxes(address),
    ...openLines(address),
    ...openCards(address),
    ...openTables(address),
    ...openTastes(tastes),
  };
}

function openAxes(address: Address) {
  return {
    x: address.param('x', xAxis, 'step'),
    /** Cards with a logarithmic axis. */
    logX: address.param('xlog', cardSet, NO_CARDS),
    logY: address.param('ylog', cardSet, NO_CARDS),
    ignoreOutliers: address.param('outliers', flag, true),
    limits: address.param('lim', limits, new Map()),
    zooms: address.param('zoom', zooms, new Map()),
  };
}

function openLines(address: Address) {
  return {
    mode: wordParam<Mode>(address, 'mode', ['lines', 'bands', 'baseline']),
    center: wordParam<Center>(address, 'center', ['mean', 'median']),
    spread: wordParam<Spread>(address, 'band', ['std', 'stderr', 'ci95', 'minmax']),
    comparison: wordParam<Comparison>(address, 'diff', ['difference', 'ratio']),
    /** Whether points that later ones took the place of are drawn, too. */
    overwritten: address.param('odd', flag, false),
    best: wordParam<Best>(address, 'best', ['none', 'min', 'max', 'both']),
  };
}

function openCards(address: Address) {
  return {
    forms: address.param('as', forms, new Map()),
    /** What bars stand for. */
    stat: wordParam<Stat>(address, 'stat', ['last', 'min', 'max']),
  };
}

function openTables(address: Address) {
  return {
    /** Whether there is a table of values below each chart. */
    tables: address.param('table', flag, false),
    tableSort: address.param('tsort', text, ''),
    /** Whether a drag in a chart selects a range instead of zooming. */
    selecting: address.param('select', flag, false),
  };
}

function openTastes(tastes: Tastes) {
  return {
    rowOrder: wordParam<RowOrder>(tastes, 'scalars-tip-order', [
      'nearest',
      'name',
      'ascending',
      'descending',
    ]),
    rowLimit: tastes.param('scalars-tip-rows', number(8), 8),
    /** Further columns of the tooltip. */
    columns: tastes.param('scalars-tip-columns', list, []),
  };
}

/** One of a few words; the first is what is meant when nothing is said. */
function wordParam<Word extends string>(
  place: Address | Tastes,
  name: string,
  words: readonly [Word, ...Word[]],
) {
  return place.param(name, choice(words, words[0]), words[0]);
}
