import type { ProjectorState } from './projector-state.svelte';

const STEP_MS = 900;
const COMPARISON_MS = 1600;

/** Plays steps one after another, and lets points go to those they are compared with and back. */
export class Playback {
  isPlaying = $state(false);
  readonly #projector: ProjectorState;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(projector: ProjectorState) {
    this.#projector = projector;
  }

  /** From where it stands to the end, or from the beginning; again, to stop. */
  togglePlay(count: number, place: number, go: (at: number) => void): void {
    if (this.isPlaying) return this.stop();
    this.isPlaying = true;
    const next = (at: number): void => {
      go(at);
      if (at >= count - 1) this.isPlaying = false;
      else this.#timer = setTimeout(() => this.#waitForLayout(() => next(at + 1)), STEP_MS);
    };
    next(place >= count - 1 ? 0 : place + 1);
  }

  /** Once from one end to the other. */
  animateComparison(): void {
    cancelAnimationFrame(this.#frame);
    const { comparisonProgress } = this.#projector.params;
    const [from, to] = comparisonProgress.value < 0.5 ? [0, 1] : [1, 0];
    const began = performance.now();
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / COMPARISON_MS);
      const eased = share * share * (3 - 2 * share);
      comparisonProgress.set(Number((from + (to - from) * eased).toFixed(3)), 'replace');
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
  #waitForLayout(go: () => void): void {
    const { main } = this.#projector.layouts;
    if (!this.isPlaying) return;
    if (main.isDone || main.error) go();
    else this.#timer = setTimeout(() => this.#waitForLayout(go), 100);
  }
}
