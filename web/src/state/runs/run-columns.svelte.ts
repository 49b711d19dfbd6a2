import {
  type ColumnCell,
  type ColumnListResponse,
  type ColumnsResponse,
  getRunColumns,
  listRunColumns,
  type RunColumnKey,
} from '../../api/client';
import { RequestScheduler } from '../../api/request-scheduler';
import { json, list } from '../../lib/codecs';
import type { FieldValue } from '../../lib/filter-expression';
import { preferences } from '../preferences.svelte';
import { pageUrl } from '../url.svelte';

const COLUMNS_REFRESH_MS = 1000;
const SERVER_COLUMN = /^(hparam|last|min|max):/;
const NON_FINITE_STRINGS: readonly ColumnCell[] = ['NaN', 'Infinity', '-Infinity'];

type Values = ReadonlyMap<string, ReadonlyMap<string, FieldValue>>;

/** Values that the server knows of each run: hyperparameters, and metrics summed up. */
class RunColumnValues {
  /** What could be asked for. */
  available = $state.raw<ColumnListResponse>({ hparams: [], metrics: [] });
  /** False until the first answer. */
  isReady = $state(false);

  #values = $state.raw<Values>(new Map());
  #wanted: readonly RunColumnKey[] = [];
  readonly #listing = new RequestScheduler(() => this.#list(), COLUMNS_REFRESH_MS);
  readonly #reading = new RequestScheduler(() => this.#read(), COLUMNS_REFRESH_MS);

  get(key: string, run: string): FieldValue {
    return this.#values.get(key)?.get(run) ?? null;
  }

  /** Keeps these columns, of those that the server has, up to date. */
  subscribe(keys: Iterable<string>): void {
    const wanted = [...new Set(keys)].filter(isColumnKey);
    const isNew = wanted.some((key) => !this.#wanted.includes(key));
    this.#wanted = wanted;
    if (isNew) this.#reading.scheduleNow();
  }

  /** Some run has changed. */
  refresh(): void {
    this.#listing.schedule();
    if (this.#wanted.length > 0) this.#reading.schedule();
  }

  async #list(): Promise<void> {
    await ignoreErrors(async () => {
      this.available = await listRunColumns();
      this.isReady = true;
    });
  }

  async #read(): Promise<void> {
    if (this.#wanted.length === 0) return;
    await ignoreErrors(async () => (this.#values = readValues(await getRunColumns(this.#wanted))));
  }
}

function isColumnKey(key: string): key is RunColumnKey {
  return SERVER_COLUMN.test(key);
}

function readValues({ runs, columns }: ColumnsResponse): Values {
  return new Map(
    Object.entries(columns).map(([key, cells]) => [
      key,
      new Map(runs.map((run, at) => [run, readCell(cells[at] ?? null)])),
    ]),
  );
}

function readCell(cell: ColumnCell): FieldValue {
  return NON_FINITE_STRINGS.includes(cell) ? Number(cell) : cell;
}

async function ignoreErrors(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    // The cells stay as they are; that the server is gone is told by the live mark.
  }
}

export const columnValues = new RunColumnValues();

const DEFAULT_COLUMNS = ['start', 'points'];
const MAX_AUTO_COLUMNS = 2;
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
class VisibleColumns {
  readonly #chosen = pageUrl.param<readonly string[] | null>(
    'cols',
    { parse: list.parse, format: (keys) => (keys === null ? '~' : list.format(keys)) },
    null,
  );

  readonly #widths = preferences.param('runs-columns', json(isWidths, {}), {});

  /** Until a user chooses, hyperparameters in which runs differ tell most about them. */
  readonly keys: readonly string[] = $derived.by(() => {
    if (this.#chosen.value !== null) return this.#chosen.value;
    const telling = columnValues.available.hparams.filter((hparam) => hparam.distinct > 1);
    const keys = telling.slice(0, MAX_AUTO_COLUMNS).map((hparam) => `hparam:${hparam.name}`);
    return keys.length > 0 ? keys : DEFAULT_COLUMNS;
  });

  getWidth(key: string): number {
    return this.#widths.value[key] ?? DEFAULT_WIDTHS[key] ?? DEFAULT_WIDTH;
  }

  resize(key: string, width: number): void {
    this.#widths.set({ ...this.#widths.value, [key]: width });
  }

  add(key: string): void {
    if (!this.keys.includes(key)) this.#chosen.set([...this.keys, key]);
  }

  remove(key: string): void {
    this.#chosen.set(this.keys.filter((other) => other !== key));
  }

  /** Puts a column `by` places further to the right. */
  move(key: string, by: number): void {
    const keys = this.keys.filter((other) => other !== key);
    const place = this.keys.indexOf(key) + by;
    this.#chosen.set(keys.toSpliced(Math.max(0, place), 0, key));
  }
}

function isWidths(value: unknown): value is Widths {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((width) => typeof width === 'number')
  );
}

export const visibleColumns = new VisibleColumns();
