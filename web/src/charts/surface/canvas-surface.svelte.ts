import type { Size } from '../axes/plot-axes';
import {
  CanvasRenderer,
  type ChartTheme,
  LIGHT_THEME,
  readChartTheme,
  type Renderer,
} from '../renderer/renderer';

const themeListeners = new Set<() => void>();
let stopWatching: (() => void) | null = null;

/**
 * Call `listener` when the theme or the device pixel ratio changes; return a function that stops.
 */
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
  const controller = new AbortController();
  const root = new MutationObserver(notifyThemeListeners);
  root.observe(document.documentElement, { attributeFilter: ['data-theme', 'class', 'style'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener(
    'change',
    notifyThemeListeners,
    controller,
  );
  watchPixelRatio(controller);
  return () => {
    root.disconnect();
    controller.abort();
  };
}

/** A media query matches one resolution, so each change needs a new query. */
function watchPixelRatio(controller: AbortController): void {
  const query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  const changed = (): void => {
    notifyThemeListeners();
    watchPixelRatio(controller);
  };
  query.addEventListener('change', changed, { once: true, signal: controller.signal });
}

/** Runs the latest scheduled work in the next frame. */
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

/** Time per frame for all charts, so that the first ones appear before the last are drawn. */
const FRAME_BUDGET_MS = 10;

const queuedTasks = new Set<QueuedFrameTask>();
let frameRequest = 0;

/**
 * Runs the latest scheduled work in one of the next frames, sharing a time budget with other
 * charts.
 */
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

/** Size, theme and device pixel ratio of the element of a chart. */
export class CanvasSurface {
  size = $state.raw<Size>({ width: 0, height: 0 });
  theme = $state.raw<ChartTheme>(LIGHT_THEME);
  pixelRatio = $state(1);

  /** Observe an element; return a function that stops. */
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

/** Clear a canvas and draw on it at the device resolution. */
export function drawOnCanvas(
  canvas: HTMLCanvasElement,
  { width, height }: Size,
  pixelRatio: number,
  draw: (renderer: Renderer) => void,
): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const [across, down] = [Math.round(width * pixelRatio), Math.round(height * pixelRatio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, across, down);
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  draw(new CanvasRenderer(context, pixelRatio));
}
