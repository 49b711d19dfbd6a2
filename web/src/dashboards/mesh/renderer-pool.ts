import { ColorManagement, LinearSRGBColorSpace, WebGLRenderer } from 'three';

import * as m from '../../catalog/mesh';
import { detectSoftwareRendering, RenderBudget } from '../../charts/webgl/render-budget';
import type { RendererPool, SceneHandle, SceneState } from './mesh-geometry';
import { SceneView } from './scene-view';

const MAX_PIXEL_RATIO = 2;

interface PartialRender {
  readonly view: SceneView;
  /** The fraction of its elements on the shared canvas. */
  readonly drawnFraction: number;
  /** Number of points or faces drawn in this frame. */
  readonly elements: number;
}

/**
 * The only canvas with a WebGL context, because browsers limit their number. Viewports copy their
 * images from it.
 */
class SharedWebGLCanvas {
  readonly isSoftware: boolean;
  /** The image on the canvas. Drawing another view starts from the beginning. */
  current: PartialRender | null = null;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;

  /** Return null if the browser has no WebGL 2. */
  static open(onrestored: () => void): SharedWebGLCanvas | null {
    const isSoftware = detectSoftwareRendering();
    if (isSoftware === null) return null;
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('webgl2', {
      alpha: true,
      // Takes four times as long without a GPU.
      antialias: !isSoftware,
      // Large scenes are drawn in several frames.
      preserveDrawingBuffer: true,
      powerPreference: 'high-performance',
    });
    return context ? new SharedWebGLCanvas(canvas, context, isSoftware, onrestored) : null;
  }

  private constructor(
    canvas: HTMLCanvasElement,
    context: WebGL2RenderingContext,
    isSoftware: boolean,
    onrestored: () => void,
  ) {
    this.isSoftware = isSoftware;
    this.#canvas = canvas;
    this.#context = context;
    // Logged colors are shown unchanged.
    ColorManagement.enabled = false;
    this.#renderer = new WebGLRenderer({ canvas, context });
    this.#renderer.outputColorSpace = LinearSRGBColorSpace;
    this.#renderer.autoClear = false;
    this.#renderer.setClearColor(0, 0);
    this.#renderer.setScissorTest(true);
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => {
      this.current = null;
      onrestored();
    });
  }

  /** Draw at most `maxElements`, continuing the current image unless `isNew`. */
  draw(view: SceneView, state: SceneState, maxElements: number, isNew: boolean): PartialRender {
    const { width, height } = this.#measure(state);
    this.#grow(width, height);
    const from = !isNew && this.current?.view === view ? this.current.drawnFraction : 0;
    const camera = view.updateScene(state, this.#pixelRatio, this.#canvas.height);
    const total = Math.max(1, view.elementCount);
    const to = Math.min(1, from + maxElements / total);
    view.setDrawRange(from, to);
    this.#renderer.setViewport(0, 0, width, height);
    this.#renderer.setScissor(0, 0, width, height);
    if (from === 0) this.#renderer.clear();
    this.#renderer.render(view.rig.scene, camera);
    // Without a GPU, wait so that the time can be measured.
    if (this.isSoftware) this.#context.finish();
    this.current = {
      view,
      drawnFraction: to,
      elements: Math.round((to - from) * total),
    };
    return this.current;
  }

  /** Copy the current image to the canvas of a viewport. */
  copyTo(target: HTMLCanvasElement, state: SceneState): void {
    const { width, height } = this.#measure(state);
    if (target.width !== width) target.width = width;
    if (target.height !== height) target.height = height;
    const context = target.getContext('2d');
    if (!context) return;
    const top = this.#canvas.height - height;
    context.globalCompositeOperation = 'copy';
    context.drawImage(this.#canvas, 0, top, width, height, 0, 0, width, height);
  }

  get #pixelRatio(): number {
    return this.isSoftware ? 1 : Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
  }

  #measure({ width, height }: SceneState): { width: number; height: number } {
    const toPixels = (size: number): number => Math.max(1, Math.round(size * this.#pixelRatio));
    return { width: toPixels(width), height: toPixels(height) };
  }

  /** The canvas is as large as the largest viewport. */
  #grow(width: number, height: number): void {
    const { width: oldWidth, height: oldHeight } = this.#canvas;
    if (width <= oldWidth && height <= oldHeight) return;
    this.#renderer.setSize(Math.max(width, oldWidth), Math.max(height, oldHeight), false);
    this.current = null;
  }
}

/** After this time the remaining views wait for the next frame. */
const MAX_FRAME_MS = 30;
/** A frame that comes later than this was delayed by the GPU. */
const LATE_FRAME_MS = 34;
/** A longer pause means that nothing was drawn. */
const IDLE_MS = 1000;

/** Return null if the browser has no WebGL 2. */
export function openRendererPool(): RendererPool | null {
  const pool = new SharedRendererPool();
  return pool.canvas ? pool : null;
}

/** Draws views frame by frame: first those that changed, then the rest of incomplete ones. */
class SharedRendererPool implements RendererPool {
  readonly canvas: SharedWebGLCanvas | null;
  readonly #budgets: { readonly cloud: RenderBudget; readonly solid: RenderBudget };
  readonly #views = new Set<SceneView>();
  #isScheduled = false;
  #lastFrame: { readonly at: number; readonly drawn: readonly RenderCost[] } = { at: 0, drawn: [] };

  constructor() {
    this.canvas = SharedWebGLCanvas.open(() => this.#drawAll());
    const { isSoftware } = this;
    this.#budgets = { cloud: new RenderBudget(isSoftware), solid: new RenderBudget(isSoftware) };
  }

  get isSoftware(): boolean {
    return this.canvas?.isSoftware ?? true;
  }

  open(canvas: HTMLCanvasElement, ondrawn: (fraction: number) => void): SceneHandle {
    const view = new SceneView(canvas, ondrawn);
    this.#views.add(view);
    return {
      update: (state) => {
        view.setState(state);
        this.#schedule();
      },
      exportPng: (background) => exportScenePng(view, background),
      close: () => this.#close(view),
    };
  }

  #close(view: SceneView): void {
    this.#views.delete(view);
    if (this.canvas?.current?.view === view) this.canvas.current = null;
    view.dispose();
  }

  #drawAll(): void {
    for (const view of this.#views) view.isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame((now) => this.#drawFrame(now));
  }

  #drawFrame(now: number): void {
    this.#isScheduled = false;
    const { canvas } = this;
    if (!canvas) return;
    this.#recordLateFrame(now);
    const stale = [...this.#views].filter(({ isStale }) => isStale);
    const drawn = stale.length > 0 ? this.#drawStale(canvas, stale) : this.#refine(canvas);
    this.#lastFrame = { at: now, drawn };
    if (this.#findUnfinished()) this.#schedule();
  }

  /** Views that have waited longest come first. */
  #drawStale(canvas: SharedWebGLCanvas, stale: readonly SceneView[]): RenderCost[] {
    const until = performance.now() + MAX_FRAME_MS;
    const drawn: RenderCost[] = [];
    for (const view of stale.toSorted((one, other) => one.drawnAt - other.drawnAt)) {
      if (performance.now() > until) break;
      drawn.push(this.#draw(canvas, view, 1 / stale.length, true));
      view.isStale = false;
    }
    return drawn;
  }

  #refine(canvas: SharedWebGLCanvas): RenderCost[] {
    const view = this.#findUnfinished();
    return view ? [this.#draw(canvas, view, 1, false)] : [];
  }

  /** Prefer the view on the canvas, which can be continued. */
  #findUnfinished(): SceneView | undefined {
    const unfinished = [...this.#views].filter(
      ({ state, isStale, drawnFraction }) =>
        state && (isStale || (drawnFraction < 1 && !state.isMoving)),
    );
    return unfinished.find((view) => view === this.canvas?.current?.view) ?? unfinished[0];
  }

  #draw(canvas: SharedWebGLCanvas, view: SceneView, share: number, isNew: boolean): RenderCost {
    const { state } = view;
    const budget = view.isPointCloud ? this.#budgets.cloud : this.#budgets.solid;
    if (!state || state.width === 0 || state.height === 0) return { budget, elements: 0 };
    const startedAt = performance.now();
    const part = canvas.draw(view, state, budget.maxElements(state.isMoving, share), isNew);
    // A view that had to start again keeps its image until the new one has more elements.
    if (isNew || part.drawnFraction > view.drawnFraction)
      this.#present(canvas, view, state, part.drawnFraction);
    if (this.isSoftware) budget.recordCost(part.elements, performance.now() - startedAt);
    return { budget, elements: part.elements };
  }

  #present(canvas: SharedWebGLCanvas, view: SceneView, state: SceneState, fraction: number): void {
    canvas.copyTo(view.canvas, state);
    view.drawnAt = performance.now();
    view.drawnFraction = fraction;
    view.notifyDrawn();
  }

  /** A GPU draws asynchronously: a late frame shows that it took too long. */
  #recordLateFrame(now: number): void {
    const { at, drawn } = this.#lastFrame;
    const elapsed = now - at;
    if (this.isSoftware || elapsed < LATE_FRAME_MS || elapsed > IDLE_MS) return;
    for (const { budget, elements } of drawn) budget.recordCost(elements, elapsed / drawn.length);
  }
}

interface RenderCost {
  readonly budget: RenderBudget;
  readonly elements: number;
}

/** Return the complete image on an opaque background. */
async function exportScenePng(view: SceneView, background: string): Promise<Blob> {
  while (view.isStale || view.drawnFraction < 1) await new Promise(requestAnimationFrame);
  const { canvas } = view;
  const output = document.createElement('canvas');
  output.width = canvas.width;
  output.height = canvas.height;
  const context = output.getContext('2d');
  if (context) {
    context.fillStyle = background;
    context.fillRect(0, 0, output.width, output.height);
    context.drawImage(canvas, 0, 0);
  }
  return new Promise((resolve, reject) =>
    output.toBlob((blob) => (blob ? resolve(blob) : reject(new Error(m.exportErrorTooLarge)))),
  );
}
