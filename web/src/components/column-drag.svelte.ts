/** Moves columns by dragging their headers. */
export class ColumnDrag {
  draggedKey = $state<string | null>(null);
  /** The column under the pointer. */
  targetKey = $state<string | null>(null);
  readonly #listKeys: () => readonly string[];
  readonly #move: (key: string, before: string | null) => void;

  /**
   * @param listKeys Returns the columns that can be moved, in their order.
   * @param move Moves a column before another one, or to the end.
   */
  constructor(
    listKeys: () => readonly string[],
    move: (key: string, before: string | null) => void,
  ) {
    this.#listKeys = listKeys;
    this.#move = move;
  }

  /** Return the attributes of a column header. */
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

  /** Moved to the right, a column goes after the one it is dropped on. */
  #drop(target: string): void {
    const keys = this.#listKeys();
    const dragged = this.draggedKey;
    if (dragged !== null && dragged !== target) {
      const index = keys.indexOf(target);
      const movesRight = keys.indexOf(dragged) < index;
      this.#move(dragged, movesRight ? (keys[index + 1] ?? null) : target);
    }
    this.#end();
  }

  #end(): void {
    this.draggedKey = null;
    this.targetKey = null;
  }
}
