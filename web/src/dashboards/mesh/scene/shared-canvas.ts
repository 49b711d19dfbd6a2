import { ColorManagement, LinearSRGBColorSpace, WebGLRenderer } from 'three';

import { findIsSoftware } from '../../../charts/space/software';
import type { Easel } from './easel';
import type { Shown } from './shown';

/** More pixels than these on a pixel of the page are seen by nobody. */
const DENSEST = 2;

/** A picture in the making. */
export interface Part {
  readonly easel: Easel;
  /** How much of it stands in the shared canvas, from 0 to 1. */
  readonly share: number;
  /** How many points or faces were drawn this time. */
  readonly elements: number;
}

/** The one canvas with a graphics context, of which a browser gives few. Pictures are copied off it. */
export class SharedCanvas {
  readonly isSoftware: boolean;
  /** The picture that stands in it; any other has to begin anew. */
  current: Part | null = null;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;

  /** Null where the browser has no graphics context to give. */
  static open(onrestored: () => void): SharedCanvas | null {
    const isSoftware = findIsSoftware();
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
    return context ? new SharedCanvas(canvas, context, isSoftware, onrestored) : null;
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
  draw(easel: Easel, shown: Shown, most: number, isNew: boolean): Part {
    const { width, height } = this.#measure(shown);
    this.#grow(width, height);
    const from = !isNew && this.current?.easel === easel ? this.current.share : 0;
    const camera = easel.arrange(shown, this.#density, this.#canvas.height);
    const total = Math.max(1, easel.elements);
    const share = Math.min(1, from + most / total);
    easel.limit(from, share);
    this.#renderer.setViewport(0, 0, width, height);
    this.#renderer.setScissor(0, 0, width, height);
    if (from === 0) this.#renderer.clear();
    this.#renderer.render(easel.set.scene, camera);
    // Without a graphics card it is the page's own processor that is busy now.
    if (this.isSoftware) this.#context.finish();
    this.current = { easel, share, elements: Math.round((share - from) * total) };
    return this.current;
  }

  /** Copies the picture that stands here to a canvas of the page. */
  copyTo(target: HTMLCanvasElement, shown: Shown): void {
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
    return this.isSoftware ? 1 : Math.min(DENSEST, devicePixelRatio);
  }

  #measure({ width, height }: Shown): { width: number; height: number } {
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
