import type { Point } from '../renderer/renderer';

/** Handlers of pointer gestures, with coordinates in pixels of the chart. */
export interface GestureHandlers {
  hover(at: Point | null): void;
  click(at: Point): void;
  /** Called for every move of a drag with the primary button. */
  drag(from: Point, to: Point): void;
  dragEnd(from: Point, to: Point): void;
  dragCancel(): void;
  pan(dx: number, dy: number): void;
  zoom(at: Point, factor: number): void;
  resetZoom(): void;
  /** Whether one finger drags instead of hovering. */
  dragsByTouch(): boolean;
}

/** Shorter movements are clicks. */
const DRAG_THRESHOLD_PX = 4;
const WHEEL_SPEED = 0.0025;
const WHEEL_LINE_PX = 16;

/** Recognize gestures on an element; return a function that stops. */
export function attachGestures(element: HTMLElement, handlers: GestureHandlers): () => void {
  const controller = new AbortController();
  const listen = element.addEventListener.bind(element) as typeof element.addEventListener;
  const gestures = new GestureRecognizer(element, handlers);
  const { signal } = controller;
  listen('pointerdown', (event) => gestures.down(event), { signal });
  listen('pointermove', (event) => gestures.move(event), { signal });
  // The element can come below a pointer that rests, as when a message above it is closed.
  listen('pointerenter', (event) => gestures.move(event), { signal });
  listen('pointerup', (event) => gestures.up(event), { signal });
  listen('pointercancel', (event) => gestures.leave(event), { signal });
  listen('pointerleave', (event) => gestures.leave(event), { signal });
  listen('dblclick', () => handlers.resetZoom(), { signal });
  // Not passive: zooming has to prevent scrolling.
  listen('wheel', (event) => handleWheel(event, handlers), { signal, passive: false });
  addEventListener('keydown', (event) => gestures.key(event), { signal });
  addEventListener('pointerdown', (event) => gestures.pressOutside(event), { signal });
  return () => controller.abort();
}

function handleWheel(event: WheelEvent, handlers: GestureHandlers): void {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) return;
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : 1;
  const amount = Math.max(-200, Math.min(200, event.deltaY * unit));
  // A touchpad pinch is reported as ctrl+wheel with small deltas.
  const speed = Math.abs(amount) < 30 ? 4 * WHEEL_SPEED : WHEEL_SPEED;
  handlers.zoom(getOffset(event), Math.exp(-amount * speed));
}

function getOffset(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}

class GestureRecognizer {
  readonly #element: HTMLElement;
  readonly #handlers: GestureHandlers;
  readonly #touches = new Map<number, Point>();
  #pressed: { readonly at: Point; readonly isPan: boolean } | null = null;
  #last: Point = { x: 0, y: 0 };
  #isDragging = false;
  #isTouched = false;

  constructor(element: HTMLElement, handlers: GestureHandlers) {
    this.#element = element;
    this.#handlers = handlers;
  }

  down(event: PointerEvent): void {
    if (event.pointerType === 'touch') return this.#startTouch(event);
    if (event.button > 1) return;
    // Prevent autoscroll.
    if (event.button === 1) event.preventDefault();
    const isPan = event.shiftKey || event.altKey || event.button === 1;
    this.#pressed = { at: getOffset(event), isPan };
    this.#last = getOffset(event);
    this.#element.setPointerCapture(event.pointerId);
  }

  move(event: PointerEvent): void {
    const at = getOffset(event);
    if (event.pointerType === 'touch') return this.#moveFinger(event, at);
    if (!this.#pressed) return this.#handlers.hover(at);
    const { at: from, isPan } = this.#pressed;
    this.#isDragging ||= Math.hypot(at.x - from.x, at.y - from.y) > DRAG_THRESHOLD_PX;
    if (!this.#isDragging) return;
    if (isPan) this.#handlers.pan(at.x - this.#last.x, at.y - this.#last.y);
    else this.#handlers.drag(from, at);
    this.#last = at;
  }

  up(event: PointerEvent): void {
    if (event.pointerType === 'touch') return this.#endTouch(event);
    const pressed = this.#pressed;
    const dragged = this.#isDragging;
    this.#release();
    if (!pressed) return;
    const at = getOffset(event);
    if (!dragged) this.#handlers.click(at);
    else if (!pressed.isPan) this.#handlers.dragEnd(pressed.at, at);
  }

  leave(event: PointerEvent): void {
    this.#touches.delete(event.pointerId);
    if (event.type === 'pointercancel') this.#cancelDrag();
    // The hover stays after a touch.
    else if (event.pointerType !== 'touch' && !this.#pressed) this.#handlers.hover(null);
  }

  key(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.#isDragging) return;
    event.stopPropagation();
    this.#cancelDrag();
  }

  pressOutside(event: PointerEvent): void {
    if (!this.#isTouched || this.#element.contains(event.target as Node)) return;
    this.#isTouched = false;
    this.#handlers.hover(null);
  }

  #cancelDrag(): void {
    this.#release();
    this.#handlers.dragCancel();
  }

  #release(): void {
    this.#pressed = null;
    this.#isDragging = false;
  }

  #startTouch(event: PointerEvent): void {
    this.#isTouched = true;
    this.#touches.set(event.pointerId, getOffset(event));
    this.#isDragging = this.#touches.size > 1;
    const grabs = this.#handlers.dragsByTouch() && !this.#isDragging;
    this.#pressed = grabs ? { at: getOffset(event), isPan: false } : null;
    this.#handlers.hover(getOffset(event));
  }

  /** One finger hovers, two fingers zoom and pan. */
  #moveFinger(event: PointerEvent, at: Point): void {
    const before = this.#touches.get(event.pointerId);
    if (!before) return;
    const other = [...this.#touches].find(([id]) => id !== event.pointerId)?.[1];
    this.#touches.set(event.pointerId, at);
    if (!other) return this.#moveSingleFinger(before, at);
    const spread = (one: Point): number => Math.hypot(one.x - other.x, one.y - other.y) + 1;
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 };
    this.#handlers.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
    this.#handlers.zoom(middle, spread(at) / spread(before));
  }

  #moveSingleFinger(before: Point, at: Point): void {
    this.#isDragging ||= Math.hypot(at.x - before.x, at.y - before.y) > DRAG_THRESHOLD_PX;
    if (this.#pressed && this.#isDragging) this.#handlers.drag(this.#pressed.at, at);
    else this.#handlers.hover(at);
  }

  #endTouch(event: PointerEvent): void {
    const [pressed, dragged, alone] = [this.#pressed, this.#isDragging, this.#touches.size === 1];
    this.#touches.delete(event.pointerId);
    if (!alone) return;
    this.#release();
    if (!dragged) this.#handlers.click(getOffset(event));
    else if (pressed) this.#handlers.dragEnd(pressed.at, getOffset(event));
  }
}
