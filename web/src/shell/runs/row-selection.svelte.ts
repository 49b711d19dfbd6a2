import { runTable, type TableRow } from '../../state/runs/run-groups.svelte';

/** Which line of the table the keyboard is at, and which lines an action is meant for. */
class RowSelection {
  #activeId = $state.raw<string | null>(null);
  /** Where a range that is drawn with the shift key began. */
  #anchorId: string | null = null;
  #marked = $state.raw<ReadonlySet<string>>(new Set());

  /** Place of the active line, -1 if there is none or the filter has taken it away. */
  readonly activeIndex = $derived(rowIndexOf(this.#activeId));

  get activeRow(): TableRow | undefined {
    return runTable.rows[this.activeIndex];
  }

  isSelected(row: TableRow): boolean {
    return this.#marked.has(row.id);
  }

  /** Names of the marked runs, or of the one that the keyboard is at. */
  get names(): string[] {
    return namesOf(runTable.rows.filter((row) => this.isSelected(row)));
  }

  /** The runs that an action on `row` is meant for: all that are marked, if it is one of them. */
  namesFor(row: TableRow): string[] {
    return this.isSelected(row) ? this.names : namesOf([row]);
  }

  moveTo(place: number, how: 'alone' | 'more' | 'range' = 'alone'): void {
    const row = runTable.rows[place];
    if (!row) return;
    const id = row.id;
    if (how === 'range') this.#markRange(place);
    else {
      this.#anchorId = id;
      this.#marked = new Set(how === 'more' ? toggleId(this.#marked, id) : [id]);
    }
    this.#activeId = id;
  }

  selectAll(): void {
    this.#marked = new Set(runTable.rows.map((row) => row.id));
  }

  clear(): void {
    this.#marked = new Set();
  }

  /** Names of the runs from where the last range began to `place`. */
  namesInRangeTo(place: number): string[] {
    return namesOf(this.#rowsUpTo(place));
  }

  #markRange(place: number): void {
    this.#marked = new Set(this.#rowsUpTo(place).map((row) => row.id));
  }

  #rowsUpTo(place: number): readonly TableRow[] {
    const anchor = rowIndexOf(this.#anchorId);
    const from = anchor < 0 ? place : anchor;
    return runTable.rows.slice(Math.min(from, place), Math.max(from, place) + 1);
  }
}

function rowIndexOf(id: string | null): number {
  return id === null ? -1 : runTable.rows.findIndex((row) => row.id === id);
}

function namesOf(rows: readonly TableRow[]): string[] {
  const names = rows.flatMap((row) =>
    row.kind === 'run' ? [row.name] : row.members.map((member) => member.name),
  );
  return [...new Set(names)];
}

function toggleId(ids: ReadonlySet<string>, id: string): string[] {
  return ids.has(id) ? [...ids].filter((other) => other !== id) : [...ids, id];
}

export const rowSelection = new RowSelection();
