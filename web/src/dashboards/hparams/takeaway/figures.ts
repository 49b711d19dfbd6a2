import type { Pen } from '../../../charts/pen/pen';
import type { Palette } from '../../../charts/picture/palette';

/** Something that is drawn of the sessions. */
export interface Figure {
  /** Where it stands on the page. */
  readonly element: HTMLElement;
  /** Draws it from its own corner, in the colours of a sheet of paper. */
  draw(pen: Pen, palette: Palette, inks: readonly string[]): void;
}

/** What is drawn at present, so that all of it can be taken away as it is seen. */
export class Figures {
  /** What holds them, and the words around them. */
  root: HTMLElement | undefined;
  readonly #all = new Set<Figure>();

  get all(): readonly Figure[] {
    return [...this.#all];
  }

  /** Returns how to take it off again: for an effect. */
  add(figure: Figure): () => void {
    this.#all.add(figure);
    return () => this.#all.delete(figure);
  }
}
