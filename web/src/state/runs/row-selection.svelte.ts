import type { RunTable, TableRow } from './run-groups.svelte';

/** The table row that has the keyboard focus, and the rows that an action applies to. */
export class RowSelection {
  readonly #table: RunTable;
  #activeId = $state.raw<string | null>(null);
  /** The row at which a range selected with the shift key begins. */
  #anchorId: string | null = null;
  #selectedIds = $state.raw<ReadonlySet<string>>(new Set());

  /** Index of the focused row; -1 if there is none or the filter excludes it. */
  readonly activeIndex: number = $derived.by(() => this.#indexOf(this.#activeId));

  constructor(table: RunTable) {
    this.#table = table;
  }

  get activeRow(): TableRow | undefined {
    return this.#table.rows[this.activeIndex];
  }

  isSelected(row: TableRow): boolean {
    return this.#selectedIds.has(row.id);
  }

  /** Return the runs that an action on `row` applies to: all selected ones if it is one of them. */
  namesFor(row: TableRow): string[] {
    if (!this.isSelected(row)) return listNames([row]);
    return listNames(this.#table.rows.filter((row) => this.isSelected(row)));
  }

  moveTo(index: number, mode: 'replace' | 'toggle' | 'range' = 'replace'): void {
    const row = this.#table.rows[index];
    if (!row) return;
    if (mode === 'range') {
      this.#selectedIds = new Set(this.#rowsInRangeTo(index).map(({ id }) => id));
    } else {
      this.#anchorId = row.id;
      this.#selectedIds = new Set(mode === 'toggle' ? this.#toggle(row.id) : [row.id]);
    }
    this.#activeId = row.id;
  }

  selectAll(): void {
    this.#selectedIds = new Set(this.#table.rows.map((row) => row.id));
  }

  clear(): void {
    this.#selectedIds = new Set();
  }

  /** Return the names of the runs from the start of the range to `index`. */
  namesInRangeTo(index: number): string[] {
    return listNames(this.#rowsInRangeTo(index));
  }

  #rowsInRangeTo(index: number): readonly TableRow[] {
    const anchor = this.#indexOf(this.#anchorId);
    const from = anchor < 0 ? index : anchor;
    return this.#table.rows.slice(Math.min(from, index), Math.max(from, index) + 1);
  }

  #indexOf(id: string | null): number {
    return id === null ? -1 : this.#table.rows.findIndex((row) => row.id === id);
  }

  #toggle(id: string): string[] {
    const ids = [...this.#selectedIds];
    return ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id];
  }
}

/** A header row represents the runs below it, unless these are in the list themselves. */
function listNames(rows: readonly TableRow[]): string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const names = rows.flatMap((row) => {
    if (row.kind === 'run') return [row.name];
    const [first] = row.members;
    return first && ids.has(first.id) ? [] : row.members.map(({ name }) => name);
  });
  return [...new Set(names)];
}

/** The runs that are being edited. */
export class RunEditing {
  /** The run that is renamed in the table. */
  renaming = $state.raw<string | null>(null);
  /** The runs whose note, tags and color are edited in the dialog. */
  editing = $state.raw<readonly string[] | null>(null);
}
