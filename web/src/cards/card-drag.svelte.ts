interface CardDragOptions {
  /** Type of the dragged data, which is the id of the card. */
  readonly mimeType: string;
  readonly effect: 'link' | 'move';
  readonly id: () => string;
  /** Returns whether the dropped card was accepted. */
  readonly onDrop: (id: string) => boolean;
}

/** Drag and drop of cards by their header. */
export class CardDrag {
  isDropTarget = $state(false);
  readonly #drop: CardDragOptions;

  constructor(drop: CardDragOptions) {
    this.#drop = drop;
  }

  readonly start = (event: DragEvent): void => {
    const { mimeType, effect, id } = this.#drop;
    event.dataTransfer?.setData(mimeType, id());
    if (event.dataTransfer) event.dataTransfer.effectAllowed = effect;
  };

  readonly over = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes(this.#drop.mimeType)) return;
    event.preventDefault();
    this.isDropTarget = true;
  };

  readonly leave = (): void => {
    this.isDropTarget = false;
  };

  readonly drop = (event: DragEvent): void => {
    this.isDropTarget = false;
    const { mimeType, id, onDrop } = this.#drop;
    const other = event.dataTransfer?.getData(mimeType) ?? '';
    if (other !== '' && other !== id() && onDrop(other)) event.preventDefault();
  };
}
