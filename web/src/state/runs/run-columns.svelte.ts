import {
  type ColumnCell,
  type ColumnListResponse,
  type ColumnsResponse,
  getRunColumns,
  listRunColumns,
  NO_COLUMNS,
  type RunColumnKey,
} from '../../api/client';
import { toProblem } from '../../api/errors';
import { RequestScheduler } from '../../api/request-scheduler';
import { type Codec, json, list } from '../../lib/codecs';
import type { FieldValue } from '../../lib/filter-expression';
import type { Param, Preferences, UrlState } from '../../plugin/context';
import type { RunsPanelState } from '../preferences.svelte';
import type { RunEntries } from './run-entries.svelte';

const COLUMNS_REFRESH_MS = 1000;
const SERVER_COLUMN = /^(hparam|last|min|max):/;
const NON_FINITE_STRINGS: readonly ColumnCell[] = ['NaN', 'Infinity', '-Infinity'];

type Values = ReadonlyMap<string, ReadonlyMap<string, FieldValue>>;

/** Values of runs that the server computes: hyperparameters and summaries of metrics. */
export class RunColumnValues {
  /** The columns that can be requested. */
  available = $state.raw<ColumnListResponse>(NO_COLUMNS);
  /** True after the first response. */
  isReady = $state(false);

  #values = $state.raw<Values>(new Map());
  #requested: readonly RunColumnKey[] = [];
  readonly #refreshList = new RequestScheduler(() => this.#loadList(), COLUMNS_REFRESH_MS);
  readonly #refreshValues = new RequestScheduler(() => this.#loadValues(), COLUMNS_REFRESH_MS);

  /** Of a large log, the list of runs has the values. */
  list = $state.raw<{ getCell(key: string, run: string): FieldValue } | null>(null);

  get(key: string, run: string): FieldValue {
    if (this.list) return this.list.getCell(key, run);
    return this.#values.get(key)?.get(run) ?? null;
  }

  /** Keep these columns up to date; keys of columns that the server does not have are ignored. */
  subscribe(keys: Iterable<string>): void {
    const requested = [...new Set(keys)].filter(isColumnKey);
    const hasNew = requested.some((key) => !this.#requested.includes(key));
    this.#requested = requested;
    if (hasNew) this.#refreshValues.scheduleNow();
  }

  /** Load again after a change of a run. */
  refresh(): void {
    this.#refreshList.schedule();
    if (this.#requested.length > 0) this.#refreshValues.schedule();
  }

  async #loadList(): Promise<void> {
    try {
      this.available = await listRunColumns();
      this.isReady = true;
    } catch (error) {
      // Known columns stay; the connection status reports an unreachable server.
      toProblem(error);
    }
  }

  async #loadValues(): Promise<void> {
    if (this.#requested.length === 0) return;
    try {
      this.#values = parseValues(await getRunColumns(this.#requested));
    } catch (error) {
      toProblem(error);
    }
  }
}

function isColumnKey(key: string): key is RunColumnKey {
  return SERVER_COLUMN.test(key);
}

function parseValues({ runs, columns }: ColumnsResponse): Values {
  return new Map(
    Object.entries(columns).map(([key, cells]) => [
      key,
      new Map(runs.map((run, at) => [run, parseCell(cells[at] ?? null)])),
    ]),
  );
}

function parseCell(cell: ColumnCell): FieldValue {
  return NON_FINITE_STRINGS.includes(cell) ? Number(cell) : cell;
}

const DEFAULT_COLUMNS = ['start', 'points'];
const MAX_AUTO_COLUMNS = 2;
/** Checkbox, gaps and padding of a row. */
const ROW_EXTRA_PX = 48;
/** Average width of a character of a name. */
const CHARACTER_PX = 6.8;
/** Names longer than this do not displace columns. */
const MAX_NAME_CHARACTERS = 34;
export const MIN_COLUMN_PX = 36;
export const MAX_COLUMN_PX = 400;
const DEFAULT_WIDTHS: Readonly<Record<string, number>> = {
  start: 94,
  duration: 84,
  points: 54,
  tags: 48,
  labels: 90,
  note: 140,
};
const DEFAULT_WIDTH = 62;

type Widths = Readonly<Record<string, number>>;

/** The columns of the table beside the name. */
export class VisibleColumns {
  readonly #columnValues: RunColumnValues;
  readonly #entries: RunEntries;
  readonly #panel: RunsPanelState;
  readonly #chosen: Param<readonly string[] | null>;
  readonly #widths: Param<Widths>;

  /** Columns that the user chose, or the default, whether they have values or not. */
  readonly selected: readonly string[] = $derived.by(
    () => this.#chosen.value ?? this.#fitBesideNames(this.#defaultKeys),
  );

  /** Selected columns with a value for at least one run. */
  readonly keys: readonly string[] = $derived.by(() =>
    this.selected.filter((key) => this.#entries.all.some((entry) => entry.hasValue(key))),
  );

  /** Hyperparameters that differ between runs are the most useful default. */
  readonly #defaultKeys: readonly string[] = $derived.by(() => {
    if (this.#entries.count === 0) return DEFAULT_COLUMNS;
    const differing = this.#columnValues.available.hparams.filter(({ distinct }) => distinct > 1);
    const keys = differing.slice(0, MAX_AUTO_COLUMNS).map(({ name }) => `hparam:${name}`);
    return keys.length > 0 ? keys : DEFAULT_COLUMNS;
  });

  readonly #nameWidth = $derived.by(() => {
    const entries = this.#entries;
    const lengths = entries.all.map((entry) => entries.getLabelInFolder(entry).length);
    const longest = lengths.reduce((max, length) => Math.max(max, length), 0);
    return CHARACTER_PX * Math.min(MAX_NAME_CHARACTERS, longest);
  });

  constructor(
    url: UrlState,
    preferences: Preferences,
    panel: RunsPanelState,
    columnValues: RunColumnValues,
    entries: RunEntries,
  ) {
    this.#panel = panel;
    this.#columnValues = columnValues;
    this.#entries = entries;
    const codec: Codec<readonly string[] | null> = {
      parse: list.parse,
      format: (keys) => (keys === null ? '~' : list.format(keys)),
    };
    this.#chosen = url.param('columns', codec, null);
    this.#widths = preferences.param('runs-column-widths', json(isWidths, {}), {});
  }

  getWidth(key: string): number {
    return this.#widths.value[key] ?? DEFAULT_WIDTHS[key] ?? DEFAULT_WIDTH;
  }

  resize(key: string, width: number): void {
    this.#widths.set({ ...this.#widths.value, [key]: width });
  }

  add(key: string): void {
    if (!this.selected.includes(key)) this.#chosen.set([...this.selected, key]);
  }

  remove(key: string): void {
    this.#chosen.set(this.selected.filter((other) => other !== key));
  }

  /** Move a column `by` positions to the right. */
  move(key: string, by: number): void {
    const others = this.selected.filter((other) => other !== key);
    const index = this.selected.indexOf(key) + by;
    this.#chosen.set(others.toSpliced(Math.max(0, index), 0, key));
  }

  /** Drop columns from the end until the names fit too. */
  #fitBesideNames(keys: readonly string[]): readonly string[] {
    if (this.#panel.hasTwoLines) return keys;
    let available = this.#panel.width - ROW_EXTRA_PX - this.#nameWidth;
    return keys.filter((key) => (available -= this.getWidth(key)) >= 0);
  }
}

function isWidths(value: unknown): value is Widths {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((width) => typeof width === 'number')
  );
}
