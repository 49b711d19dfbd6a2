/** Puts work off to the next frame; of what comes before then only the last is done. */
export class NextFrame {
  #work: (() => void) | null = null;
  #request = 0;

  do(work: () => void): void {
    this.#work = work;
    this.#request ||= requestAnimationFrame(() => {
      this.#request = 0;
      this.#work?.();
    });
  }

  cancel(): void {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
  }
}
