import {
  ColorManagement,
  LinearSRGBColorSpace,
  OrthographicCamera,
  PerspectiveCamera,
  Scene,
  WebGLRenderer,
} from 'three';

import {
  getEyeDistance,
  getEyePosition,
  getHeightAtTarget,
  getUpVector,
} from '../../../charts/webgl/orbit-camera';
import { detectSoftwareRendering, RenderBudget } from '../../../charts/webgl/render-budget';
import { PointBuffers, PointLayer } from './point-layers';
import type { PointRenderer, SpriteSheet, PointScene } from './point-scene';

/** More pixels than these on a pixel of the page are seen by nobody. */
const MAX_PIXEL_RATIO = 2;
/** A turn that comes later than this after the one before was held up by the graphics card. */
const SLOW_FRAME_MS = 34;
const IDLE_FRAME_MS = 1000;
const UP = 'y';
/** To bring more points than these to the graphics card takes a while. */
const LARGE_UPLOAD_POINTS = 100_000;

/** Null where the browser has no graphics context to give. `ondrawn` is told how much is there. */
export function createPointRenderer(
  canvas: HTMLCanvasElement,
  ondrawn: (share: number) => void,
): PointRenderer | null {
  const isSoftware = detectSoftwareRendering();
  if (isSoftware === null) return null;
  const context = canvas.getContext('webgl2', {
    antialias: !isSoftware,
    // Large clouds are drawn in several turns.
    preserveDrawingBuffer: true,
    powerPreference: 'high-performance',
  });
  return context ? new WebGlPointRenderer(canvas, context, isSoftware, ondrawn) : null;
}

/** Draws a cloud turn by turn: as much as fits into a frame, and in peace the rest. */
class WebGlPointRenderer implements PointRenderer {
  readonly isSoftware: boolean;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #perspective = new PerspectiveCamera();
  readonly #orthographic = new OrthographicCamera();
  readonly #frameBudget: RenderBudget;
  readonly #buffers = new PointBuffers();
  readonly #ondrawn: (share: number) => void;
  readonly #abortController = new AbortController();
  #layers: readonly PointLayer[] = [];
  #spriteSheets: PointScene['spriteSheets'] = [];
  #pointScene: PointScene | null = null;
  #isStale = false;
  /** Turns before many new points are drawn: one to put them in order, one to bring them over. */
  #framesToSkip = 0;
  #drawnShare = 0;
  #frame = 0;
  #last = { at: 0, elements: 0 };

  constructor(
    canvas: HTMLCanvasElement,
    context: WebGL2RenderingContext,
    isSoftware: boolean,
    ondrawn: (share: number) => void,
  ) {
    this.#canvas = canvas;
    this.#context = context;
    this.isSoftware = isSoftware;
    this.#ondrawn = ondrawn;
    this.#frameBudget = new RenderBudget(isSoftware);
    ColorManagement.enabled = false;
    this.#renderer = new WebGLRenderer({ canvas, context });
    this.#renderer.outputColorSpace = LinearSRGBColorSpace;
    this.#renderer.autoClear = false;
    // Sorting would look at every point.
    this.#renderer.sortObjects = false;
    const { signal } = this.#abortController;
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault(), { signal });
    canvas.addEventListener('webglcontextrestored', () => this.#redraw(), { signal });
  }

  render(shown: PointScene): void {
    this.#pointScene = shown;
    this.#redraw();
  }

  async capture(): Promise<HTMLCanvasElement> {
    while (this.#isStale || this.#drawnShare < 1) await new Promise(requestAnimationFrame);
    return this.#canvas;
  }

  dispose(): void {
    this.#abortController.abort();
    cancelAnimationFrame(this.#frame);
    this.#disposeLayers();
    this.#renderer.dispose();
  }

  #redraw(): void {
    this.#isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame((now) => this.#drawFrame(now));
  }

  #drawFrame(now: number): void {
    this.#frame = 0;
    const shown = this.#pointScene;
    if (!shown || shown.width === 0 || shown.height === 0) return;
    this.#measureFrame(now);
    const began = performance.now();
    const elements = this.#draw(shown);
    if (this.isSoftware) this.#frameBudget.recordCost(elements, performance.now() - began);
    this.#last = { at: now, elements };
    this.#ondrawn(this.#drawnShare);
    if (this.#drawnShare < 1 && (!shown.isMoving || this.#drawnShare === 0)) this.#schedule();
  }

  /** Returns how many points were drawn. */
  #draw(shown: PointScene): number {
    if (this.#isStale) this.#prepare(shown);
    const total = Math.max(1, shown.positions.count);
    const from = this.#drawnShare;
    // What begins is soon seen, and is soon seen to be something else.
    const isAhead = this.#framesToSkip > 0;
    // With the first points shaders are made ready, which takes its time as well.
    const share = this.#last.elements === 0 ? 0 : 1;
    const most = isAhead ? 0 : this.#frameBudget.maxElements(shown.isMoving || from === 0, share);
    if (isAhead && --this.#framesToSkip > 0) return 0;
    this.#drawnShare = Math.min(1, from + most / total);
    for (const layer of this.#layers) layer.setDrawRange(from, this.#drawnShare);
    this.#renderer.render(this.#scene, this.#placeCamera(shown));
    // Without a graphics card it is the page's own processor that is busy now.
    if (this.isSoftware) this.#waitForGpu();
    return Math.round((this.#drawnShare - from) * total);
  }

  /** Browsers do not wait for all to be drawn, but for a pixel that is asked for. */
  #waitForGpu(): void {
    const { RGBA, UNSIGNED_BYTE } = this.#context;
    this.#context.readPixels(0, 0, 1, 1, RGBA, UNSIGNED_BYTE, new Uint8Array(4));
  }

  #prepare(shown: PointScene): void {
    this.#isStale = false;
    this.#drawnShare = 0;
    this.#resize(shown);
    const isNew = this.#buffers.update(shown);
    if (isNew) this.#framesToSkip = shown.positions.count > LARGE_UPLOAD_POINTS ? 2 : 0;
    if (isNew) this.#disposeLayers();
    if (isNew || shown.spriteSheets !== this.#spriteSheets) this.#makeLayers(shown);
    for (const { points } of this.#layers) this.#buffers.attachTo(points.geometry);
    const distance = getEyeDistance(shown.orbit, shown.lens);
    const reach = { near: distance - 1, far: distance + 1.4 };
    for (const layer of this.#layers) layer.applyScene(shown, this.#pixelRatio, reach);
    this.#renderer.setClearColor(shown.background);
    this.#renderer.clear();
  }

  /** A layer for each sheet, of which those stay that are there, and one of discs for the rest. */
  #makeLayers({ positions, spriteSheets }: PointScene): void {
    this.#spriteSheets = spriteSheets;
    const before = new Map(this.#layers.map((layer) => [layer.sheet, layer]));
    const pictured = spriteSheets.reduce(
      (end, { first, count }) => Math.max(end, first + count),
      0,
    );
    this.#layers = spriteSheets.map((sheet) => before.get(sheet) ?? this.#layerOf(sheet));
    if (pictured < positions.count) {
      const rest = positions.count - pictured;
      this.#layers = [...this.#layers, new PointLayer(this.#buffers, pictured, rest, null)];
    }
    for (const layer of before.values()) if (!this.#layers.includes(layer)) layer.dispose();
    this.#scene.clear();
    for (const { points } of this.#layers) this.#scene.add(points);
  }

  #layerOf(sheet: SpriteSheet): PointLayer {
    return new PointLayer(this.#buffers, sheet.first, sheet.count, sheet);
  }

  #disposeLayers(): void {
    for (const layer of this.#layers) layer.dispose();
    this.#layers = [];
  }

  get #pixelRatio(): number {
    return this.isSoftware ? 1 : Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
  }

  #resize({ width, height }: PointScene): void {
    const [wide, high] = [
      Math.round(width * this.#pixelRatio),
      Math.round(height * this.#pixelRatio),
    ];
    if (this.#canvas.width === wide && this.#canvas.height === high) return;
    this.#renderer.setSize(wide, high, false);
  }

  #placeCamera({ orbit, lens }: PointScene): PerspectiveCamera | OrthographicCamera {
    const camera = lens.orthographic ? this.#orthographic : this.#perspective;
    const distance = getEyeDistance(orbit, lens);
    camera.near = lens.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = getHeightAtTarget(orbit, lens) / 2;
      [camera.top, camera.bottom] = [half, -half];
      [camera.right, camera.left] = [half * lens.aspect, -half * lens.aspect];
    } else {
      camera.fov = lens.fov;
      camera.aspect = lens.aspect;
    }
    camera.up.set(...getUpVector(UP));
    camera.position.set(...getEyePosition(orbit, lens, UP));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  /** A graphics card works beside the page: that it is late is seen by frames that are. */
  #measureFrame(now: number): void {
    const took = now - this.#last.at;
    if (this.isSoftware || took < SLOW_FRAME_MS || took > IDLE_FRAME_MS) return;
    this.#frameBudget.recordCost(this.#last.elements, took);
  }
}
