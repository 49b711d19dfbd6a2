import { flag, number } from '../base/codec';
import { screen } from './screen.svelte';
import { tastes } from './tastes.svelte';

export const NARROWEST = 200;
export const WIDEST = 720;
const USUAL = 320;

/** The panel with the runs: beside the main part, or over it where there is no room. */
class Side {
  readonly #width = tastes.param('runs-width', number(USUAL), USUAL);
  readonly #closed = tastes.param('runs-closed', flag, false);
  /** On a small screen it lies over the main part, and only when asked for. */
  #over = $state(false);

  get width(): number {
    return this.#width.value;
  }

  get open(): boolean {
    return screen.narrow ? this.#over : !this.#closed.value;
  }

  resize(width: number): void {
    this.#width.set(width);
  }

  toggle(): void {
    if (screen.narrow) this.#over = !this.#over;
    else this.#closed.set(!this.#closed.value);
  }

  /** Makes way for the main part where there is no room for both. */
  leave(): void {
    this.#over = false;
  }
}

export const side = new Side();
