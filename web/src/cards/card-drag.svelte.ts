/** What it takes to drop one card onto another. */
interface CardDragOptions {
  /** What kind of thing is dragged; its text is the card's id. */
  readonly mimeType: string;
  readonly effect: 'link' | 'move';
  readonly id: () => string;
  /** Says whether the other card could be taken. */
  readonly onDrop: (id: string) => boolean;
}

/** A card that is dragged by its title, and that others of its kind can be dropped onto. */
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
