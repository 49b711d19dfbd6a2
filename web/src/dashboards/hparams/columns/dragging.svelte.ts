import type { Study } from '../study.svelte';

/** A column that is dragged to another place by its heading. */
export class Dragging {
  key = $state<string | null>(null);
  /** The column that it would be put before. */
  over = $state<string | null>(null);
  readonly #study: Study;

  constructor(study: Study) {
    this.#study = study;
  }

  /** What the heading of a column listens to. */
  handlersFor(key: string) {
    return {
      draggable: true,
      ondragstart: (event: DragEvent) => {
        event.dataTransfer?.setData('text/plain', key);
        this.key = key;
      },
      ondragover: (event: DragEvent) => {
        if (this.key === null) return;
        event.preventDefault();
        this.over = key;
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
    const keys = this.#study.columns.map((column) => column.key);
    const dragged = this.key;
    if (dragged !== null && dragged !== on) {
      const isRightwards = keys.indexOf(dragged) < keys.indexOf(on);
      this.#study.move(dragged, isRightwards ? (keys[keys.indexOf(on) + 1] ?? null) : on);
    }
    this.#end();
  }

  #end(): void {
    this.key = null;
    this.over = null;
  }
}
