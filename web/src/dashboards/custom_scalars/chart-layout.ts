/** Edit a layout, encode it for the URL and write it as Python code. */
import type { LayoutCategory, LayoutChart } from '../../api/client';
import * as m from '../../catalog/custom_scalars';
import { quotePython } from '../../cards/export';
import { type Codec, json } from '../../lib/codecs';

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
