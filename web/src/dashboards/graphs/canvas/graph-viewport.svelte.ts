import { measureText } from '../../../charts/renderer/renderer';
import type { LayoutClient } from '../layout/layout-client';
import type { Direction, LayoutPoint, Size } from '../layout/layout-types';
import {
  buildDrawing,
  type DrawnEdge,
  type DrawnNode,
  EMPTY_DRAWING,
  type GraphDrawing,
  toNestedGraph,
  type VisibleGroups,
} from './graph-drawing';
import {
  alignPoint,
  fitView,
  initialView,
  revealBox,
  type ViewTransform,
  zoomAt,
} from './view-transform';

/** More than this is too much to move smoothly, and nobody could follow it. */
const MAX_ANIMATED_NODES = 700;
/** So many grow out of their group at most: of more, all would be on the screen on their way. */
const MAX_GROWING_NODES = 60;

export function canAnimate(from: GraphDrawing, to: GraphDrawing): boolean {
  return from.nodes.length > 0 && from.nodes.length + to.nodes.length <= MAX_ANIMATED_NODES;
}

/**
 * A picture on the way from one to another. What is in both moves; what is new grows out of the
 * group that was opened, or simply is there.
 */
export function interpolateDrawing(
  from: GraphDrawing,
  to: GraphDrawing,
  share: number,
): GraphDrawing {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  const added = to.nodes.filter(({ id }) => !from.byId.has(id)).length;
  const nodes = to.nodes.map((node): DrawnNode => {
    const origin = added <= MAX_GROWING_NODES ? findAncestor(from, to, node) : undefined;
    const before = from.byId.get(node.id) ?? origin;
    if (!before) return node;
    const wasNode = before.id === node.id;
    return {
      ...node,
      x: mix(before.x, node.x),
      y: mix(before.y, node.y),
      width: wasNode ? mix(before.width, node.width) : node.width,
      height: wasNode ? mix(before.height, node.height) : node.height,
    };
  });
  const past = new Map(from.edges.map((link) => [link.id, link]));
  const links = to.edges.map((link): DrawnEdge => {
    const before = past.get(link.id);
    if (before?.route.length !== link.route.length) return link;
    const route = link.route.map((spot, at) => ({
      x: mix(before.route[at]?.x ?? spot.x, spot.x),
      y: mix(before.route[at]?.y ?? spot.y, spot.y),
    }));
    return { ...link, route };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return { ...to, nodes, edges: links, byId };
}

/** The group that a new node was inside of before. */
function findAncestor(
  from: GraphDrawing,
  to: GraphDrawing,
  node: DrawnNode,
): DrawnNode | undefined {
  for (let at = to.byId.get(node.parent); at; at = to.byId.get(at.parent)) {
    const before = from.byId.get(at.id);
    if (before) return before;
  }
  return undefined;
}

const ANIMATION_MS = 150;

/** The picture as it lies on the screen, and how it gets there. */
export class GraphViewport {
  /** Where everything is going to be. */
  drawing = $state.raw<GraphDrawing>(EMPTY_DRAWING);
  /** What is on the screen, which may still be on its way there. */
  displayed = $state.raw<GraphDrawing>(EMPTY_DRAWING);
  view = $state.raw<ViewTransform>({ x: 0, y: 0, scale: 1 });
  size = $state.raw<Size>({ width: 0, height: 0 });
  /** A picture is being made. */
  isLayingOut = $state(false);
  /** The node that is to stay where it is on the screen while the picture changes around it. */
  #anchor: string | null = null;
  #frame = 0;
  /** The view at the end of the animation that is running; null while none is. */
  #targetView: ViewTransform | null = null;
  readonly #layoutClient: LayoutClient;

  constructor(desk: LayoutClient) {
    this.#layoutClient = desk;
  }

  /** Set the size of the canvas; what is in its middle stays there, as the address has it. */
  resize(screen: Size): void {
    const shift = (before: number, after: number): number =>
      before > 0 && after > 0 ? (after - before) / 2 : 0;
    const dx = shift(this.size.width, screen.width);
    const dy = shift(this.size.height, screen.height);
    this.size = screen;
    this.pan(dx, dy);
    if (this.#targetView)
      this.#targetView = {
        ...this.#targetView,
        x: this.#targetView.x + dx,
        y: this.#targetView.y + dy,
      };
  }

  keepInPlace(node: string): void {
    this.#anchor = node;
  }

  /** Lays out anew; true once that is what is seen, false if it was overtaken. */
  async layOut(groups: VisibleGroups, direction: Direction): Promise<boolean> {
    this.isLayingOut = true;
    const placed = await this.#layoutClient.layout(
      toNestedGraph('', groups, measureText),
      direction,
    );
    if (!placed) return false;
    this.isLayingOut = false;
    this.#animateTo(buildDrawing(placed, groups));
    return true;
  }

  /** Nothing is there to be moved from. */
  clear(): void {
    cancelAnimationFrame(this.#frame);
    this.#targetView = null;
    [this.drawing, this.displayed] = [EMPTY_DRAWING, EMPTY_DRAWING];
  }

  showInitialView(): void {
    this.view = initialView(this.drawing, this.size);
  }

  fit(): void {
    this.view = fitView(this.drawing, this.size);
  }

  zoom(at: LayoutPoint, factor: number): void {
    this.view = zoomAt(this.view, at, factor);
  }

  /** About the middle of the screen. */
  zoomAtCenter(factor: number): void {
    this.zoom({ x: this.size.width / 2, y: this.size.height / 2 }, factor);
  }

  pan(dx: number, dy: number): void {
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
  }

  reveal(id: string): void {
    const node = this.drawing.byId.get(id);
    if (!node) return;
    // A view set now would be overwritten by the next frame of a running animation.
    if (this.#targetView) this.#targetView = revealBox(this.#targetView, node, this.size);
    else this.view = revealBox(this.view, node, this.size);
  }

  /** The spot in the middle of the screen, with the scale: what a link keeps. */
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
    this.view = alignPoint({ x: 0, y: 0, scale }, { x, y }, middle);
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.#layoutClient.close();
  }

  #animateTo(drawing: GraphDrawing): void {
    cancelAnimationFrame(this.#frame);
    const [from, view] = [this.displayed, this.view];
    this.drawing = drawing;
    const goal = this.#anchoredView(from, drawing, view);
    [this.#anchor, this.#targetView] = [null, null];
    if (!canAnimate(from, drawing) || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      [this.displayed, this.view] = [drawing, goal];
      return;
    }
    this.#targetView = goal;
    const began = performance.now();
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / ANIMATION_MS);
      const eased = 1 - (1 - share) ** 3;
      this.displayed = share < 1 ? interpolateDrawing(from, drawing, eased) : drawing;
      this.view = interpolateView(view, this.#targetView ?? goal, eased);
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else this.#targetView = null;
    };
    this.#frame = requestAnimationFrame(step);
  }

  /** The upper edge of the node that was opened or closed stays under the pointer. */
  #anchoredView(from: GraphDrawing, to: GraphDrawing, view: ViewTransform): ViewTransform {
    const [before, after] = [this.#anchor, this.#anchor].map((id, at) =>
      id === null ? undefined : (at === 0 ? from : to).byId.get(id),
    );
    if (!before || !after) return view;
    const top = before.y - before.height / 2;
    const at = { x: before.x * view.scale + view.x, y: top * view.scale + view.y };
    return alignPoint(view, { x: after.x, y: after.y - after.height / 2 }, at);
  }
}

function interpolateView(from: ViewTransform, to: ViewTransform, share: number): ViewTransform {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), scale: mix(from.scale, to.scale) };
}
