import type { Point } from '../renderer/renderer';

/** What a hand can do to a chart, in pixels of the chart. */
export interface GestureHandlers {
  hover(at: Point | null): void;
  click(at: Point): void;
  /** A drag with the plain button, again with every move. */
  drag(from: Point, to: Point): void;
  dragEnd(from: Point, to: Point): void;
  /** The drag is given up. */
  dragCancel(): void;
  pan(dx: number, dy: number): void;
  zoom(at: Point, factor: number): void;
  resetZoom(): void;
  /** Whether a finger drags, too, instead of pointing. */
  dragsByTouch(): boolean;
}

/** Further than this from where it was pressed a pointer drags; nearer it clicks. */
const DRAG_THRESHOLD_PX = 4;
const WHEEL_SPEED = 0.0025;
const WHEEL_LINE_PX = 16;

/** Tells `hand` what pointers do on an element; returns how to stop that. */
export function attachGestures(element: HTMLElement, hand: GestureHandlers): () => void {
  const ending = new AbortController();
  const listen = element.addEventListener.bind(element) as typeof element.addEventListener;
  const gestures = new GestureRecognizer(element, hand);
  const { signal } = ending;
  listen('pointerdown', (event) => gestures.down(event), { signal });
  listen('pointermove', (event) => gestures.move(event), { signal });
  listen('pointerup', (event) => gestures.up(event), { signal });
  listen('pointercancel', (event) => gestures.leave(event), { signal });
  listen('pointerleave', (event) => gestures.leave(event), { signal });
  listen('dblclick', () => hand.resetZoom(), { signal });
  // The page is to scroll on a plain wheel, and must be told before it does if it is not to.
  listen('wheel', (event) => handleWheel(event, hand), { signal, passive: false });
  addEventListener('keydown', (event) => gestures.key(event), { signal });
  addEventListener('pointerdown', (event) => gestures.pressOutside(event), { signal });
  return () => ending.abort();
}

function handleWheel(event: WheelEvent, hand: GestureHandlers): void {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : 1;
  const amount = Math.max(-200, Math.min(200, event.deltaY * unit));
  // A pinch on a touchpad comes as a wheel with ctrl and small steps.
  const speed = Math.abs(amount) < 30 ? 4 * WHEEL_SPEED : WHEEL_SPEED;
  hand.zoom(getOffset(event), Math.exp(-amount * speed));
}

function getOffset(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}

class GestureRecognizer {
  readonly #element: HTMLElement;
  readonly #hand: GestureHandlers;
  readonly #fingers = new Map<number, Point>();
  #pressed: { readonly at: Point; readonly pans: boolean } | null = null;
  #last: Point = { x: 0, y: 0 };
  #dragging = false;
  #touched = false;

  constructor(element: HTMLElement, hand: GestureHandlers) {
    this.#element = element;
    this.#hand = hand;
  }

  down(event: PointerEvent): void {
    if (event.pointerType === 'touch') return this.#touch(event);
    if (event.button > 1) return;
    // The middle button would begin to scroll by itself.
    if (event.button === 1) event.preventDefault();
    const pans = event.shiftKey || event.altKey || event.button === 1;
    this.#pressed = { at: getOffset(event), pans };
    this.#last = getOffset(event);
    this.#element.setPointerCapture(event.pointerId);
  }

  move(event: PointerEvent): void {
    const at = getOffset(event);
    if (event.pointerType === 'touch') return this.#moveFinger(event, at);
    if (!this.#pressed) return this.#hand.hover(at);
    const { at: from, pans } = this.#pressed;
    this.#dragging ||= Math.hypot(at.x - from.x, at.y - from.y) > DRAG_THRESHOLD_PX;
    if (!this.#dragging) return;
    if (pans) this.#hand.pan(at.x - this.#last.x, at.y - this.#last.y);
    else this.#hand.drag(from, at);
    this.#last = at;
  }

  up(event: PointerEvent): void {
    if (event.pointerType === 'touch') return this.#lift(event);
    const pressed = this.#pressed;
    const dragged = this.#dragging;
    this.#release();
    if (!pressed) return;
    const at = getOffset(event);
    if (!dragged) this.#hand.click(at);
    else if (!pressed.pans) this.#hand.dragEnd(pressed.at, at);
  }

  leave(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId);
    if (event.type === 'pointercancel') this.#giveUp();
    // A finger that is lifted leaves behind what it pointed at, to be read.
    else if (event.pointerType !== 'touch' && !this.#pressed) this.#hand.hover(null);
  }

  key(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.#dragging) return;
    event.stopPropagation();
    this.#giveUp();
  }

  pressOutside(event: PointerEvent): void {
    if (!this.#touched || this.#element.contains(event.target as Node)) return;
    this.#touched = false;
    this.#hand.hover(null);
  }

  #giveUp(): void {
    this.#release();
    this.#hand.dragCancel();
  }

  #release(): void {
    this.#pressed = null;
    this.#dragging = false;
  }

  #touch(event: PointerEvent): void {
    this.#touched = true;
    this.#fingers.set(event.pointerId, getOffset(event));
    this.#dragging = this.#fingers.size > 1;
    const grabs = this.#hand.dragsByTouch() && !this.#dragging;
    this.#pressed = grabs ? { at: getOffset(event), pans: false } : null;
    this.#hand.hover(getOffset(event));
  }

  /** One finger points, two zoom and move. */
  #moveFinger(event: PointerEvent, at: Point): void {
    const before = this.#fingers.get(event.pointerId);
    if (!before) return;
    const other = [...this.#fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.#fingers.set(event.pointerId, at);
    if (!other) return this.#slide(before, at);
    const spread = (one: Point): number => Math.hypot(one.x - other.x, one.y - other.y) + 1;
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    this.#hand.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
    this.#hand.zoom(middle, spread(at) / spread(before));
  }

  #slide(before: Point, at: Point): void {
    this.#dragging ||= Math.hypot(at.x - before.x, at.y - before.y) > DRAG_THRESHOLD_PX;
    if (this.#pressed && this.#dragging) this.#hand.drag(this.#pressed.at, at);
    else this.#hand.hover(at);
  }

  #lift(event: PointerEvent): void {
    const [pressed, dragged, alone] = [this.#pressed, this.#dragging, this.#fingers.size === 1];
    this.#fingers.delete(event.pointerId);
    if (!alone) return;
    this.#release();
    if (!dragged) this.#hand.click(getOffset(event));
    else if (pressed) this.#hand.dragEnd(pressed.at, getOffset(event));
  }
}
