import type { PointPositions } from '../../charts/points/point-scene';
import type { ProjectorLayouts } from './projector-layouts.svelte';
import type { ProjectorParams } from './projector-params';

const TRANSITION_MS = 450;
/** About the time until the next positions of a running layout arrive. */
const PREVIEW_TRANSITION_MS = 140;

/** Moves points from their previous to their new positions. */
export class PositionTransition {
  positions = $state.raw<PointPositions | null>(null);
  /** From 0 to 1. */
  progress = $state(1);
  isMoving = $state(false);
  #frame = 0;

  /** Show compared points at `comparisonProgress`; let others move to their new positions. */
  moveTo(
    positions: PointPositions | null,
    comparisonProgress: number,
    options: { readonly isPreview: boolean },
  ): void {
    const before = this.positions;
    this.stop();
    if (!positions || positions.previous) {
      this.positions = positions && comparisonProgress === 0 ? getStart(positions) : positions;
      this.progress = comparisonProgress;
    } else if (before?.count !== positions.count || prefersReducedMotion()) {
      [this.positions, this.progress] = [positions, 1];
    } else if (before.current !== positions.current || before.previous) {
      const start = interpolatePositions(before, this.progress);
      this.positions = { ...positions, previous: fillMissing(start, positions.current) };
      this.#animate(options.isPreview ? PREVIEW_TRANSITION_MS : TRANSITION_MS);
    }
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.isMoving = false;
  }

  #animate(durationMs: number): void {
    const startedAt = performance.now();
    this.progress = 0;
    this.isMoving = true;
    const step = (now: number): void => {
      const elapsed = Math.min(1, Math.max(0, now - startedAt) / durationMs);
      this.progress = elapsed * (2 - elapsed);
      if (elapsed < 1) this.#frame = requestAnimationFrame(step);
      else this.#finish();
    };
    this.#frame = requestAnimationFrame(step);
  }

  #finish(): void {
    this.isMoving = false;
    if (this.positions) this.positions = { ...this.positions, previous: null };
  }
}

/** Points without a position at one end have none in between. */
export function interpolatePositions(
  { current, previous }: PointPositions,
  progress: number,
): Float32Array {
  if (!previous || progress === 1) return current;
  if (progress === 0) return previous;
  return current.map((value, index) => (previous[index] ?? 0) * (1 - progress) + value * progress);
}

/** The start of a comparison, with the points that the other embedding does not have. */
function getStart(positions: PointPositions): PointPositions {
  return { ...positions, current: positions.previous ?? positions.current, previous: null };
}

/** Points without a previous position appear at their new one. */
function fillMissing(before: Float32Array, after: Float32Array): Float32Array {
  return before.map((value, index) => (Number.isNaN(value) ? (after[index] ?? NaN) : value));
}

function prefersReducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

const STEP_MS = 900;
const COMPARISON_MS = 1600;
const WAIT_FOR_LAYOUT_MS = 100;

/** Plays the steps of training, and animates comparisons. */
export class Playback {
  isPlaying = $state(false);
  readonly #params: ProjectorParams;
  readonly #layouts: ProjectorLayouts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;

  constructor(params: ProjectorParams, layouts: ProjectorLayouts) {
    this.#params = params;
    this.#layouts = layouts;
  }

  /** Play from the current step to the last, or from the first if it is the last; or stop. */
  togglePlay(stepCount: number, current: number, goTo: (step: number) => void): void {
    if (this.isPlaying) return this.stop();
    this.isPlaying = true;
    const next = (step: number): void => {
      goTo(step);
      if (step >= stepCount - 1) this.isPlaying = false;
      else this.#timer = setTimeout(() => this.#waitForLayout(() => next(step + 1)), STEP_MS);
    };
    next(current >= stepCount - 1 ? 0 : current + 1);
  }

  /** Move points to the compared embedding, or back. */
  animateComparison(): void {
    cancelAnimationFrame(this.#frame);
    const { comparisonProgress } = this.#params;
    const [from, to] = comparisonProgress.value < 0.5 ? [0, 1] : [1, 0];
    const startedAt = performance.now();
    const step = (now: number): void => {
      const elapsed = Math.min(1, Math.max(0, now - startedAt) / COMPARISON_MS);
      const eased = elapsed * elapsed * (3 - 2 * elapsed);
      comparisonProgress.set(Number((from + (to - from) * eased).toFixed(3)));
      if (elapsed < 1) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  stop(): void {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.isPlaying = false;
  }

  /** A slow layout must not make the playback skip steps. */
  #waitForLayout(next: () => void): void {
    if (!this.isPlaying) return;
    if (!this.#layouts.isPending) next();
    else this.#timer = setTimeout(() => this.#waitForLayout(next), WAIT_FOR_LAYOUT_MS);
  }
}
