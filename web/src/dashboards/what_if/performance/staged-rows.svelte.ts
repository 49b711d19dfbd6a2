/** Rows of which a few change in each frame: laying out a whole table takes longer than a frame. */
const ROWS_PER_FRAME = 7;

export class StagedRows<Row extends { readonly name: string }> {
  /** What is shown of each row. */
  rows = $state.raw<readonly Row[]>([]);
  /** All rows as they were when the last of them was shown, for what depends on all. */
  complete = $state.raw<readonly Row[]>([]);
  #target: readonly Row[] = [];
  #frame = 0;
  /** Where the next frame goes on. */
  #next = 0;

  /** Call it where effects can be created: it stops with the component. */
  constructor() {
    $effect(() => () => cancelAnimationFrame(this.#frame));
  }

  /** Show other rows: those that `isUrgent` now, and the others within some frames. */
  show(target: readonly Row[], isUrgent: (row: Row) => boolean): void {
    const { rows } = this;
    this.#target = target;
    const isSame =
      rows.length === target.length && rows.every(({ name }, at) => name === target[at]?.name);
    if (!isSame) {
      this.rows = target;
      this.complete = target;
      this.#next = 0;
      return;
    }
    this.rows = rows.map((row, at) => {
      const next = target[at] ?? row;
      return isUrgent(next) ? next : row;
    });
    if (this.#frame === 0) this.#schedule();
  }

  #schedule(): void {
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#showNext();
      if (this.complete !== this.#target) this.#schedule();
    });
  }

  /** Show the next rows; in the frame after the last ones, what depends on all. */
  #showNext(): void {
    const rows = [...this.rows];
    let left = ROWS_PER_FRAME;
    for (; this.#next < rows.length && left > 0; this.#next++) {
      const row = this.#target[this.#next];
      if (!row || row === rows[this.#next]) continue;
      rows[this.#next] = row;
      left--;
    }
    if (left < ROWS_PER_FRAME) this.rows = rows;
    else {
      this.complete = this.#target;
      this.#next = 0;
    }
  }
}
