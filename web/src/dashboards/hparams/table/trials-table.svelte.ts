/** Columns of the trials table (menu, drag and layout), and its sparklines. */
import { QueryMap } from '../../../api/create-query.svelte';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import type { SparklineSeries } from '../../../charts/Sparkline.svelte';
import type { MenuItem } from '../../../components/MenuItems.svelte';
import type { HParamsDashboard } from '../hparams-dashboard.svelte';
import type { ColumnWidths } from '../hparams-settings';
import { getColorRamp, listScales } from '../model/column-axes';
import type { TrialColumn } from '../model/trials';
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
const NAME_COLUMN_WIDTH_PX = 220;
/** On phones, leaves space for the objective beside the name. */
const NARROW_NAME_COLUMN_WIDTH_PX = 176;
/** With space for a sparkline beside the number. */
const OBJECTIVE_COLUMN_WIDTH_PX = 190;

interface TableLayoutOptions {
  readonly objectiveKey: string | null;
  readonly pinnedKeys: readonly string[];
  readonly widths: ColumnWidths;
  /** Whether the window is that of a phone. */
  readonly isNarrow: boolean;
}

/** Return the columns in table order: name, objective and pinned columns are sticky and come first. */
export function layoutTableColumns(
  name: TrialColumn,
  columns: readonly TrialColumn[],
  { objectiveKey, pinnedKeys, widths, isNarrow }: TableLayoutOptions,
): TrialTableColumn[] {
  const isObjective = ({ key }: TrialColumn): boolean => key === objectiveKey;
  const isPinned = (column: TrialColumn): boolean =>
    !isObjective(column) && pinnedKeys.includes(column.key);
  const isScrolling = (column: TrialColumn): boolean => !isObjective(column) && !isPinned(column);
  const nameWidth = isNarrow ? NARROW_NAME_COLUMN_WIDTH_PX : NAME_COLUMN_WIDTH_PX;
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
