/** What all charts together may take of a frame, so that the first is seen before the last is drawn. */
const FRAME_MS = 10;

const waiting = new Set<Turn>();
let request = 0;

/** Does the last work it was given when it is this chart's turn, in one of the next frames. */
export class Turn {
  #work: (() => void) | undefined;

  do(work: () => void): void {
    this.#work = work;
    waiting.add(this);
    request ||= requestAnimationFrame(takeTurns);
  }

  cancel(): void {
    this.#work = undefined;
    waiting.delete(this);
  }

  take(): void {
    const work = this.#work;
    this.cancel();
    work?.();
  }
}

function takeTurns(): void {
  const end = performance.now() + FRAME_MS;
  for (const turn of waiting) {
    turn.take();
    if (performance.now() > end) break;
  }
  request = waiting.size > 0 ? requestAnimationFrame(takeTurns) : 0;
}
