import {
  between,
  keepWithin,
  lengthOf,
  looksLike,
  move,
  type Span,
  wholeOf,
  zoom,
} from '../view/span';

/** How much of the way is made in a frame. */
const PACE = 0.3;

/** Which stretch of time is seen. What is asked for is gone to smoothly, where motion is wanted. */
export class Camera {
  span = $state.raw<Span>({ start: 0, end: 1 });
  #whole = $state.raw<Span>({ start: 0, end: 1 });
  #target: Span = { start: 0, end: 1 };
  #frame = 0;

  get whole(): Span {
    return this.#whole;
  }

  get isMoving(): boolean {
    return this.#frame !== 0;
  }

  /** Says how long the trace is. */
  setWhole(trace: Span): void {
    this.#whole = wholeOf(trace);
  }

  /** Is there at once. */
  jump(span: Span): void {
    this.#stop();
    this.span = this.#target = keepWithin(span, this.#whole);
  }

  go(span: Span): void {
    this.#target = keepWithin(span, this.#whole);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) this.jump(span);
    else if (this.#frame === 0) this.#step();
  }

  /** Zooms around a place, a part of the width; from where it is going, not from where it is. */
  zoomBy(by: number, around = 0.5): void {
    const { start } = this.#target;
    this.go(zoom(this.#target, by, start + around * lengthOf(this.#target)));
  }

  /** Moves by a part of the width. */
  panBy(share: number): void {
    this.go(move(this.#target, share * lengthOf(this.#target)));
  }

  fit(): void {
    this.go(this.#whole);
  }

  stop(): void {
    this.#stop();
  }

  #step = (): void => {
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const near = between(this.span, this.#target, PACE);
      const isThere = looksLike(near, this.#target);
      this.span = isThere ? this.#target : near;
      if (!isThere) this.#step();
    });
  };

  #stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}
