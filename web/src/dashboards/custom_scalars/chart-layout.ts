import type { LayoutCategory, LayoutChart } from '../../api/client';
import { quotePython } from '../../cards/export';
import { type Codec, json } from '../../lib/codecs';

export type ChartLayout = readonly LayoutCategory[];

/** Which chart of a layout. */
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

/** Adds a chart at the end of a category, which is made where there is none of that title. */
export function addChart(layout: ChartLayout, title: string, chart: LayoutChart): ChartLayout {
  const at = layout.findIndex((category) => category.title === title);
  if (at < 0) return [...layout, { title, closed: false, charts: [chart] }];
  return updateCharts(layout, at, (charts) => [...charts, chart]);
}

/** Puts a chart in the place of another one, or in another category. */
export function replaceChart(
  layout: ChartLayout,
  place: ChartLocation,
  title: string,
  chart: LayoutChart,
): ChartLayout {
  if (layout[place.category]?.title !== title)
    return removeChart(addChart(layout, title, chart), place);
  return updateCharts(layout, place.category, (charts) => charts.with(place.chart, chart));
}

/** A category without charts goes with its last one. */
export function removeChart(layout: ChartLayout, place: ChartLocation): ChartLayout {
  const changed = updateCharts(layout, place.category, (charts) =>
    charts.filter((_, at) => at !== place.chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

/** To another place among all charts; beyond the end of a category is the next one. */
export function moveChart(
  layout: ChartLayout,
  from: ChartLocation,
  to: ChartLocation,
): ChartLayout {
  const chart = findChart(layout, from);
  if (!chart || !layout[to.category]) return layout;
  const without = updateCharts(layout, from.category, (charts) =>
    charts.filter((_, at) => at !== from.chart),
  );
  const changed = updateCharts(without, to.category, (charts) =>
    charts.toSpliced(to.chart, 0, chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

/** Where a chart goes that is moved by one. */
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
  at: number,
  change: (charts: LayoutChart[]) => readonly LayoutChart[],
): LayoutCategory[] {
  return layout.map((category, index) =>
    index === at ? { ...category, charts: change([...category.charts]) } : category,
  );
}

/** Without names of fields, as an address is to be short. */
type EncodedChart = readonly [title: string, tags: string[], margins: [string, string, string][]];
type EncodedCategory = readonly [title: string, closed: 0 | 1, charts: EncodedChart[]];
type EncodedLayout = readonly EncodedCategory[];

const encodedLayoutCodec = json<EncodedLayout | null>(
  (value): value is EncodedLayout => Array.isArray(value) && value.every(isCategory),
  null,
);

/** A layout as it stands in a link; null where there is none, or a damaged one. */
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

/** Lines of Python that log the same layout, so that any TensorBoard shows it, too. */
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
    '# or, with a SummaryWriter of PyTorch: writer.add_custom_scalars(layout)',
    '',
  ].join('\n');
}

/** This form has one band a chart, so that further ones become charts beside it. */
function formatChartEntries({ title, tags, margins }: LayoutChart): string[] {
  if (margins.length === 0)
    return [`${quotePython(title)}: ["Multiline", ${formatStringList(tags)}]`];
  return margins.map(({ value, lower, upper }, at) => {
    const name = at === 0 ? title : `${title} ${at + 1}`;
    return `${quotePython(name)}: ["Margin", ${formatStringList([value, lower, upper])}]`;
  });
}

function formatStringList(list: readonly string[]): string {
  return `[${list.map(quotePython).join(', ')}]`;
}
