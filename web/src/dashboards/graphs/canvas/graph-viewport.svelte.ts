import { measureText } from '../../../charts/renderer/renderer';
import type { VisibleGroups } from '../graph-model';
import type {
  Box,
  Direction,
  LayoutPoint,
  NestedGraph,
  NestedLayout,
  Size,
} from '../layout/layout-types';
import type { LayoutWorkerRequest, LayoutWorkerResponse } from '../layout/layout-worker';
import { layoutNestedGraph } from '../layout/nested-layout';
import {
  buildDrawing,
  type DrawnEdge,
  type DrawnNode,
  EMPTY_DRAWING,
  type GraphDrawing,
  toNestedGraph,
} from './graph-drawing';

interface PendingLayout {
  readonly request: LayoutWorkerRequest;
  readonly resolve: (layout: NestedLayout | null) => void;
}

/**
 * Lays out graphs in a worker; a new request replaces the previous one. Where workers are not
 * available, as in a page opened from a file, the page itself does the layout.
 */
class LayoutClient {
  #worker: Worker | null = null;
  #lastRequestId = 0;
  #pending: PendingLayout | null = null;

  constructor() {
    try {
      const worker = new Worker(new URL('../layout/layout-worker.ts', import.meta.url), {
        type: 'module',
      });
      worker.addEventListener('message', ({ data }: MessageEvent<LayoutWorkerResponse>) => {
        if (data.requestId === this.#lastRequestId) this.#settle(data.layout);
      });
      worker.addEventListener('error', () => this.#handleError());
      this.#worker = worker;
    } catch (error) {
      // Chrome throws for the URL of a file, other browsers report an error later.
      if (!(error instanceof DOMException)) throw error;
    }
  }

  /** Return the layout, or null if it was canceled or replaced by a later request. */
  layout(root: NestedGraph, direction: Direction): Promise<NestedLayout | null> {
    this.#settle(null);
    if (!this.#worker) return Promise.resolve(layoutNestedGraph(root, direction));
    const request: LayoutWorkerRequest = { requestId: ++this.#lastRequestId, root, direction };
    this.#worker.postMessage(request);
    return new Promise((resolve) => (this.#pending = { request, resolve }));
  }

  /** Drop the pending layout. */
  cancel(): void {
    this.#settle(null);
  }

  close(): void {
    this.#settle(null);
    this.#worker?.terminate();
  }

  /** The worker could not be loaded, or has a bug, which then shows here. */
  #handleError(): void {
    this.#worker?.terminate();
    this.#worker = null;
    if (!this.#pending) return;
    const { root, direction } = this.#pending.request;
    this.#settle(layoutNestedGraph(root, direction));
  }

  #settle(layout: NestedLayout | null): void {
    this.#pending?.resolve(layout);
    this.#pending = null;
  }
}

/** Maps the drawing to the screen: `screen = point * scale + (x, y)`. */
export interface ViewTransform extends LayoutPoint {
  readonly scale: number;
}

/** A view that is computed from the sizes of the drawing and of the canvas. */
interface AutomaticView {
  readonly compute: (drawing: Size, canvas: Size) => ViewTransform;
  readonly view: ViewTransform;
}

const MIN_SCALE = 0.02;
const MAX_SCALE = 3;
/** Names are readable from here on. */
const READABLE_SCALE = 0.55;
const VIEW_MARGIN_PX = 28;
/** Larger drawings are replaced without an animation. */
const MAX_ANIMATED_NODES = 700;
/** If more nodes appear, they do not move out of their group: all would be drawn on the way. */
const MAX_GROWING_NODES = 60;
const ANIMATION_MS = 150;

/** The drawing of the graph and the part of it that is on the screen. */
export class GraphViewport {
  /** The latest layout. */
  drawing = $state.raw<GraphDrawing>(EMPTY_DRAWING);
  /** What is drawn: the latest layout, or an animation towards it. */
  displayed = $state.raw<GraphDrawing>(EMPTY_DRAWING);
  view = $state.raw<ViewTransform>({ x: 0, y: 0, scale: 1 });
  size = $state.raw<Size>({ width: 0, height: 0 });
  isLayingOut = $state(false);
  /** The node that keeps its place on the screen in the next layout. */
  #anchor: string | null = null;
  #frame = 0;
  /** The views at the start and the end of a running animation; null if there is none. */
  #animation: { readonly from: ViewTransform; readonly to: ViewTransform } | null = null;
  /** How the current view was computed, until it is changed by panning, zooming or revealing. */
  #automaticView: AutomaticView | null = null;
  /** Size of the legend in the bottom left corner, including its margins. */
  #legend: Size = { width: 0, height: 0 };
  readonly #layoutClient = new LayoutClient();

  /** Set the size of the canvas; the point in its center stays there, or the graph is fitted again. */
  resize(size: Size): void {
    const automatic = this.#automaticView;
    if (automatic && automatic.view === this.#nextView) {
      this.size = size;
      this.#showAutomaticView(automatic.compute);
      return;
    }
    const getShift = (before: number, after: number): number =>
      before > 0 && after > 0 ? (after - before) / 2 : 0;
    const dx = getShift(this.size.width, size.width);
    const dy = getShift(this.size.height, size.height);
    this.size = size;
    this.pan(dx, dy);
  }

  /** Set the size of the legend; a view that was computed keeps nodes out of it. */
  setLegendSize(size: Size): void {
    if (size.width === this.#legend.width && size.height === this.#legend.height) return;
    this.#legend = size;
    const automatic = this.#automaticView;
    if (automatic && automatic.view === this.#nextView) this.#showAutomaticView(automatic.compute);
  }

  /** Keep a node in its place on the screen during the next layout. */
  keepInPlace(node: string): void {
    this.#anchor = node;
  }

  /** Lay out and draw groups; resolves with false if this was canceled or replaced. */
  async layOut(groups: VisibleGroups, direction: Direction): Promise<boolean> {
    this.isLayingOut = true;
    const nested = toNestedGraph('', groups, measureText);
    const layout = await this.#layoutClient.layout(nested, direction);
    if (!layout) return false;
    this.isLayingOut = false;
    this.#animateTo(buildDrawing(layout, groups));
    return true;
  }

  /** Remove the drawing and drop a pending layout; the next drawing is not animated. */
  clear(): void {
    cancelAnimationFrame(this.#frame);
    this.#layoutClient.cancel();
    this.isLayingOut = false;
    this.#animation = null;
    [this.drawing, this.displayed] = [EMPTY_DRAWING, EMPTY_DRAWING];
  }

  showInitialView(): void {
    this.#showAutomaticView(getInitialView);
  }

  fit(): void {
    this.#showAutomaticView(fitView);
  }

  zoom(at: LayoutPoint, factor: number): void {
    const scale = clampScale(this.view.scale * factor);
    const growth = scale / this.view.scale;
    this.#changeView((view) => ({
      scale: view.scale * growth,
      x: at.x - (at.x - view.x) * growth,
      y: at.y - (at.y - view.y) * growth,
    }));
  }

  zoomAtCenter(factor: number): void {
    this.zoom({ x: this.size.width / 2, y: this.size.height / 2 }, factor);
  }

  pan(dx: number, dy: number): void {
    this.#changeView((view) => ({ ...view, x: view.x + dx, y: view.y + dy }));
  }

  /** Bring a node into view, at a readable size. */
  reveal(id: string): void {
    const node = this.drawing.byId.get(id);
    if (node) this.#moveTo(revealBox(this.#nextView, node, this.size));
  }

  /** The point of the drawing in the center of the canvas, and the scale. */
  get center(): ViewTransform {
    const { x, y, scale } = this.view;
    return {
      x: (this.size.width / 2 - x) / scale,
      y: (this.size.height / 2 - y) / scale,
      scale,
    };
  }

  centerOn({ x, y, scale }: ViewTransform): void {
    const middle = { x: this.size.width / 2, y: this.size.height / 2 };
    this.#moveTo(alignPoint(scale, { x, y }, middle));
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.#layoutClient.close();
  }

  #showAutomaticView(compute: AutomaticView['compute']): void {
    const view = avoidLegend(compute, this.drawing, this.size, this.#legend);
    this.#automaticView = { compute, view };
    this.#moveTo(view);
  }

  /** The view after a running animation. */
  get #nextView(): ViewTransform {
    return this.#animation?.to ?? this.view;
  }

  /** Set the view; a running animation, which would overwrite it, ends there. */
  #moveTo(view: ViewTransform): void {
    if (this.#animation) this.#animation = { ...this.#animation, to: view };
    else this.view = view;
  }

  /** Zoom or pan; a running animation, which would overwrite the view, goes on from there. */
  #changeView(change: (view: ViewTransform) => ViewTransform): void {
    this.view = change(this.view);
    if (!this.#animation) return;
    const { from, to } = this.#animation;
    this.#animation = { from: change(from), to: change(to) };
  }

  #animateTo(drawing: GraphDrawing): void {
    cancelAnimationFrame(this.#frame);
    const [from, view] = [this.displayed, this.view];
    this.drawing = drawing;
    const goal = this.#getAnchoredView(from, drawing, view);
    [this.#anchor, this.#animation, this.#automaticView] = [null, null, null];
    if (!canAnimate(from, drawing)) {
      [this.displayed, this.view] = [drawing, goal];
      return;
    }
    this.#animation = { from: view, to: goal };
    const start = performance.now();
    const step = (now: number): void => {
      const progress = Math.min(1, Math.max(0, now - start) / ANIMATION_MS);
      const eased = 1 - (1 - progress) ** 3;
      this.displayed = progress < 1 ? interpolateDrawing(from, drawing, eased) : drawing;
      const views = this.#animation ?? { from: view, to: goal };
      this.view = progress < 1 ? interpolateView(views.from, views.to, eased) : views.to;
      if (progress < 1) this.#frame = requestAnimationFrame(step);
      else this.#animation = null;
    };
    this.#frame = requestAnimationFrame(step);
  }

  /** The top of the node that was expanded or collapsed stays under the pointer. */
  #getAnchoredView(from: GraphDrawing, to: GraphDrawing, view: ViewTransform): ViewTransform {
    const before = from.byId.get(this.#anchor ?? '');
    const after = to.byId.get(this.#anchor ?? '');
    if (!before || !after) return view;
    const top = before.y - before.height / 2;
    const screen = { x: before.x * view.scale + view.x, y: top * view.scale + view.y };
    return alignPoint(view.scale, { x: after.x, y: after.y - after.height / 2 }, screen);
  }
}

// ---- Views

/** Show the whole drawing, not enlarged. */
function fitView(drawing: Size, screen: Size): ViewTransform {
  const scale = Math.min(
    1,
    (screen.width - 2 * VIEW_MARGIN_PX) / Math.max(1, drawing.width),
    (screen.height - 2 * VIEW_MARGIN_PX) / Math.max(1, drawing.height),
  );
  return centerView(drawing, screen, clampScale(scale));
}

/** Show the whole drawing if it is readable, otherwise its top at a readable scale. */
function getInitialView(drawing: Size, screen: Size): ViewTransform {
  const whole = fitView(drawing, screen);
  if (whole.scale >= READABLE_SCALE) return whole;
  const view = centerView(drawing, screen, READABLE_SCALE);
  const isWider = drawing.width * READABLE_SCALE > screen.width;
  return { ...view, x: isWider ? view.x : Math.max(view.x, VIEW_MARGIN_PX), y: VIEW_MARGIN_PX };
}

/** Compute a view; to the right of or above the legend if that would cover nodes. */
export function avoidLegend(
  compute: AutomaticView['compute'],
  drawing: Size & Pick<GraphDrawing, 'nodes'>,
  screen: Size,
  legend: Size,
): ViewTransform {
  const view = compute(drawing, screen);
  if (!isNodeCovered(drawing, view, screen, legend)) return view;
  const { width, height } = legend;
  const views: ViewTransform[] = [];
  // On a small screen, there is no room beside the legend.
  if (width < screen.width / 2) {
    const right = compute(drawing, { ...screen, width: screen.width - width });
    views.push({ ...right, x: right.x + width });
  }
  if (height < screen.height / 2)
    views.push(compute(drawing, { ...screen, height: screen.height - height }));
  const free = views.filter((it) => !isNodeCovered(drawing, it, screen, legend));
  return free.sort((one, other) => other.scale - one.scale)[0] ?? view;
}

function isNodeCovered(
  { nodes }: Pick<GraphDrawing, 'nodes'>,
  { x, y, scale }: ViewTransform,
  screen: Size,
  legend: Size,
): boolean {
  const top = screen.height - legend.height;
  return nodes.some(
    (node) =>
      (node.x - node.width / 2) * scale + x < legend.width &&
      (node.y + node.height / 2) * scale + y > top,
  );
}

function centerView(drawing: Size, screen: Size, scale: number): ViewTransform {
  return {
    scale,
    x: (screen.width - drawing.width * scale) / 2,
    y: (screen.height - drawing.height * scale) / 2,
  };
}

/** Return the view with a point of the drawing at a point of the screen. */
function alignPoint(scale: number, point: LayoutPoint, screen: LayoutPoint): ViewTransform {
  return { scale, x: screen.x - point.x * scale, y: screen.y - point.y * scale };
}

/** Return the view if a box is visible and readable in it, otherwise one with the box centered. */
function revealBox(view: ViewTransform, box: Box, screen: Size): ViewTransform {
  const isReadable = view.scale >= READABLE_SCALE;
  if (isReadable && isBoxInside(box, getVisibleBox(view, screen))) return view;
  const middle = { x: screen.width / 2, y: screen.height / 2 };
  return alignPoint(Math.max(view.scale, READABLE_SCALE), box, middle);
}

/** Return the part of the drawing that is on the screen. */
export function getVisibleBox({ x, y, scale }: ViewTransform, screen: Size): Box {
  const [width, height] = [screen.width / scale, screen.height / scale];
  return { x: -x / scale + width / 2, y: -y / scale + height / 2, width, height };
}

function isBoxInside(box: Box, frame: Box): boolean {
  return (
    Math.abs(box.x - frame.x) * 2 <= frame.width - Math.min(box.width, frame.width) &&
    Math.abs(box.y - frame.y) * 2 <= frame.height - Math.min(box.height, frame.height)
  );
}

function clampScale(scale: number): number {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
}

// ---- Animation

function canAnimate(from: GraphDrawing, to: GraphDrawing): boolean {
  const isSmall = from.nodes.length + to.nodes.length <= MAX_ANIMATED_NODES;
  const isReduced = matchMedia('(prefers-reduced-motion: reduce)').matches;
  return from.nodes.length > 0 && isSmall && !isReduced;
}

const mix = (from: number, to: number, progress: number): number => from + (to - from) * progress;

function interpolateView(from: ViewTransform, to: ViewTransform, progress: number): ViewTransform {
  return {
    x: mix(from.x, to.x, progress),
    y: mix(from.y, to.y, progress),
    scale: mix(from.scale, to.scale, progress),
  };
}

/** Nodes in both drawings move; new ones move out of the group that was expanded. */
function interpolateDrawing(from: GraphDrawing, to: GraphDrawing, progress: number): GraphDrawing {
  const added = to.nodes.filter(({ id }) => !from.byId.has(id)).length;
  const nodes = to.nodes.map((node): DrawnNode => {
    const origin = added <= MAX_GROWING_NODES ? findAncestor(from, to, node) : undefined;
    const before = from.byId.get(node.id) ?? origin;
    if (!before) return node;
    const isSame = before.id === node.id;
    return {
      ...node,
      x: mix(before.x, node.x, progress),
      y: mix(before.y, node.y, progress),
      width: isSame ? mix(before.width, node.width, progress) : node.width,
      height: isSame ? mix(before.height, node.height, progress) : node.height,
    };
  });
  const edgesBefore = new Map(from.edges.map((edge) => [edge.id, edge]));
  const edges = to.edges.map((edge): DrawnEdge => {
    const before = edgesBefore.get(edge.id);
    if (before?.route.length !== edge.route.length) return edge;
    const route = edge.route.map((point, index) => ({
      x: mix(before.route[index]?.x ?? point.x, point.x, progress),
      y: mix(before.route[index]?.y ?? point.y, point.y, progress),
    }));
    return { ...edge, route };
  });
  return { ...to, nodes, edges, byId: new Map(nodes.map((node) => [node.id, node])) };
}

/** Return the nearest group around a new node that was drawn before. */
function findAncestor(
  from: GraphDrawing,
  to: GraphDrawing,
  node: DrawnNode,
): DrawnNode | undefined {
  for (let group = to.byId.get(node.parent); group; group = to.byId.get(group.parent)) {
    const before = from.byId.get(group.id);
    if (before) return before;
  }
  return undefined;
}
