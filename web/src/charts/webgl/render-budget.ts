const SOFTWARE_RENDERERS = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/**
 * Whether pictures in space are drawn without a graphics card; null where the browser cannot draw
 * them at all. Asked of a context of its own, as smooth edges are chosen when one is made.
 */
export function detectSoftwareRendering(): boolean | null {
  const context = document.createElement('canvas').getContext('webgl2');
  if (!context) return null;
  const about = context.getExtension('WEBGL_debug_renderer_info');
  const name = about ? String(context.getParameter(about.UNMASKED_RENDERER_WEBGL)) : '';
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return SOFTWARE_RENDERERS.test(name);
}

/** In one turn no more is drawn than fits, so that the page answers while much is drawn. */
const FRAME_BUDGET_MS = { moving: 22, still: 40 };
/** What an element is taken to cost before any was drawn. */
const INITIAL_COST_MS = { hardware: 2e-6, software: 1e-4 };
/** Beginning a turn costs as much as so many: fewer would not be drawn any sooner. */
const MIN_ELEMENTS = 40_000;

/** How many points or faces can be drawn in a turn, learnt from those drawn before. */
export class RenderBudget {
  #costMs: number;

  constructor(isSoftware: boolean) {
    this.#costMs = isSoftware ? INITIAL_COST_MS.software : INITIAL_COST_MS.hardware;
  }

  /** `share` of a turn is what one of several pictures may take. */
  maxElements(isMoving: boolean, share = 1): number {
    const budget = (isMoving ? FRAME_BUDGET_MS.moving : FRAME_BUDGET_MS.still) * share;
    return Math.max(MIN_ELEMENTS, Math.floor(budget / this.#costMs));
  }

  /** Bad news counts more than good: a page that hangs is worse than one that draws less. */
  recordCost(elements: number, took_ms: number): void {
    if (elements < MIN_ELEMENTS) return;
    const cost = took_ms / elements;
    const weight = cost > this.#costMs ? 0.5 : 0.2;
    this.#costMs += (cost - this.#costMs) * weight;
  }
}
