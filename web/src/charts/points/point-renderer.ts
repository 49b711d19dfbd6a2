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
} from '../webgl/orbit-camera';
import { detectSoftwareRendering, RenderBudget } from '../webgl/render-budget';
import { PointBuffers, PointLayer } from './point-layers';
import type { PointRenderer, PointScene, SpriteSheet } from './point-scene';

/** Device pixels per CSS pixel; more make no visible difference. */
const MAX_PIXEL_RATIO = 2;
/** A longer time between two frames means that the GPU is busy, or, if it is very long, idle. */
const SLOW_FRAME_MS = 34;
const IDLE_FRAME_MS = 1000;
const UP = 'y';
/** Uploading more points to the GPU takes noticeable time. */
const LARGE_UPLOAD_POINTS = 100_000;

/** Return null without WebGL 2. `ondrawn` is called with the fraction of points that is drawn. */
export function createPointRenderer(
  canvas: HTMLCanvasElement,
  ondrawn: (fraction: number) => void,
): PointRenderer | null {
  const isSoftware = detectSoftwareRendering();
  if (isSoftware === null) return null;
  const context = canvas.getContext('webgl2', {
    antialias: !isSoftware,
    // Many points are drawn in several frames.
    preserveDrawingBuffer: true,
    powerPreference: 'high-performance',
  });
  return context ? new WebGlPointRenderer(canvas, context, isSoftware, ondrawn) : null;
}

/** Draws as many points as fit into a frame, and the rest in the next frames if nothing moves. */
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
  readonly #ondrawn: (fraction: number) => void;
  readonly #abortController = new AbortController();
  #layers: readonly PointLayer[] = [];
  #spriteSheets: PointScene['spriteSheets'] = [];
  #pointScene: PointScene | null = null;
  #isStale = false;
  /** Frames before many new points are drawn: one to create the order, one to upload. */
  #framesToSkip = 0;
  #drawnFraction = 0;
  #frame = 0;
  #last = { at: 0, elements: 0 };

  constructor(
    canvas: HTMLCanvasElement,
    context: WebGL2RenderingContext,
    isSoftware: boolean,
    ondrawn: (fraction: number) => void,
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
    // Points are not sorted by depth.
    this.#renderer.sortObjects = false;
    const { signal } = this.#abortController;
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault(), { signal });
    canvas.addEventListener('webglcontextrestored', () => this.#redraw(), { signal });
  }

  render(scene: PointScene): void {
    this.#pointScene = scene;
    this.#redraw();
  }

  async capture(): Promise<HTMLCanvasElement> {
    while (this.#isStale || this.#drawnFraction < 1) await new Promise(requestAnimationFrame);
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
    const scene = this.#pointScene;
    if (!scene || scene.width === 0 || scene.height === 0) return;
    this.#measureFrame(now);
    const startedAt = performance.now();
    const elements = this.#draw(scene);
    if (this.isSoftware) this.#frameBudget.recordCost(elements, performance.now() - startedAt);
    this.#last = { at: now, elements };
    this.#ondrawn(this.#drawnFraction);
    if (this.#drawnFraction < 1 && (!scene.isMoving || this.#drawnFraction === 0)) this.#schedule();
  }

  /** Return the number of points drawn. */
  #draw(scene: PointScene): number {
    if (this.#isStale) this.#prepare(scene);
    const total = Math.max(1, scene.positions.count);
    const from = this.#drawnFraction;
    const isSkipped = this.#framesToSkip > 0;
    // The first frame compiles the shaders as well.
    const timeFraction = this.#last.elements === 0 ? 0 : 1;
    const isUrgent = scene.isMoving || from === 0;
    const limit = isSkipped ? 0 : this.#frameBudget.maxElements(isUrgent, timeFraction);
    if (isSkipped && --this.#framesToSkip > 0) return 0;
    this.#drawnFraction = Math.min(1, from + limit / total);
    for (const layer of this.#layers) layer.setDrawRange(from, this.#drawnFraction);
    this.#renderer.render(this.#scene, this.#placeCamera(scene));
    // Software rendering blocks the page: measure its duration.
    if (this.isSoftware) this.#waitForGpu();
    return Math.round((this.#drawnFraction - from) * total);
  }

  /** Reading a pixel waits until everything is drawn. */
  #waitForGpu(): void {
    const { RGBA, UNSIGNED_BYTE } = this.#context;
    this.#context.readPixels(0, 0, 1, 1, RGBA, UNSIGNED_BYTE, new Uint8Array(4));
  }

  #prepare(scene: PointScene): void {
    this.#isStale = false;
    this.#drawnFraction = 0;
    this.#resize(scene);
    const isNew = this.#buffers.update(scene);
    if (isNew) this.#framesToSkip = scene.positions.count > LARGE_UPLOAD_POINTS ? 2 : 0;
    if (isNew) this.#disposeLayers();
    if (isNew || scene.spriteSheets !== this.#spriteSheets) this.#updateLayers(scene);
    for (const { points } of this.#layers) this.#buffers.attachTo(points.geometry);
    const distance = getEyeDistance(scene.orbit, scene.projection);
    const depthRange = { near: distance - 1, far: distance + 1.4 };
    for (const layer of this.#layers) layer.applyScene(scene, this.#pixelRatio, depthRange);
    this.#renderer.setClearColor(scene.background);
    this.#renderer.clear();
  }

  /** One layer per sheet, and one of discs for the points without an image. */
  #updateLayers({ positions, spriteSheets }: PointScene): void {
    this.#spriteSheets = spriteSheets;
    const existing = new Map(this.#layers.map((layer) => [layer.sheet, layer]));
    const imageCount = spriteSheets.reduce(
      (end, { first, count }) => Math.max(end, first + count),
      0,
    );
    this.#layers = spriteSheets.map((sheet) => existing.get(sheet) ?? this.#makeLayer(sheet));
    if (imageCount < positions.count) {
      const rest = positions.count - imageCount;
      this.#layers = [...this.#layers, new PointLayer(this.#buffers, imageCount, rest, null)];
    }
    for (const layer of existing.values()) if (!this.#layers.includes(layer)) layer.dispose();
    this.#scene.clear();
    for (const { points } of this.#layers) this.#scene.add(points);
  }

  #makeLayer(sheet: SpriteSheet): PointLayer {
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
    const widthPx = Math.round(width * this.#pixelRatio);
    const heightPx = Math.round(height * this.#pixelRatio);
    if (this.#canvas.width === widthPx && this.#canvas.height === heightPx) return;
    this.#renderer.setSize(widthPx, heightPx, false);
  }

  #placeCamera({ orbit, projection }: PointScene): PerspectiveCamera | OrthographicCamera {
    const camera = projection.orthographic ? this.#orthographic : this.#perspective;
    const distance = getEyeDistance(orbit, projection);
    camera.near = projection.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = getHeightAtTarget(orbit, projection) / 2;
      [camera.top, camera.bottom] = [half, -half];
      [camera.right, camera.left] = [half * projection.aspect, -half * projection.aspect];
    } else {
      camera.fov = projection.fov;
      camera.aspect = projection.aspect;
    }
    camera.up.set(...getUpVector(UP));
    camera.position.set(...getEyePosition(orbit, projection, UP));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  /** The GPU works in parallel: it is too slow if frames are late. */
  #measureFrame(now: number): void {
    const elapsedMs = now - this.#last.at;
    if (this.isSoftware || elapsedMs < SLOW_FRAME_MS || elapsedMs > IDLE_FRAME_MS) return;
    this.#frameBudget.recordCost(this.#last.elements, elapsedMs);
  }
}
