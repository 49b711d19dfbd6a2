/** Layouts: editing, their form in the URL and as Python code, and the cards and sections that they describe. */
import type { LayoutCategory, LayoutChart } from '../../api/schemas';
import { toggleItem } from '../../cards/card-grid.svelte';
import type { Section } from '../../cards/card-sections';
import { quotePython } from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/custom_scalars';
import { type Codec, json } from '../../lib/codecs';
import { compileTextFilter, getRegexError, type TextFilter } from '../../lib/text-filter';
import type { Param } from '../../plugin/context';
import type { ScalarCard } from '../../scalar-cards/chart-lines';

export type ChartLayout = readonly LayoutCategory[];

/** The position of a chart in a layout. */
export interface ChartLocation {
  readonly category: number;
  readonly chart: number;
}

export function findChart(
  layout: ChartLayout,
  { category, chart }: ChartLocation,
): LayoutChart | undefined {
  return layout[category]?.charts[chart];
}

/** Add a chart to the end of a category; create the category if there is none of that title. */
export function addChart(layout: ChartLayout, title: string, chart: LayoutChart): ChartLayout {
  const index = layout.findIndex((category) => category.title === title);
  if (index < 0) return [...layout, { title, closed: false, charts: [chart] }];
  return updateCharts(layout, index, (charts) => [...charts, chart]);
}

/** Replace a chart; if the category is another one, move it there. */
export function replaceChart(
  layout: ChartLayout,
  location: ChartLocation,
  title: string,
  chart: LayoutChart,
): ChartLayout {
  if (layout[location.category]?.title !== title)
    return removeChart(addChart(layout, title, chart), location);
  return updateCharts(layout, location.category, (charts) => charts.with(location.chart, chart));
}

/** Remove a chart, and its category if that is empty then. */
export function removeChart(layout: ChartLayout, location: ChartLocation): ChartLayout {
  const changed = updateCharts(layout, location.category, (charts) =>
    charts.filter((_, index) => index !== location.chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

export function moveChart(
  layout: ChartLayout,
  from: ChartLocation,
  to: ChartLocation,
): ChartLayout {
  const chart = findChart(layout, from);
  if (!chart || !layout[to.category]) return layout;
  const without = updateCharts(layout, from.category, (charts) =>
    charts.filter((_, index) => index !== from.chart),
  );
  const changed = updateCharts(without, to.category, (charts) =>
    charts.toSpliced(to.chart, 0, chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

/** Return the location before or after a chart, possibly in another category; null at the ends. */
export function findAdjacentLocation(
  layout: ChartLayout,
  { category, chart }: ChartLocation,
  by: 1 | -1,
): ChartLocation | null {
  const length = layout[category]?.charts.length ?? 0;
  if (chart + by >= 0 && chart + by < length) return { category, chart: chart + by };
  const next = layout[category + by];
  return next ? { category: category + by, chart: by > 0 ? 0 : next.charts.length } : null;
}

function updateCharts(
  layout: ChartLayout,
  position: number,
  change: (charts: LayoutChart[]) => readonly LayoutChart[],
): LayoutCategory[] {
  return layout.map((category, index) =>
    index === position ? { ...category, charts: change([...category.charts]) } : category,
  );
}

/** Without field names, to keep URLs short. */
type EncodedChart = readonly [title: string, tags: string[], margins: [string, string, string][]];
type EncodedCategory = readonly [title: string, closed: 0 | 1, charts: EncodedChart[]];
type EncodedLayout = readonly EncodedCategory[];

const encodedLayoutCodec = json<EncodedLayout | null>(
  (value): value is EncodedLayout => Array.isArray(value) && value.every(isCategory),
  null,
);

/** A layout in the URL; null if there is none or it is invalid. */
export const layoutCodec: Codec<ChartLayout | null> = {
  parse: (text) => encodedLayoutCodec.parse(text)?.map(decodeCategory) ?? null,
  format: (layout) => encodedLayoutCodec.format(layout?.map(encodeCategory) ?? null),
};

function decodeCategory([title, closed, charts]: EncodedCategory): LayoutCategory {
  return { title, closed: closed === 1, charts: charts.map(decodeChart) };
}

function decodeChart([title, tags, margins]: EncodedChart): LayoutChart {
  return {
    title,
    tags,
    margins: margins.map(([value, lower, upper]) => ({ value, lower, upper })),
  };
}

function encodeCategory({ title, closed, charts }: LayoutCategory): EncodedCategory {
  return [title, closed ? 1 : 0, charts.map(encodeChart)];
}

function encodeChart({ title, tags, margins }: LayoutChart): EncodedChart {
  return [title, [...tags], margins.map(({ value, lower, upper }) => [value, lower, upper])];
}

function isCategory(value: unknown): boolean {
  return isTriple(value) && isText(value[0]) && isListOf(value[2], isChart);
}

function isChart(value: unknown): boolean {
  return (
    isTriple(value) && isText(value[0]) && isListOf(value[1], isText) && isListOf(value[2], isBand)
  );
}

function isBand(value: unknown): boolean {
  return isTriple(value) && value.every(isText);
}

function isTriple(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length === 3;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** Return Python code that logs the layout, for TensorBoard as well. */
export function layoutToPython(layout: ChartLayout): string {
  return [
    'from tracklight import summary',
    '',
    'layout = {',
    ...layout.flatMap(({ title, charts }) => [
      `    ${quotePython(title)}: {`,
      ...charts.flatMap(formatChartEntries).map((entry) => `        ${entry},`),
      '    },',
    ]),
    '}',
    'with summary.create_file_writer("logs/layout").as_default():',
    '    summary.custom_scalars(layout)',
    '',
    m.pythonTorch,
    '',
  ].join('\n');
}

/** The format has one band per chart, so further bands become charts of their own. */
function formatChartEntries({ title, tags, margins }: LayoutChart): string[] {
  if (margins.length === 0)
    return [`${quotePython(title)}: ["Multiline", ${formatStringList(tags)}]`];
  return margins.map(({ value, lower, upper }, index) => {
    const name = index === 0 ? title : `${title} ${index + 1}`;
    return `${quotePython(name)}: ["Margin", ${formatStringList([value, lower, upper])}]`;
  });
}

function formatStringList(list: readonly string[]): string {
  return `[${list.map(quotePython).join(', ')}]`;
}

/** A chart of a layout. */
export interface LayoutChartCardModel extends ScalarCard {
  readonly location: ChartLocation;
  /** Problems of the chart, as sentences. */
  readonly warnings: readonly string[];
}

/** Charts with more lines are unreadable. */
const MAX_CHART_TAGS = 100;

/** Return the key of a category in the list of collapsed sections. */
export function makeCategoryKey({ title }: LayoutCategory): string {
  return ` layout ${title}`;
}

/** Return the pinned charts, then the categories with the charts that match the filter. */
export function buildLayoutSections(
  layout: ChartLayout,
  tags: readonly string[],
  filter: TextFilter,
  pinned: readonly string[],
): Section<LayoutChartCardModel>[] {
  const { matches } = compileTextFilter(filter);
  const all = layout.map((category, index) => ({
    title: category.title || common.untitled,
    key: makeCategoryKey(category),
    cards: makeCategoryCards(category, index, tags),
  }));
  const cards = new Map(all.flatMap(({ cards }) => cards).map((card) => [card.id, card]));
  const isMatch = ({ title, tags }: LayoutChartCardModel): boolean =>
    matches(title) || tags.some(matches);
  return [
    { title: common.pinned, key: ' pinned', cards: pinned.flatMap((id) => cards.get(id) ?? []) },
    ...all.map((section) => ({ ...section, cards: section.cards.filter(isMatch) })),
  ].filter(({ cards }) => cards.length > 0);
}

function makeCategoryCards(
  category: LayoutCategory,
  categoryIndex: number,
  tags: readonly string[],
): LayoutChartCardModel[] {
  const seen = new Map<string, number>();
  return category.charts.map((chart, index) => {
    const name = `${category.title}/${chart.title}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const id = `chart:${name}${count > 1 ? `#${count}` : ''}`;
    return makeChartCard(chart, id, { category: categoryIndex, chart: index }, tags);
  });
}

function makeChartCard(
  chart: LayoutChart,
  id: string,
  location: ChartLocation,
  known: readonly string[],
): LayoutChartCardModel {
  const content =
    chart.margins.length > 0 ? resolveMargins(chart, known) : resolveTags(chart, known);
  const title = chart.title || content.tags.join(' + ') || common.untitled;
  return { id, title, right: [], description: '', location, ...content };
}

type ChartContent = Pick<LayoutChartCardModel, 'tags' | 'margins' | 'warnings'>;

function resolveTags({ tags: texts }: LayoutChart, known: readonly string[]): ChartContent {
  const patterns = texts.map(compileTagPattern);
  const found = known.filter((tag) => patterns.some(({ matches }) => matches(tag)));
  const warnings = patterns.flatMap(({ error }) => error ?? []);
  if (warnings.length === 0 && found.length === 0)
    warnings.push(m.warningNoMatch({ patterns: quote(texts) }));
  if (found.length > MAX_CHART_TAGS)
    warnings.push(m.warningTooMany({ max: MAX_CHART_TAGS, count: found.length }));
  return { tags: found.slice(0, MAX_CHART_TAGS), margins: [], warnings };
}

function resolveMargins({ margins }: LayoutChart, known: readonly string[]): ChartContent {
  const knownTags = new Set(known);
  const wanted = margins.flatMap(({ value, lower, upper }) => [value, lower, upper]);
  const missing = [...new Set(wanted.filter((tag) => !knownTags.has(tag)))];
  const complete = margins.filter((margin) =>
    Object.values(margin).every((tag) => knownTags.has(tag)),
  );
  const tags = [...new Set(complete.flatMap(({ value, lower, upper }) => [value, lower, upper]))];
  const warnings = missing.length > 0 ? [m.warningMissingTags({ tags: quote(missing) })] : [];
  return { tags, margins: complete, warnings };
}

function quote(texts: readonly string[]): string {
  return texts.map((text) => `“${text}”`).join(', ');
}

/** A regular expression of a layout, matched at the start of a tag as by Python's `re.match`. */
export interface TagPattern {
  readonly matches: (tag: string) => boolean;
  /** Why it is invalid. */
  readonly error: string | null;
}

/** Python syntax and its JavaScript equivalent. */
const PYTHON_REGEX_TRANSLATIONS: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, '(?<'],
  [/\(\?P=(\w+)\)/g, '\\k<$1>'],
  [/\\A/g, '^'],
  [/\\Z/g, '$'],
];
const PYTHON_REGEX_FLAGS = /^\(\?([aimsux]+)\)/;
/** A repetition inside a repetition may backtrack without end. */
const NESTED_QUANTIFIER = /\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\})/;
const MAX_PATTERN_LENGTH = 1000;

export function compileTagPattern(text: string): TagPattern {
  if (text.length > MAX_PATTERN_LENGTH)
    return makeInvalidPattern(text, m.patternTooLong({ max: MAX_PATTERN_LENGTH }));
  if (NESTED_QUANTIFIER.test(text)) return makeInvalidPattern(text, m.patternNestedQuantifier);
  const flags = PYTHON_REGEX_FLAGS.exec(text)?.[1] ?? '';
  const plain = PYTHON_REGEX_TRANSLATIONS.reduce(
    (translated, [from, to]) => translated.replace(from, to),
    text.replace(PYTHON_REGEX_FLAGS, ''),
  );
  try {
    const expression = new RegExp(`^(?:${plain})`, flags.replace(/[^ims]/g, ''));
    return { matches: (tag) => expression.test(tag), error: null };
  } catch (error) {
    return makeInvalidPattern(text, getRegexError(error));
  }
}

function makeInvalidPattern(text: string, reason: string): TagPattern {
  const shown = text.length > 60 ? `${text.slice(0, 60)} …` : text;
  return { matches: () => false, error: m.patternInvalid({ pattern: shown, reason }) };
}

/** Return the expression that matches only this tag. */
export function makeExactPattern(tag: string): string {
  return `${tag.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}

/** The collapsed sections. Some are collapsed by default; the URL has the differences. */
export class CollapsedSections implements Param<readonly string[]> {
  readonly #toggled: Param<readonly string[]>;
  #getDefaults: () => readonly string[] = () => [];

  /** `toggled` has the sections that differ from the default. */
  constructor(toggled: Param<readonly string[]>) {
    this.#toggled = toggled;
  }

  setDefaults(getDefaults: () => readonly string[]): void {
    this.#getDefaults = getDefaults;
  }

  get value(): readonly string[] {
    return computeSymmetricDifference(this.#getDefaults(), this.#toggled.value);
  }

  set(collapsed: readonly string[], mode?: 'push' | 'replace'): void {
    this.#toggled.set(computeSymmetricDifference(this.#getDefaults(), collapsed), mode);
  }
}

/** Return the items that are in only one of two lists. */
export function computeSymmetricDifference(
  one: readonly string[],
  other: readonly string[],
): readonly string[] {
  return other.reduce(toggleItem, one);
}
