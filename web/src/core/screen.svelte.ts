/** What room there is for the page. */
class Screen {
  readonly #narrow = matchMedia('(max-width: 760px)');
  /** There is no room for a list beside the main part. */
  narrow = $state(this.#narrow.matches);
  /** The page stands in another one, such as a notebook. */
  readonly framed = self !== top;

  constructor() {
    this.#narrow.addEventListener('change', (event) => (this.narrow = event.matches));
  }
}

export const screen = new Screen();
