/** What it takes to drop one card onto another. */
interface Drop {
  /** What kind of thing is dragged; its text is the card's id. */
  readonly kind: string;
  readonly effect: 'link' | 'move';
  readonly id: () => string;
  /** Says whether the other card could be taken. */
  readonly take: (id: string) => boolean;
}

/** A card that is dragged by its title, and that others of its kind can be dropped onto. */
export class Dragging {
  isTarget = $state(false);
  readonly #drop: Drop;

  constructor(drop: Drop) {
    this.#drop = drop;
  }

  readonly start = (event: DragEvent): void => {
    const { kind, effect, id } = this.#drop;
    event.dataTransfer?.setData(kind, id());
    if (event.dataTransfer) event.dataTransfer.effectAllowed = effect;
  };

  readonly over = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes(this.#drop.kind)) return;
    event.preventDefault();
    this.isTarget = true;
  };

  readonly leave = (): void => {
    this.isTarget = false;
  };

  readonly drop = (event: DragEvent): void => {
    this.isTarget = false;
    const { kind, id, take } = this.#drop;
    const other = event.dataTransfer?.getData(kind) ?? '';
    if (other !== '' && other !== id() && take(other)) event.preventDefault();
  };
}
