/** What a hand on the stage wants; places are in pixels from its upper left corner. */
export interface Wishes {
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  enlarge(x: number, y: number): void;
  /** By so many pixels to the right and down. */
  drag(dx: number, dy: number): void;
  scroll(dy: number): void;
  zoom(by: number, x: number): void;
  /** From where to where is being selected; `done` when the hand lets go. */
  select(from: Place, to: Place, done: boolean): void;
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Less than this is a click that trembled. */
const TREMBLE = 4;
const LINE_PX = 18;
const WHEEL_ZOOM = 1.0022;
const PINCH_ZOOM = 1.012;

/** Listens to a pointer, a wheel and fingers. A finger drags; a mouse selects, and drags with Shift. */
export function attach(element: HTMLElement, wishes: Wishes): () => void {
  const ending = new AbortController();
  const on = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    act: (event: HTMLElementEventMap[Name]) => void,
  ): void => element.addEventListener(name, act, { signal: ending.signal, passive: false });
  const placeOf = (event: MouseEvent): Place => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const fingers = new Map<number, Place>();
  let began: Place | null = null;
  let drags = false;
  let moved = false;

  on('pointerdown', (event) => {
    if (event.button > 1) return;
    const place = placeOf(event);
    fingers.set(event.pointerId, place);
    began = place;
    moved = fingers.size > 1;
    drags = event.pointerType === 'touch' || event.shiftKey || event.button === 1;
    element.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  on('pointermove', (event) => {
    const place = placeOf(event);
    const before = fingers.get(event.pointerId);
    if (!before || !began) return wishes.hover(place.x, place.y);
    if (Math.hypot(place.x - began.x, place.y - began.y) < TREMBLE && !moved) return;
    moved = true;
    fingers.set(event.pointerId, place);
    if (fingers.size > 1) pinch(fingers, event.pointerId, before, wishes);
    else if (drags) wishes.drag(place.x - before.x, place.y - before.y);
    else wishes.select(began, place, false);
  });
  const end = (event: PointerEvent): void => {
    if (!fingers.delete(event.pointerId) || !began) return;
    const place = placeOf(event);
    if (!moved) wishes.click(place.x, place.y);
    else if (!drags && fingers.size === 0) wishes.select(began, place, true);
    if (fingers.size === 0) began = null;
  };
  on('pointerup', end);
  on('pointercancel', end);
  on('pointerleave', () => wishes.leave());
  on('dblclick', (event) => {
    const { x, y } = placeOf(event);
    wishes.enlarge(x, y);
  });
  on('wheel', (event) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    // A pinch on a touchpad comes as a wheel with the control key, in small steps.
    const base = Math.abs(dy) < 20 ? PINCH_ZOOM : WHEEL_ZOOM;
    if (event.ctrlKey || event.metaKey) wishes.zoom(base ** dy, placeOf(event).x);
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) wishes.drag(-(dx || dy), 0);
    else wishes.scroll(dy);
  });
  return () => ending.abort();
}

/** Two fingers: what was between them stays between them. */
function pinch(
  fingers: ReadonlyMap<number, Place>,
  id: number,
  before: Place,
  wishes: Wishes,
): void {
  const now = fingers.get(id);
  const other = [...fingers].find(([each]) => each !== id)?.[1];
  if (!now || !other) return;
  const [wide, narrow] = [Math.abs(now.x - other.x), Math.abs(before.x - other.x)];
  if (wide > 10 && narrow > 10) wishes.zoom(narrow / wide, (now.x + other.x) / 2);
  wishes.drag((now.x - before.x) / 2, (now.y - before.y) / 2);
}
