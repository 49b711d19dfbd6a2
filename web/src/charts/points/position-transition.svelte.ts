import type { PointPositions } from './point-scene';

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
    options: { readonly isPreview?: boolean; readonly isInstant?: boolean } = {},
  ): void {
    const before = this.positions;
    this.stop();
    if (!positions || positions.previous) {
      this.positions = positions && comparisonProgress === 0 ? getStart(positions) : positions;
      this.progress = comparisonProgress;
    } else if (before?.count !== positions.count || options.isInstant || prefersReducedMotion()) {
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
