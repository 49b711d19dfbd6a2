/** Columns of the trials table (menu, drag and layout), its sparklines, and its export as a file. */
import { QueryMap } from '../../../api/create-query.svelte';
import { toProblem } from '../../../api/errors';
import type { ExportFormat, ExportRequest } from '../../../api/schemas';
import { downloadBlob, downloadImage, type ExportTable, toCsv } from '../../../cards/export';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import type { SparklineSeries } from '../../../charts/Sparkline.svelte';
import { fitNames } from '../../../components/data-table';
import type { MenuItem } from '../../../components/MenuItems.svelte';
import type { HParamsDashboard } from '../hparams-dashboard.svelte';
import { type ColumnWidths, VIEW_TITLES } from '../hparams-settings';
import { getColorRamp, listScales } from '../model/column-axes';
import { hasValue, type TrialColumn } from '../model/trials';
import { makePlotImage } from '../plot-export';
import { sparklineQuery, type SparklineRequest } from '../query.svelte';

const SCALE_LABELS = {
  linear: common.scaleLinear,
  log: common.scaleLog,
  quantile: common.scaleQuantile,
} as const;

/** The menu of a column in the table and of its axis in plots. */
export function makeColumnMenu(dashboard: HParamsDashboard, column: TrialColumn): MenuItem[][] {
  return [
    makeSortItems(dashboard, column),
    makeScaleItems(dashboard, column),
    makeMoveItems(dashboard, column),
    [
      {
        label: m.columnColorBy,
        checked: dashboard.colorColumn === column,
        run: () => dashboard.settings.colorBy.set(column.key),
      },
      {
        label: common.clearFilter,
        disabled: !dashboard.filters.has(column.key),
        run: () => dashboard.setFilter(column.key, null),
      },
      {
        label: m.columnHide,
        icon: 'close',
        run: () => dashboard.setColumnVisible(column.key, false),
      },
    ],
  ];
}

function makeSortItems({ settings }: HParamsDashboard, { key }: TrialColumn): MenuItem[] {
  const { sort } = settings;
  const others = sort.value.filter((sortKey) => sortKey.key !== key);
  return [
    {
      label: common.sortAscending,
      icon: 'arrow-up',
      run: () => sort.set([{ key, descending: false }]),
    },
    {
      label: common.sortDescending,
      icon: 'arrow-down',
      run: () => sort.set([{ key, descending: true }]),
    },
    {
      label: common.sortThenBy,
      hint: common.shiftClick,
      disabled: others.length === 0,
      run: () => sort.set([...others, { key, descending: false }]),
    },
  ];
}

function makeScaleItems(dashboard: HParamsDashboard, column: TrialColumn): MenuItem[] {
  const { scale } = dashboard.getAxis(column);
  const scales = listScales(column);
  const isInverted = dashboard.settings.axes.value.get(column.key)?.flipped ?? false;
  return [
    ...(scales.length < 2 ? [] : scales).map((option) => ({
      label: SCALE_LABELS[option],
      checked: option === scale,
      run: () => dashboard.setScale(column.key, option),
    })),
    {
      label: common.invertAxis,
      checked: isInverted,
      run: () => dashboard.toggleInverted(column.key),
    },
  ];
}

function makeMoveItems(dashboard: HParamsDashboard, { key }: TrialColumn): MenuItem[] {
  const { pinnedColumns } = dashboard.settings;
  const keys = dashboard.visibleColumns.map((column) => column.key);
  const index = keys.indexOf(key);
  const isPinned = pinnedColumns.value.includes(key);
  const others = pinnedColumns.value.filter((other) => other !== key);
  return [
    {
      label: common.moveLeft,
      disabled: index <= 0,
      run: () => dashboard.moveColumn(key, keys[index - 1] ?? null),
    },
    {
      label: common.moveRight,
      disabled: index < 0 || index >= keys.length - 1,
      run: () => dashboard.moveColumn(key, keys[index + 2] ?? null),
    },
    {
      label: m.columnPin,
      checked: isPinned,
      run: () => pinnedColumns.set(isPinned ? others : [...others, key]),
    },
  ];
}

/** A column of the table and its layout. */
export interface TrialTableColumn {
  readonly column: TrialColumn;
  readonly width: number;
  /** The position of a sticky column; null if the column scrolls. */
  readonly stickyLeft: number | null;
}

const CHARACTER_WIDTH_PX = 7;
const TITLE_PADDING_PX = 36;
const [MIN_DEFAULT_WIDTH_PX, MAX_DEFAULT_WIDTH_PX] = [84, 170];
/** With the color of a row. */
const NAME_PADDING_PX = 48;
/** On phones, the minimum leaves space for the objective beside the name. */
const [MIN_NAME_WIDTH_PX, MAX_NAME_WIDTH_FRACTION] = [176, 0.25];
/** With space for a sparkline beside the number. */
const OBJECTIVE_COLUMN_WIDTH_PX = 190;

interface TableLayoutOptions {
  readonly objectiveKey: string | null;
  readonly pinnedKeys: readonly string[];
  readonly widths: ColumnWidths;
  readonly names: readonly string[];
  readonly pageWidth: number;
}

/** Return the columns in table order: name, objective and pinned columns are sticky and come first. */
export function layoutTableColumns(
  name: TrialColumn,
  columns: readonly TrialColumn[],
  { objectiveKey, pinnedKeys, widths, names, pageWidth }: TableLayoutOptions,
): TrialTableColumn[] {
  const isObjective = ({ key }: TrialColumn): boolean => key === objectiveKey;
  const isPinned = (column: TrialColumn): boolean =>
    !isObjective(column) && pinnedKeys.includes(column.key);
  const isScrolling = (column: TrialColumn): boolean => !isObjective(column) && !isPinned(column);
  const nameWidth = fitNames(names, {
    padding: NAME_PADDING_PX,
    min: MIN_NAME_WIDTH_PX,
    max: MAX_NAME_WIDTH_FRACTION * pageWidth,
  });
  const getWidth = (column: TrialColumn): number => {
    const defaultWidth = column === name ? nameWidth : getDefaultWidth(column, isObjective(column));
    return widths.get(column.key) ?? defaultWidth;
  };
  let stickyWidth = 0;
  const sticky = [name, ...columns.filter(isObjective), ...columns.filter(isPinned)].map(
    (column) => {
      const width = getWidth(column);
      stickyWidth += width;
      return { column, width, stickyLeft: stickyWidth - width };
    },
  );
  const scrolling = columns
    .filter(isScrolling)
    .map((column) => ({ column, width: getWidth(column), stickyLeft: null }));
  return [...sticky, ...scrolling];
}

function getDefaultWidth({ title }: TrialColumn, isObjective: boolean): number {
  if (isObjective) return OBJECTIVE_COLUMN_WIDTH_PX;
  const titleWidth = title.length * CHARACTER_WIDTH_PX + TITLE_PADDING_PX;
  return Math.min(MAX_DEFAULT_WIDTH_PX, Math.max(MIN_DEFAULT_WIDTH_PX, titleWidth));
}

/** Sparklines of the objective for the rows on screen. */
export class TrialSparklines {
  readonly #dashboard: HParamsDashboard;
  readonly #lines: QueryMap<SparklineRequest, Float32Array | null>;
  readonly #metric = $derived.by(() => this.#dashboard.metric?.key.replace('metric:', '') ?? '');

  constructor(dashboard: HParamsDashboard) {
    this.#dashboard = dashboard;
    this.#lines = new QueryMap(
      dashboard.context.queries,
      sparklineQuery,
      (session) => (this.#metric === '' ? null : { view: { metric: this.#metric }, session }),
      { keepPrevious: (previous, next) => previous.view.metric === next.view.metric },
    );
  }

  /** Rows are useful without sparklines, so errors are not shown. */
  find(row: number): SparklineSeries | undefined {
    const name = this.#findName(row);
    const values = name === undefined ? undefined : this.#lines.get(name)?.data;
    if (!values) return undefined;
    const color = getColorRamp(this.#dashboard.context.theme.dark).at(-8) ?? '';
    const cells = Array.from(values, (value) => (Number.isFinite(value) ? value : null));
    return { color, dashed: false, min: cells, max: cells, last: cells };
  }

  /** Keep the sparkline of a row up to date until the returned function is called. */
  subscribe(row: number): (() => void) | undefined {
    const name = this.#findName(row);
    if (name === undefined || this.#dashboard.settings.repeats.value !== 'each') return undefined;
    return this.#lines.subscribe(name);
  }

  #findName(row: number): string | undefined {
    return this.#dashboard.data?.rows.names[row];
  }
}

interface TrialsExportFormat {
  readonly format: ExportFormat;
  readonly label: string;
  readonly extension: string;
}

const SERVER_ROUTE = 'POST hparams/export';

const FORMATS: readonly TrialsExportFormat[] = [
  { format: 'csv', label: common.formatCsv, extension: 'csv' },
  { format: 'json', label: common.formatJson, extension: 'json' },
  { format: 'latex', label: common.formatLatex, extension: 'tex' },
  { format: 'markdown', label: common.formatMarkdown, extension: 'md' },
];

/** Without a server, the page writes CSV and JSON itself. */
export function listExportFormats({ context }: HParamsDashboard): readonly TrialsExportFormat[] {
  return context.supports(SERVER_ROUTE)
    ? FORMATS
    : FORMATS.filter(({ format }) => format === 'csv' || format === 'json');
}

/** Download the visible columns of the trials that pass the filters, in their order. */
export async function downloadTrials(
  dashboard: HParamsDashboard,
  { format, extension }: TrialsExportFormat,
): Promise<void> {
  dashboard.exportError = null;
  try {
    const file = dashboard.context.supports(SERVER_ROUTE)
      ? await dashboard.context.api.blob('export', makeExportRequest(dashboard, format))
      : serializeTrials(dashboard, format);
    downloadBlob(file, `trials.${extension}`);
  } catch (error) {
    dashboard.exportError = toProblem(error);
  }
}

function makeExportRequest(dashboard: HParamsDashboard, format: ExportFormat): ExportRequest {
  const { reduction, lastCount, step, repeats, study } = dashboard.settings;
  const names = dashboard.data?.rows.names ?? [];
  const { query } = dashboard.paged;
  return {
    format,
    columns: ['name', ...dashboard.visibleColumns.map(({ key }) => key)],
    ...(query
      ? { query }
      : { sessions: Array.from(dashboard.sortedRows, (row) => names[row] ?? '') }),
    reduction: reduction.value,
    count: lastCount.value,
    step: step.value,
    aggregation: repeats.value === 'each' ? null : repeats.value,
    study: study.value,
  };
}

function serializeTrials(dashboard: HParamsDashboard, format: ExportFormat): Blob {
  const table = makeExportTable(dashboard);
  return format === 'csv'
    ? new Blob([toCsv(table)], { type: 'text/csv' })
    : new Blob([serializeTable(table)], { type: 'application/json' });
}

/** The column titles are names in the log, so that files are the same in all languages. */
function makeExportTable({ visibleColumns, trials, sortedRows }: HParamsDashboard): ExportTable {
  return {
    columns: ['name', ...visibleColumns.map(getExportTitle)],
    rows: Array.from(sortedRows, (row) => [
      trials.names[row] ?? '',
      ...visibleColumns.map((column) => getExportValue(column, row)),
    ]),
  };
}

function getExportTitle({ kind, key, title }: TrialColumn): string {
  return kind === 'info' ? key : title;
}

function getExportValue(column: TrialColumn, row: number): string | number | null {
  if (!hasValue(column, row)) return null;
  const value = column.values[row] ?? NaN;
  if (column.categories) return column.categories[value] ?? '';
  const text = column.texts?.[row] ?? null;
  if (text !== null) return text;
  if (column.format === 'time')
    return Number.isFinite(value) ? new Date(value * 1000).toISOString() : null;
  return value;
}

/** Write JSON in the format of the server, with NaN and infinity as strings. */
function serializeTable({ columns, rows }: ExportTable): string {
  const plain = rows.map((cells) =>
    cells.map((cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell)),
  );
  return JSON.stringify({ header: columns, rows: plain });
}

/** Download the plot of the current view. */
export async function downloadPlot(
  dashboard: HParamsDashboard,
  format: 'svg' | 'png',
): Promise<void> {
  const { plotFigures, settings, objective, passingRows, colorLegend } = dashboard;
  if (!plotFigures.root) return;
  const view = settings.view.value;
  const legend = view === 'importance' ? null : colorLegend;
  const title = m.exportPlotTitle({
    view: VIEW_TITLES[view],
    metric: objective?.column.title ?? common.noValueSymbol,
    count: passingRows.length,
  });
  const image = makePlotImage(plotFigures.root, plotFigures.all, legend);
  await downloadImage(image, format, title);
}
