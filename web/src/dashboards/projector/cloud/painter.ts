import {
  ColorManagement,
  LinearSRGBColorSpace,
  OrthographicCamera,
  PerspectiveCamera,
  Scene,
  WebGLRenderer,
} from 'three';

import { distanceOf, eyeOf, heightAtTarget, upVector } from '../../../charts/space/orbit';
import { DrawingPace } from '../../../charts/space/pace';
import { findIsSoftware } from '../../../charts/space/software';
import { Columns, Layer } from './layers';
import type { Painter, Sheet, Shown } from './shown';

/** More pixels than these on a pixel of the page are seen by nobody. */
const DENSEST = 2;
/** A turn that comes later than this after the one before was held up by the graphics card. */
const LATE_MS = 34;
const IDLE_MS = 1000;
const UP = 'y';
/** To bring more points than these to the graphics card takes a while. */
const MANY = 100_000;

/** Null where the browser has no graphics context to give. `ondrawn` is told how much is there. */
export function openPainter(
  canvas: HTMLCanvasElement,
  ondrawn: (share: number) => void,
): Painter | null {
  const isSoftware = findIsSoftware();
  if (isSoftware === null) return null;
  const context = canvas.getContext('webgl2', {
    antialias: !isSoftware,
    // Large clouds are drawn in several turns.
    preserveDrawingBuffer: true,
    powerPreference: 'high-performance',
  });
  return context ? new CloudPainter(canvas, context, isSoftware, ondrawn) : null;
}

/** Draws a cloud turn by turn: as much as fits into a frame, and in peace the rest. */
class CloudPainter implements Painter {
  readonly isSoftware: boolean;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #perspective = new PerspectiveCamera();
  readonly #orthographic = new OrthographicCamera();
  readonly #pace: DrawingPace;
  readonly #columns = new Columns();
  readonly #ondrawn: (share: number) => void;
  readonly #ending = new AbortController();
  #layers: readonly Layer[] = [];
  #sheets: Shown['sheets'] = [];
  #shown: Shown | null = null;
  #isStale = false;
  /** Turns before many new points are drawn: one to put them in order, one to bring them over. */
  #turnsAhead = 0;
  #share = 0;
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
    this.#pace = new DrawingPace(isSoftware);
    ColorManagement.enabled = false;
    this.#renderer = new WebGLRenderer({ canvas, context });
    this.#renderer.outputColorSpace = LinearSRGBColorSpace;
    this.#renderer.autoClear = false;
    // Sorting would look at every point.
    this.#renderer.sortObjects = false;
    const { signal } = this.#ending;
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault(), { signal });
    canvas.addEventListener('webglcontextrestored', () => this.#drawAnew(), { signal });
  }

  show(shown: Shown): void {
    this.#shown = shown;
    this.#drawAnew();
  }

  async photograph(): Promise<HTMLCanvasElement> {
    while (this.#isStale || this.#share < 1) await new Promise(requestAnimationFrame);
    return this.#canvas;
  }

  close(): void {
    this.#ending.abort();
    cancelAnimationFrame(this.#frame);
    this.#clear();
    this.#renderer.dispose();
  }

  #drawAnew(): void {
    this.#isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame((now) => this.#turn(now));
  }

  #turn(now: number): void {
    this.#frame = 0;
    const shown = this.#shown;
    if (!shown || shown.width === 0 || shown.height === 0) return;
    this.#learnFromFrames(now);
    const began = performance.now();
    const elements = this.#draw(shown);
    if (this.isSoftware) this.#pace.learn(elements, performance.now() - began);
    this.#last = { at: now, elements };
    this.#ondrawn(this.#share);
    if (this.#share < 1 && (!shown.isMoving || this.#share === 0)) this.#schedule();
  }

  /** Returns how many points were drawn. */
  #draw(shown: Shown): number {
    if (this.#isStale) this.#begin(shown);
    const total = Math.max(1, shown.places.count);
    const from = this.#share;
    // What begins is soon seen, and is soon seen to be something else.
    const isAhead = this.#turnsAhead > 0;
    // With the first points shaders are made ready, which takes its time as well.
    const share = this.#last.elements === 0 ? 0 : 1;
    const most = isAhead ? 0 : this.#pace.most(shown.isMoving || from === 0, share);
    if (isAhead && --this.#turnsAhead > 0) return 0;
    this.#share = Math.min(1, from + most / total);
    for (const layer of this.#layers) layer.limit(from, this.#share);
    this.#renderer.render(this.#scene, this.#aim(shown));
    // Without a graphics card it is the page's own processor that is busy now.
    if (this.isSoftware) this.#await();
    return Math.round((this.#share - from) * total);
  }

  /** Browsers do not wait for all to be drawn, but for a pixel that is asked for. */
  #await(): void {
    const { RGBA, UNSIGNED_BYTE } = this.#context;
    this.#context.readPixels(0, 0, 1, 1, RGBA, UNSIGNED_BYTE, new Uint8Array(4));
  }

  #begin(shown: Shown): void {
    this.#isStale = false;
    this.#share = 0;
    this.#fit(shown);
    const isNew = this.#columns.update(shown);
    if (isNew) this.#turnsAhead = shown.places.count > MANY ? 2 : 0;
    if (isNew) this.#clear();
    if (isNew || shown.sheets !== this.#sheets) this.#makeLayers(shown);
    for (const { points } of this.#layers) this.#columns.giveTo(points.geometry);
    const distance = distanceOf(shown.orbit, shown.lens);
    const reach = { near: distance - 1, far: distance + 1.4 };
    for (const layer of this.#layers) layer.dress(shown, this.#density, reach);
    this.#renderer.setClearColor(shown.paper);
    this.#renderer.clear();
  }

  /** A layer for each sheet, of which those stay that are there, and one of discs for the rest. */
  #makeLayers({ places, sheets }: Shown): void {
    this.#sheets = sheets;
    const before = new Map(this.#layers.map((layer) => [layer.sheet, layer]));
    const pictured = sheets.reduce((end, { first, count }) => Math.max(end, first + count), 0);
    this.#layers = sheets.map((sheet) => before.get(sheet) ?? this.#layerOf(sheet));
    if (pictured < places.count) {
      const rest = places.count - pictured;
      this.#layers = [...this.#layers, new Layer(this.#columns, pictured, rest, null)];
    }
    for (const layer of before.values()) if (!this.#layers.includes(layer)) layer.dispose();
    this.#scene.clear();
    for (const { points } of this.#layers) this.#scene.add(points);
  }

  #layerOf(sheet: Sheet): Layer {
    return new Layer(this.#columns, sheet.first, sheet.count, sheet);
  }

  #clear(): void {
    for (const layer of this.#layers) layer.dispose();
    this.#layers = [];
  }

  get #density(): number {
    return this.isSoftware ? 1 : Math.min(DENSEST, devicePixelRatio);
  }

  #fit({ width, height }: Shown): void {
    const [wide, high] = [Math.round(width * this.#density), Math.round(height * this.#density)];
    if (this.#canvas.width === wide && this.#canvas.height === high) return;
    this.#renderer.setSize(wide, high, false);
  }

  #aim({ orbit, lens }: Shown): PerspectiveCamera | OrthographicCamera {
    const camera = lens.orthographic ? this.#orthographic : this.#perspective;
    const distance = distanceOf(orbit, lens);
    camera.near = lens.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = heightAtTarget(orbit, lens) / 2;
      [camera.top, camera.bottom] = [half, -half];
      [camera.right, camera.left] = [half * lens.aspect, -half * lens.aspect];
    } else {
      camera.fov = lens.fov;
      camera.aspect = lens.aspect;
    }
    camera.up.set(...upVector(UP));
    camera.position.set(...eyeOf(orbit, lens, UP));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  /** A graphics card works beside the page: that it is late is seen by frames that are. */
  #learnFromFrames(now: number): void {
    const took = now - this.#last.at;
    if (this.isSoftware || took < LATE_MS || took > IDLE_MS) return;
    this.#pace.learn(this.#last.elements, took);
  }
}
