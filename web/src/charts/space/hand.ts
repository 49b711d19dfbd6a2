import type { Hand } from '../stage/gestures';
import { type Lens, type Orbit, pan, turn, type Up, zoomBy } from './orbit';

/** What a hand acts on. */
export interface Turned {
  readonly orbit: Orbit;
  readonly lens: Lens;
  readonly up: Up;
  readonly height: number;
  turn(orbit: Orbit): void;
  fit(): void;
}

/** Drags turn, drags with shift or two fingers move, ctrl and the wheel or a pinch zoom. */
export function handOf(find: () => Turned): Hand {
  /** Where a drag began: it is counted from there, so that nothing adds up. */
  let held: Orbit | null = null;
  const nothing = (): void => undefined;
  return {
    hover: nothing,
    pick: nothing,
    drag(from, to) {
      const turned = find();
      held ??= turned.orbit;
      turned.turn(turn(held, to.x - from.x, to.y - from.y, turned.height));
    },
    drop: () => (held = null),
    cancel() {
      if (held) find().turn(held);
      held = null;
    },
    pan(dx, dy) {
      const { orbit, height, lens, up, turn } = find();
      turn(pan(orbit, dx, dy, height, lens, up));
    },
    zoom(_, factor) {
      const { orbit, turn } = find();
      turn(zoomBy(orbit, factor));
    },
    fit: () => find().fit(),
    grabs: () => true,
  };
}

const STEP = 18;
const CLOSER = 1.25;
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Does what a key means to a picture that has the focus; says whether it meant anything. */
export function pressKey({ key, shiftKey }: KeyboardEvent, turned: Turned): boolean {
  const { orbit, lens, up, height } = turned;
  const [dx, dy] = MOVES[key] ?? [0, 0];
  if (dx || dy) {
    const [x, y] = [dx * STEP, dy * STEP];
    turned.turn(shiftKey ? pan(orbit, x, y, height, lens, up) : turn(orbit, x, y, height));
  } else if (key === '+' || key === '=') turned.turn(zoomBy(orbit, CLOSER));
  else if (key === '-') turned.turn(zoomBy(orbit, 1 / CLOSER));
  else if (key === '0') turned.fit();
  else return false;
  return true;
}
