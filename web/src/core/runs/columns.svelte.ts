import {
  type Cell,
  type ColumnKey,
  type ColumnsAnswer,
  type ColumnsThere,
  getColumns,
  readColumns,
} from '../../api/runcolumns';
import type { Value } from '../../base/expression/compile';
import { Pace } from '../../base/pace';

const PAUSE_MS = 1000;
const ASKED_FOR = /^(hparam|last|min|max):/;
const NUMBERS_AS_WORDS: readonly Cell[] = ['NaN', 'Infinity', '-Infinity'];

type Values = ReadonlyMap<string, ReadonlyMap<string, Value>>;

/** Values that the server knows of each run: hyperparameters, and metrics summed up. */
class RunColumns {
  /** What could be asked for. */
  there = $state.raw<ColumnsThere>({ hparams: [], metrics: [] });
  /** False until the first answer. */
  ready = $state(false);

  #values = $state.raw<Values>(new Map());
  #wanted: readonly ColumnKey[] = [];
  readonly #listing = new Pace(() => this.#list(), PAUSE_MS);
  readonly #reading = new Pace(() => this.#read(), PAUSE_MS);

  find(key: string, run: string): Value {
    return this.#values.get(key)?.get(run) ?? null;
  }

  /** Keeps these columns, of those that the server has, up to date. */
  want(keys: Iterable<string>): void {
    const wanted = [...new Set(keys)].filter(isColumnKey);
    const isNew = wanted.some((key) => !this.#wanted.includes(key));
    this.#wanted = wanted;
    if (isNew) this.#reading.askNow();
  }

  /** Some run has changed. */
  refresh(): void {
    this.#listing.ask();
    if (this.#wanted.length > 0) this.#reading.ask();
  }

  async #list(): Promise<void> {
    await tolerate(async () => {
      this.there = await getColumns();
      this.ready = true;
    });
  }

  async #read(): Promise<void> {
    if (this.#wanted.length === 0) return;
    await tolerate(async () => (this.#values = readValues(await readColumns(this.#wanted))));
  }
}

function isColumnKey(key: string): key is ColumnKey {
  return ASKED_FOR.test(key);
}

function readValues({ runs, columns }: ColumnsAnswer): Values {
  return new Map(
    Object.entries(columns).map(([key, cells]) => [
      key,
      new Map(runs.map((run, at) => [run, readCell(cells[at] ?? null)])),
    ]),
  );
}

function readCell(cell: Cell): Value {
  return NUMBERS_AS_WORDS.includes(cell) ? Number(cell) : cell;
}

async function tolerate(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch {
    // The cells stay as they are; that the server is gone is told by the live mark.
  }
}

export const columns = new RunColumns();
