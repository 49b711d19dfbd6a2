import { widthOf } from '../../../charts/pen/measure';
import { between, canMove } from '../canvas/between';
import { drawingOf, type Drawing, EMPTY, type Groups, interiorOf } from '../canvas/drawing';
import { bringTo, firstLook, fit, reveal, type View, zoomAt } from '../canvas/view';
import type { Desk } from '../layout/desk';
import type { Direction } from '../layout/nesting';
import type { Size, Spot } from '../layout/types';

const MOVE_MS = 150;

/** The picture as it lies on the screen, and how it gets there. */
export class Stage {
  /** Where everything is going to be. */
  drawing = $state.raw<Drawing>(EMPTY);
  /** What is on the screen, which may still be on its way there. */
  shown = $state.raw<Drawing>(EMPTY);
  view = $state.raw<View>({ x: 0, y: 0, scale: 1 });
  screen = $state.raw<Size>({ width: 0, height: 0 });
  /** A picture is being made. */
  busy = $state(false);
  /** The node that is to stay where it is on the screen while the picture changes around it. */
  #anchor: string | null = null;
  #frame = 0;
  /** The view at the end of the animation that is running; null while none is. */
  #goal: View | null = null;
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Set the size of the canvas; what is in its middle stays there, as the address has it. */
  resize(screen: Size): void {
    const shift = (before: number, after: number): number =>
      before > 0 && after > 0 ? (after - before) / 2 : 0;
    const dx = shift(this.screen.width, screen.width);
    const dy = shift(this.screen.height, screen.height);
    this.screen = screen;
    this.pan(dx, dy);
    if (this.#goal) this.#goal = { ...this.#goal, x: this.#goal.x + dx, y: this.#goal.y + dy };
  }

  holdStill(node: string): void {
    this.#anchor = node;
  }

  /** Lays out anew; true once that is what is seen, false if it was overtaken. */
  async show(groups: Groups, direction: Direction): Promise<boolean> {
    this.busy = true;
    const placed = await this.#desk.layOut(interiorOf('', groups, widthOf), direction);
    if (!placed) return false;
    this.busy = false;
    this.#moveTo(drawingOf(placed, groups));
    return true;
  }

  /** Nothing is there to be moved from. */
  clear(): void {
    cancelAnimationFrame(this.#frame);
    this.#goal = null;
    [this.drawing, this.shown] = [EMPTY, EMPTY];
  }

  firstLook(): void {
    this.view = firstLook(this.drawing, this.screen);
  }

  fit(): void {
    this.view = fit(this.drawing, this.screen);
  }

  zoom(at: Spot, factor: number): void {
    this.view = zoomAt(this.view, at, factor);
  }

  /** About the middle of the screen. */
  zoomBy(factor: number): void {
    this.zoom({ x: this.screen.width / 2, y: this.screen.height / 2 }, factor);
  }

  pan(dx: number, dy: number): void {
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
  }

  reveal(id: string): void {
    const node = this.drawing.byId.get(id);
    if (!node) return;
    // A view set now would be overwritten by the next frame of a running animation.
    if (this.#goal) this.#goal = reveal(this.#goal, node, this.screen);
    else this.view = reveal(this.view, node, this.screen);
  }

  /** The spot in the middle of the screen, with the scale: what a link keeps. */
  get centre(): View {
    const { x, y, scale } = this.view;
    return {
      x: (this.screen.width / 2 - x) / scale,
      y: (this.screen.height / 2 - y) / scale,
      scale,
    };
  }

  lookAt({ x, y, scale }: View): void {
    const middle = { x: this.screen.width / 2, y: this.screen.height / 2 };
    this.view = bringTo({ x: 0, y: 0, scale }, { x, y }, middle);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#desk.close();
  }

  #moveTo(drawing: Drawing): void {
    cancelAnimationFrame(this.#frame);
    const [from, view] = [this.shown, this.view];
    this.drawing = drawing;
    const goal = this.#keepStill(from, drawing, view);
    [this.#anchor, this.#goal] = [null, null];
    if (!canMove(from, drawing) || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      [this.shown, this.view] = [drawing, goal];
      return;
    }
    this.#goal = goal;
    const began = performance.now();
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / MOVE_MS);
      const eased = 1 - (1 - share) ** 3;
      this.shown = share < 1 ? between(from, drawing, eased) : drawing;
      this.view = mixed(view, this.#goal ?? goal, eased);
      if (share < 1) this.#frame = requestAnimationFrame(step);
      else this.#goal = null;
    };
    this.#frame = requestAnimationFrame(step);
  }

  /** The upper edge of the node that was opened or closed stays under the pointer. */
  #keepStill(from: Drawing, to: Drawing, view: View): View {
    const [before, after] = [this.#anchor, this.#anchor].map((id, at) =>
      id === null ? undefined : (at === 0 ? from : to).byId.get(id),
    );
    if (!before || !after) return view;
    const top = before.y - before.height / 2;
    const at = { x: before.x * view.scale + view.x, y: top * view.scale + view.y };
    return bringTo(view, { x: after.x, y: after.y - after.height / 2 }, at);
  }
}

function mixed(from: View, to: View, share: number): View {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), scale: mix(from.scale, to.scale) };
}
