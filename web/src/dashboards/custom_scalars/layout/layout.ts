import type { LayoutCategory, LayoutChart } from '../../../api/notes';

export type Layout = readonly LayoutCategory[];

/** Which chart of a layout. */
export interface Place {
  readonly category: number;
  readonly chart: number;
}

export function chartAt(layout: Layout, { category, chart }: Place): LayoutChart | undefined {
  return layout[category]?.charts[chart];
}

/** Adds a chart at the end of a category, which is made where there is none of that title. */
export function addChart(layout: Layout, title: string, chart: LayoutChart): Layout {
  const at = layout.findIndex((category) => category.title === title);
  if (at < 0) return [...layout, { title, closed: false, charts: [chart] }];
  return changeCharts(layout, at, (charts) => [...charts, chart]);
}

/** Puts a chart in the place of another one, or in another category. */
export function replaceChart(
  layout: Layout,
  place: Place,
  title: string,
  chart: LayoutChart,
): Layout {
  if (layout[place.category]?.title !== title)
    return removeChart(addChart(layout, title, chart), place);
  return changeCharts(layout, place.category, (charts) => charts.with(place.chart, chart));
}

/** A category without charts goes with its last one. */
export function removeChart(layout: Layout, place: Place): Layout {
  const changed = changeCharts(layout, place.category, (charts) =>
    charts.filter((_, at) => at !== place.chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

/** To another place among all charts; beyond the end of a category is the next one. */
export function moveChart(layout: Layout, from: Place, to: Place): Layout {
  const chart = chartAt(layout, from);
  if (!chart || !layout[to.category]) return layout;
  const without = changeCharts(layout, from.category, (charts) =>
    charts.filter((_, at) => at !== from.chart),
  );
  const changed = changeCharts(without, to.category, (charts) =>
    charts.toSpliced(to.chart, 0, chart),
  );
  return changed.filter(({ charts }) => charts.length > 0);
}

/** Where a chart goes that is moved by one. */
export function beside(layout: Layout, { category, chart }: Place, by: 1 | -1): Place | null {
  const length = layout[category]?.charts.length ?? 0;
  if (chart + by >= 0 && chart + by < length) return { category, chart: chart + by };
  const next = layout[category + by];
  return next ? { category: category + by, chart: by > 0 ? 0 : next.charts.length } : null;
}

function changeCharts(
  layout: Layout,
  at: number,
  change: (charts: LayoutChart[]) => readonly LayoutChart[],
): LayoutCategory[] {
  return layout.map((category, index) =>
    index === at ? { ...category, charts: change([...category.charts]) } : category,
  );
}
