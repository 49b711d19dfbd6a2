import { ColorManagement, LinearSRGBColorSpace, WebGLRenderer } from 'three';

import { detectSoftwareRendering, RenderBudget } from '../../../charts/webgl/render-budget';
import type { RendererPool, SceneHandle, SceneState } from './scene-types';
import { SceneView } from './scene-view';

/** More pixels than these on a pixel of the page are seen by nobody. */
const MAX_PIXEL_RATIO = 2;

/** A picture in the making. */
export interface PartialRender {
  readonly view: SceneView;
  /** How much of it stands in the shared canvas, from 0 to 1. */
  readonly drawnFraction: number;
  /** How many points or faces were drawn this time. */
  readonly elements: number;
}

/** The one canvas with a graphics context, of which a browser gives few. Pictures are copied off it. */
export class SharedWebGLCanvas {
  readonly isSoftware: boolean;
  /** The picture that stands in it; any other has to begin anew. */
  current: PartialRender | null = null;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;

  /** Null where the browser has no graphics context to give. */
  static open(onrestored: () => void): SharedWebGLCanvas | null {
    const isSoftware = detectSoftwareRendering();
    if (isSoftware === null) return null;
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('webgl2', {
      alpha: true,
      // Smooth edges take four times as long.
      antialias: !isSoftware,
      // Large pictures are drawn in several turns.
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
    // Colours are drawn as they were logged, not as a camera would see them.
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

  /** Draws at most so many elements of a picture, from where it stands or from its beginning. */
  draw(easel: SceneView, shown: SceneState, most: number, isNew: boolean): PartialRender {
    const { width, height } = this.#measure(shown);
    this.#grow(width, height);
    const from = !isNew && this.current?.view === easel ? this.current.drawnFraction : 0;
    const camera = easel.updateScene(shown, this.#density, this.#canvas.height);
    const total = Math.max(1, easel.elementCount);
    const share = Math.min(1, from + most / total);
    easel.setDrawRange(from, share);
    this.#renderer.setViewport(0, 0, width, height);
    this.#renderer.setScissor(0, 0, width, height);
    if (from === 0) this.#renderer.clear();
    this.#renderer.render(easel.rig.scene, camera);
    // Without a graphics card it is the page's own processor that is busy now.
    if (this.isSoftware) this.#context.finish();
    this.current = {
      view: easel,
      drawnFraction: share,
      elements: Math.round((share - from) * total),
    };
    return this.current;
  }

  /** Copies the picture that stands here to a canvas of the page. */
  copyTo(target: HTMLCanvasElement, shown: SceneState): void {
    const { width, height } = this.#measure(shown);
    if (target.width !== width) target.width = width;
    if (target.height !== height) target.height = height;
    const pen = target.getContext('2d');
    if (!pen) return;
    const top = this.#canvas.height - height;
    pen.globalCompositeOperation = 'copy';
    pen.drawImage(this.#canvas, 0, top, width, height, 0, 0, width, height);
  }

  get #density(): number {
    return this.isSoftware ? 1 : Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
  }

  #measure({ width, height }: SceneState): { width: number; height: number } {
    const [wide, high] = [width, height].map((size) =>
      Math.max(1, Math.round(size * this.#density)),
    );
    return { width: wide ?? 1, height: high ?? 1 };
  }

  /** It has room for the largest picture. */
  #grow(width: number, height: number): void {
    const { width: wide, height: high } = this.#canvas;
    if (width <= wide && height <= high) return;
    this.#renderer.setSize(Math.max(width, wide), Math.max(height, high), false);
    this.current = null;
  }
}

/** After so long the pictures that are left wait for the next turn. */
const MAX_FRAME_MS = 30;
/** A turn that comes later than this after the one before was held up by the graphics card. */
const LATE_FRAME_MS = 34;
const IDLE_MS = 1000;

/** Null where the browser has no graphics context to give. */
export function openRendererPool(): RendererPool | null {
  const studio = new SharedRendererPool();
  return studio.canvas ? studio : null;
}

/** Draws pictures turn by turn: first what changed, then, in peace, what is not complete. */
class SharedRendererPool implements RendererPool {
  readonly canvas: SharedWebGLCanvas | null;
  readonly #paces: { readonly cloud: RenderBudget; readonly solid: RenderBudget };
  readonly #easels = new Set<SceneView>();
  #isScheduled = false;
  #lastTurn: { readonly at: number; readonly drawn: readonly RenderCost[] } = { at: 0, drawn: [] };

  constructor() {
    this.canvas = SharedWebGLCanvas.open(() => this.#drawAll());
    const { isSoftware } = this;
    this.#paces = { cloud: new RenderBudget(isSoftware), solid: new RenderBudget(isSoftware) };
  }

  get isSoftware(): boolean {
    return this.canvas?.isSoftware ?? true;
  }

  open(canvas: HTMLCanvasElement, ondrawn: (share: number) => void): SceneHandle {
    const easel = new SceneView(canvas, ondrawn);
    this.#easels.add(easel);
    return {
      update: (shown) => {
        easel.setState(shown);
        this.#schedule();
      },
      exportPng: (background) => exportScenePng(easel, background),
      close: () => this.#close(easel),
    };
  }

  #close(easel: SceneView): void {
    this.#easels.delete(easel);
    if (this.canvas?.current?.view === easel) this.canvas.current = null;
    easel.dispose();
  }

  #drawAll(): void {
    for (const easel of this.#easels) easel.isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame((now) => this.#turn(now));
  }

  #turn(now: number): void {
    this.#isScheduled = false;
    const { canvas } = this;
    if (!canvas) return;
    this.#learnFromFrames(now);
    const stale = [...this.#easels].filter(({ isStale }) => isStale);
    const drawn = stale.length > 0 ? this.#beginSome(canvas, stale) : this.#refine(canvas);
    this.#lastTurn = { at: now, drawn };
    if (this.#findUnfinished()) this.#schedule();
  }

  /** Those that have waited longest come first, so that each gets its turn. */
  #beginSome(canvas: SharedWebGLCanvas, stale: readonly SceneView[]): RenderCost[] {
    const until = performance.now() + MAX_FRAME_MS;
    const drawn: RenderCost[] = [];
    for (const easel of stale.toSorted((one, other) => one.drawnAt - other.drawnAt)) {
      if (performance.now() > until) break;
      drawn.push(this.#draw(canvas, easel, 1 / stale.length, true));
      easel.isStale = false;
    }
    return drawn;
  }

  #refine(canvas: SharedWebGLCanvas): RenderCost[] {
    const easel = this.#findUnfinished();
    return easel ? [this.#draw(canvas, easel, 1, false)] : [];
  }

  /** The one at hand goes on before another begins anew. */
  #findUnfinished(): SceneView | undefined {
    const waiting = [...this.#easels].filter(
      ({ state, isStale, drawnFraction }) =>
        state && (isStale || (drawnFraction < 1 && !state.isMoving)),
    );
    return waiting.find((easel) => easel === this.canvas?.current?.view) ?? waiting[0];
  }

  #draw(canvas: SharedWebGLCanvas, easel: SceneView, share: number, isNew: boolean): RenderCost {
    const { state } = easel;
    const pace = easel.isPointCloud ? this.#paces.cloud : this.#paces.solid;
    if (!state || state.width === 0 || state.height === 0) return { budget: pace, elements: 0 };
    const began = performance.now();
    const part = canvas.draw(easel, state, pace.maxElements(state.isMoving, share), isNew);
    // One that had to begin anew is not hung up before it is better than what hangs there.
    if (isNew || part.drawnFraction > easel.drawnFraction)
      this.#hang(canvas, easel, state, part.drawnFraction);
    if (this.isSoftware) pace.recordCost(part.elements, performance.now() - began);
    return { budget: pace, elements: part.elements };
  }

  #hang(canvas: SharedWebGLCanvas, easel: SceneView, shown: SceneState, share: number): void {
    canvas.copyTo(easel.canvas, shown);
    easel.drawnAt = performance.now();
    easel.drawnFraction = share;
    easel.notifyDrawn();
  }

  /** A graphics card works beside the page: that it is late is seen by frames that are. */
  #learnFromFrames(now: number): void {
    const { at, drawn } = this.#lastTurn;
    const took = now - at;
    if (this.isSoftware || took < LATE_FRAME_MS || took > IDLE_MS) return;
    for (const { budget, elements } of drawn) budget.recordCost(elements, took / drawn.length);
  }
}

interface RenderCost {
  readonly budget: RenderBudget;
  readonly elements: number;
}

/** The picture as a file, on a background that it does not have on the page. */
async function exportScenePng(easel: SceneView, background: string): Promise<Blob> {
  while (easel.isStale || easel.drawnFraction < 1) await new Promise(requestAnimationFrame);
  const { canvas } = easel;
  const sheet = document.createElement('canvas');
  sheet.width = canvas.width;
  sheet.height = canvas.height;
  const pen = sheet.getContext('2d');
  if (pen) {
    pen.fillStyle = background;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.drawImage(canvas, 0, 0);
  }
  return new Promise((resolve, reject) =>
    sheet.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The picture is too large.')))),
  );
}
