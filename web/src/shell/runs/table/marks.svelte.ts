import { idOfRow, table, type TableRow } from '../../../core/runs/table.svelte';

/** Which line of the table the keyboard is at, and which lines an action is meant for. */
class Marks {
  #activeId = $state.raw<string | null>(null);
  /** Where a range that is drawn with the shift key began. */
  #anchorId: string | null = null;
  #marked = $state.raw<ReadonlySet<string>>(new Set());

  readonly #places = $derived(new Map(table.rows.map((row, place) => [idOfRow(row), place])));

  /** Place of the active line, -1 if there is none or the filter has taken it away. */
  get active(): number {
    return this.#placeOf(this.#activeId);
  }

  get activeRow(): TableRow | undefined {
    return table.rows[this.active];
  }

  isMarked(row: TableRow): boolean {
    return this.#marked.has(idOfRow(row));
  }

  /** Names of the marked runs, or of the one that the keyboard is at. */
  get names(): string[] {
    return namesOf(table.rows.filter((row) => this.isMarked(row)));
  }

  /** The runs that an action on `row` is meant for: all that are marked, if it is one of them. */
  namesFor(row: TableRow): string[] {
    return this.isMarked(row) ? this.names : namesOf([row]);
  }

  go(place: number, how: 'alone' | 'more' | 'range' = 'alone'): void {
    const row = table.rows[place];
    if (!row) return;
    const id = idOfRow(row);
    if (how === 'range') this.#markRange(place);
    else {
      this.#anchorId = id;
      this.#marked = how === 'more' ? withOrWithout(this.#marked, id) : new Set([id]);
    }
    this.#activeId = id;
  }

  markAll(): void {
    this.#marked = new Set(table.rows.map(idOfRow));
  }

  clear(): void {
    this.#marked = new Set();
  }

  /** Names of the runs from where the last range began to `place`. */
  namesUpTo(place: number): string[] {
    return namesOf(this.#rowsUpTo(place));
  }

  #markRange(place: number): void {
    this.#marked = new Set(this.#rowsUpTo(place).map(idOfRow));
  }

  #rowsUpTo(place: number): readonly TableRow[] {
    const anchor = this.#placeOf(this.#anchorId);
    const from = anchor < 0 ? place : anchor;
    return table.rows.slice(Math.min(from, place), Math.max(from, place) + 1);
  }

  #placeOf(id: string | null): number {
    return id === null ? -1 : (this.#places.get(id) ?? -1);
  }
}

function namesOf(rows: readonly TableRow[]): string[] {
  const names = rows.flatMap((row) =>
    row.kind === 'run' ? [row.name] : row.members.map((member) => member.name),
  );
  return [...new Set(names)];
}

function withOrWithout(ids: ReadonlySet<string>, id: string): Set<string> {
  return ids.has(id) ? new Set([...ids].filter((other) => other !== id)) : new Set([...ids, id]);
}

export const marks = new Marks();
