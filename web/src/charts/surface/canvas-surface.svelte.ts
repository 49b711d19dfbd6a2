import type { Size } from '../axes/plot-layout';
import { CanvasRenderer } from '../renderer/canvas-renderer';
import { type ChartTheme, LIGHT_THEME, readChartTheme } from '../renderer/chart-theme';
import type { Renderer } from '../renderer/renderer';

/** Tells all charts when colours or the pixels of the screen have become others. */

const themeListeners = new Set<() => void>();
let stopWatching: (() => void) | null = null;

/** Calls `listener` when the theme or the density of pixels has changed. */
export function onThemeChange(listener: () => void): () => void {
  themeListeners.add(listener);
  stopWatching ??= watchTheme();
  return () => {
    themeListeners.delete(listener);
    if (themeListeners.size > 0) return;
    stopWatching?.();
    stopWatching = null;
  };
}

function notifyThemeListeners(): void {
  for (const listener of themeListeners) listener();
}

function watchTheme(): () => void {
  const ending = new AbortController();
  const root = new MutationObserver(notifyThemeListeners);
  root.observe(document.documentElement, { attributeFilter: ['data-theme', 'class', 'style'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener(
    'change',
    notifyThemeListeners,
    ending,
  );
  watchPixelRatio(ending);
  return () => {
    root.disconnect();
    ending.abort();
  };
}

/** A query can only ask for one density, so each change needs the next one. */
function watchPixelRatio(ending: AbortController): void {
  const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  const changed = (): void => {
    notifyThemeListeners();
    watchPixelRatio(ending);
  };
  query.addEventListener('change', changed, { once: true, signal: ending.signal });
}

/** Puts work off to the next frame; of what comes before then only the last is done. */
export class FrameTask {
  #work: (() => void) | null = null;
  #request = 0;

  schedule(work: () => void): void {
    this.#work = work;
    this.#request ||= requestAnimationFrame(() => {
      this.#request = 0;
      this.#work?.();
    });
  }

  cancel(): void {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
  }
}

/** What all charts together may take of a frame, so that the first is seen before the last is drawn. */
const FRAME_BUDGET_MS = 10;

const queuedTasks = new Set<QueuedFrameTask>();
let frameRequest = 0;

/** Does the last work it was given when it is this chart's turn, in one of the next frames. */
export class QueuedFrameTask {
  #work: (() => void) | undefined;

  schedule(work: () => void): void {
    this.#work = work;
    queuedTasks.add(this);
    frameRequest ||= requestAnimationFrame(runQueue);
  }

  cancel(): void {
    this.#work = undefined;
    queuedTasks.delete(this);
  }

  run(): void {
    const work = this.#work;
    this.cancel();
    work?.();
  }
}

function runQueue(): void {
  const end = performance.now() + FRAME_BUDGET_MS;
  for (const turn of queuedTasks) {
    turn.run();
    if (performance.now() > end) break;
  }
  frameRequest = queuedTasks.size > 0 ? requestAnimationFrame(runQueue) : 0;
}

/** The element that a chart fills: how large it is, in which colours, and how dense its pixels. */
export class CanvasSurface {
  size = $state.raw<Size>({ width: 0, height: 0 });
  theme = $state.raw<ChartTheme>(LIGHT_THEME);
  pixelRatio = $state(1);

  /** Follows an element; returns how to let go of it. */
  observe(element: HTMLElement): () => void {
    const sized = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width !== this.size.width || height !== this.size.height) this.size = { width, height };
    });
    const look = (): void => {
      this.theme = readChartTheme(element);
      this.pixelRatio = devicePixelRatio;
    };
    look();
    sized.observe(element);
    const unlook = onThemeChange(look);
    return () => {
      sized.disconnect();
      unlook();
    };
  }
}

/** Draws on an empty canvas, sharp at any density. */
export function drawOnCanvas(
  canvas: HTMLCanvasElement,
  { width, height }: Size,
  density: number,
  draw: (pen: Renderer) => void,
): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const [across, down] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, across, down);
  context.setTransform(density, 0, 0, density, 0, 0);
  draw(new CanvasRenderer(context, density));
}
