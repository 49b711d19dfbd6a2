const SOFTWARE_RENDERERS = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/**
 * Return whether WebGL runs without a GPU; null if WebGL is not available. Uses a temporary
 * context, as antialiasing is chosen when a context is created.
 */
export function detectSoftwareRendering(): boolean | null {
  const context = document.createElement('canvas').getContext('webgl2');
  if (!context) return null;
  const about = context.getExtension('WEBGL_debug_renderer_info');
  const name = about ? String(context.getParameter(about.UNMASKED_RENDERER_WEBGL)) : '';
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return SOFTWARE_RENDERERS.test(name);
}

/** Time per frame for drawing, so that the page stays responsive. */
const FRAME_BUDGET_MS = { moving: 22, still: 40 };
/** Estimated cost per element before the first measurement. */
const INITIAL_COST_MS = { hardware: 2e-6, software: 1e-4 };
/** Fixed cost of a batch, in elements; smaller batches are not faster. */
const MIN_ELEMENTS = 40_000;

/** Estimates how many points or faces can be drawn per frame from previous measurements. */
export class RenderBudget {
  #costMs: number;

  constructor(isSoftware: boolean) {
    this.#costMs = isSoftware ? INITIAL_COST_MS.software : INITIAL_COST_MS.hardware;
  }

  /** `share` is the fraction of the frame that one of several views may use. */
  maxElements(isMoving: boolean, share = 1): number {
    const budget = (isMoving ? FRAME_BUDGET_MS.moving : FRAME_BUDGET_MS.still) * share;
    return Math.max(MIN_ELEMENTS, Math.floor(budget / this.#costMs));
  }

  /** Slow measurements have more weight: a frozen page is worse than slow drawing. */
  recordCost(elements: number, took_ms: number): void {
    if (elements < MIN_ELEMENTS) return;
    const cost = took_ms / elements;
    const weight = cost > this.#costMs ? 0.5 : 0.2;
    this.#costMs += (cost - this.#costMs) * weight;
  }
}
