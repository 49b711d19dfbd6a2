/** Whether there is room for a list beside the main part of the page. */
class Screen {
  #narrow = matchMedia('(max-width: 760px)');
  narrow = $state(this.#narrow.matches);

  constructor() {
    this.#narrow.addEventListener('change', (event) => (this.narrow = event.matches));
  }
}

export const screen = new Screen();
