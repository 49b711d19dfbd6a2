import type { MenuItem } from '../../../components/menu';
import type { HParamsDashboard } from '../hparams-dashboard.svelte';
import type { ColumnWidths } from '../hparams-settings';
import { listScales } from '../model/column-axes';
import type { TrialColumn } from '../model/trials';

const SCALE_LABELS = {
  linear: 'Linear axis',
  log: 'Logarithmic axis',
  quantile: 'Quantile axis',
} as const;

/** What can be done with a column, in the table as on an axis. */
export function makeColumnMenu(study: HParamsDashboard, column: TrialColumn): MenuItem[][] {
  return [
    makeSortItems(study, column),
    makeScaleItems(study, column),
    makeMoveItems(study, column),
    [
      {
        label: 'Colour by it',
        checked: study.colorColumn === column,
        run: () => study.settings.colorBy.set(column.key),
      },
      {
        label: 'Clear its filter',
        disabled: !study.filters.has(column.key),
        run: () => study.setFilter(column.key, null),
      },
      { label: 'Hide', icon: 'close', run: () => study.setColumnVisible(column.key, false) },
    ],
  ];
}

function makeSortItems({ settings }: HParamsDashboard, { key }: TrialColumn): MenuItem[] {
  const { sort } = settings;
  const others = sort.value.filter((one) => one.key !== key);
  const by = (descending: boolean) => ({ key, descending });
  return [
    { label: 'Sort ascending', icon: 'up', run: () => sort.set([by(false)]) },
    { label: 'Sort descending', icon: 'open', run: () => sort.set([by(true)]) },
    {
      label: 'Then by this, ascending',
      hint: 'Shift+click',
      disabled: others.length === 0,
      run: () => sort.set([...others, by(false)]),
    },
  ];
}

function makeScaleItems(study: HParamsDashboard, column: TrialColumn): MenuItem[] {
  const { scale } = study.getAxis(column);
  const scales = listScales(column);
  const choices = scales.length < 2 ? [] : scales;
  const isFlipped = study.settings.axes.value.get(column.key)?.flipped ?? false;
  return [
    ...choices.map((one) => ({
      label: SCALE_LABELS[one],
      checked: one === scale,
      run: () => study.setScale(column.key, one),
    })),
    { label: 'Upside down', checked: isFlipped, run: () => study.toggleInverted(column.key) },
  ];
}

function makeMoveItems(study: HParamsDashboard, { key }: TrialColumn): MenuItem[] {
  const { pinnedColumns } = study.settings;
  const keys = study.visibleColumns.map((column) => column.key);
  const at = keys.indexOf(key);
  const isPinned = pinnedColumns.value.includes(key);
  const others = pinnedColumns.value.filter((other) => other !== key);
  return [
    {
      label: 'Move left',
      disabled: at <= 0,
      run: () => study.moveColumn(key, keys[at - 1] ?? null),
    },
    {
      label: 'Move right',
      disabled: at < 0 || at >= keys.length - 1,
      run: () => study.moveColumn(key, keys[at + 2] ?? null),
    },
    {
      label: 'Pin to the left',
      checked: isPinned,
      run: () => pinnedColumns.set(isPinned ? others : [...others, key]),
    },
  ];
}

/** A column that is dragged to another place by its heading. */
export class ColumnDrag {
  draggedKey = $state<string | null>(null);
  /** The column that it would be put before. */
  targetKey = $state<string | null>(null);
  readonly #dashboard: HParamsDashboard;

  constructor(study: HParamsDashboard) {
    this.#dashboard = study;
  }

  /** What the heading of a column listens to. */
  makeHandlers(key: string) {
    return {
      draggable: true,
      ondragstart: (event: DragEvent) => {
        event.dataTransfer?.setData('text/plain', key);
        this.draggedKey = key;
      },
      ondragover: (event: DragEvent) => {
        if (this.draggedKey === null) return;
        event.preventDefault();
        this.targetKey = key;
      },
      ondrop: (event: DragEvent) => {
        event.preventDefault();
        this.#drop(key);
      },
      ondragend: () => this.#end(),
    };
  }

  /** Dragged to the right it goes behind the one it is dropped on. */
  #drop(on: string): void {
    const keys = this.#dashboard.visibleColumns.map((column) => column.key);
    const dragged = this.draggedKey;
    if (dragged !== null && dragged !== on) {
      const isRightwards = keys.indexOf(dragged) < keys.indexOf(on);
      this.#dashboard.moveColumn(dragged, isRightwards ? (keys[keys.indexOf(on) + 1] ?? null) : on);
    }
    this.#end();
  }

  #end(): void {
    this.draggedKey = null;
    this.targetKey = null;
  }
}

/** A column and where it stands in the table. */
export interface TrialTableColumn {
  readonly column: TrialColumn;
  readonly width: number;
  /** How far from the left edge it stays while others scroll below; null where it scrolls. */
  readonly stickyLeft: number | null;
}

export const MIN_COLUMN_WIDTH_PX = 56;
export const MAX_COLUMN_WIDTH_PX = 600;
/** Wide enough for its title, within reason. */
const CHARACTER_WIDTH_PX = 7;
const TITLE_PADDING_PX = 36;
const DEFAULT_WIDTH_RANGE_PX = [84, 170] as const;
const NAME_COLUMN_WIDTH_PX = 220;
/** Room for the line of the metric beside its number. */
const OBJECTIVE_COLUMN_WIDTH_PX = 190;

/** The name, what sessions are judged by and pinned columns first, as they stay at the left. */
export function layoutTableColumns(
  name: TrialColumn,
  columns: readonly TrialColumn[],
  pinned: readonly string[],
  widths: ColumnWidths,
  goalKey: string | null,
): TrialTableColumn[] {
  const isPinned = ({ key }: TrialColumn): boolean => key === goalKey || pinned.includes(key);
  const isGoal = ({ key }: TrialColumn): boolean => key === goalKey;
  const stuck = [
    name,
    ...columns.filter(isGoal),
    ...columns.filter((column) => isPinned(column) && !isGoal(column)),
  ];
  const moving = columns.filter((column) => !isPinned(column));
  let left = 0;
  const widthOf = (column: TrialColumn): number =>
    widths.get(column.key) ?? getDefaultWidth(column, column === name, isGoal(column));
  return [
    ...stuck.map((column) => {
      const width = widthOf(column);
      left += width;
      return { column, width, stickyLeft: left - width };
    }),
    ...moving.map((column) => ({ column, width: widthOf(column), stickyLeft: null })),
  ];
}

function getDefaultWidth({ title }: TrialColumn, isName: boolean, isGoal: boolean): number {
  if (isName) return NAME_COLUMN_WIDTH_PX;
  if (isGoal) return OBJECTIVE_COLUMN_WIDTH_PX;
  const [least, most] = DEFAULT_WIDTH_RANGE_PX;
  return Math.min(most, Math.max(least, title.length * CHARACTER_WIDTH_PX + TITLE_PADDING_PX));
}
