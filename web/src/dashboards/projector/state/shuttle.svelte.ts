import type { Projector } from '../projector.svelte';

const STEP_MS = 900;
const SWING_MS = 1600;

/** Plays steps one after another, and lets points go to those they are compared with and back. */
export class Shuttle {
  isPlaying = $state(false);
  readonly #projector: Projector;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(projector: Projector) {
    this.#projector = projector;
  }

  /** From where it stands to the end, or from the beginning; again, to stop. */
  play(count: number, place: number, go: (at: number) => void): void {
    if (this.isPlaying) return this.stop();
    this.isPlaying = true;
    const next = (at: number): void => {
      go(at);
      if (at >= count - 1) this.isPlaying = false;
      else this.#timer = setTimeout(() => this.#wait(() => next(at + 1)), STEP_MS);
    };
    next(place >= count - 1 ? 0 : place + 1);
  }

  /** Once from one end to the other. */
  swing(): void {
    cancelAnimationFrame(this.#frame);
    const { way } = this.#projector.params;
    const [from, to] = way.value < 0.5 ? [0, 1] : [1, 0];
    const began = performance.now();
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / SWING_MS);
      const eased = share * share * (3 - 2 * share);
      way.set(Number((from + (to - from) * eased).toFixed(3)), 'replace');
      if (share < 1) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  stop(): void {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.isPlaying = false;
  }

  /** No step is left out because the one before took long. */
  #wait(go: () => void): void {
    const { main } = this.#projector.layouts;
    if (!this.isPlaying) return;
    if (main.isDone || main.problem) go();
    else this.#timer = setTimeout(() => this.#wait(go), 100);
  }
}
