/** In one turn no more is drawn than fits, so that the page answers while much is drawn. */
const TURN_MS = { moving: 22, still: 40 };
/** What an element is taken to cost before any was drawn. */
const FIRST_COST_MS = { hardware: 2e-6, software: 1e-4 };
/** Beginning a turn costs as much as so many: fewer would not be drawn any sooner. */
const FEWEST = 40_000;

/** How many points or faces can be drawn in a turn, learnt from those drawn before. */
export class DrawingPace {
  #costMs: number;

  constructor(isSoftware: boolean) {
    this.#costMs = isSoftware ? FIRST_COST_MS.software : FIRST_COST_MS.hardware;
  }

  /** `share` of a turn is what one of several pictures may take. */
  most(isMoving: boolean, share = 1): number {
    const budget = (isMoving ? TURN_MS.moving : TURN_MS.still) * share;
    return Math.max(FEWEST, Math.floor(budget / this.#costMs));
  }

  /** Bad news counts more than good: a page that hangs is worse than one that draws less. */
  learn(elements: number, took_ms: number): void {
    if (elements < FEWEST) return;
    const cost = took_ms / elements;
    const weight = cost > this.#costMs ? 0.5 : 0.2;
    this.#costMs += (cost - this.#costMs) * weight;
  }
}
