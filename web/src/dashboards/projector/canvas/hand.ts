import type { Point } from '../../../charts/pen/pen';
import { pan, turn, type Orbit, zoomAt } from '../../../charts/space/orbit';
import type { Hand } from '../../../charts/stage/gestures';
import type { Projector } from '../projector.svelte';

/** What a hand does besides moving the picture. */
export interface Touch {
  hover(at: Point | null): void;
  pick(at: Point): void;
  /** Draws around points; empty when it is given up. */
  outline(line: readonly Point[]): void;
  /** What is inside is chosen. */
  close(line: readonly Point[]): void;
}

/** Drags turn in space and move in the plane, or draw around points, as the tool says. */
export function handOf(projector: Projector, touch: Touch): Hand {
  const { camera } = projector;
  let held: Orbit | null = null;
  let line: Point[] = [];

  function move(from: Point, to: Point): void {
    held ??= camera.orbit;
    camera.isHeld = true;
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    camera.turn(
      camera.isFlat
        ? pan(held, dx, dy, camera.height, camera.lens, 'y')
        : turn(held, dx, dy, camera.height),
    );
  }

  function draw(from: Point, to: Point): void {
    if (projector.tool === 'box') line = boxOf(from, to);
    else line = [...(line.length > 0 ? line : [from]), to];
    touch.outline(line);
  }

  function end(): void {
    held = null;
    camera.release();
    line = [];
    touch.outline(line);
  }

  return {
    hover: touch.hover,
    pick: touch.pick,
    drag: (from, to) => (projector.tool === 'move' ? move(from, to) : draw(from, to)),
    drop() {
      if (line.length > 2) touch.close(line);
      end();
    },
    cancel() {
      if (held) camera.turn(held);
      end();
    },
    pan: (dx, dy) => camera.turn(pan(camera.orbit, dx, dy, camera.height, camera.lens, 'y')),
    zoom: (at, factor) => camera.turn(zoomed(camera, at, factor)),
    // A double click goes to the point below it, or back to all of them.
    fit: () => (projector.pointed === null ? camera.fit() : projector.goTo(projector.pointed)),
    grabs: () => true,
  };
}

export function zoomed(
  { orbit, lens, width, height }: Projector['camera'],
  at: Point,
  factor: number,
): Orbit {
  const off = { x: at.x - width / 2, y: at.y - height / 2 };
  return zoomAt(orbit, off, factor, height, lens, 'y');
}

function boxOf(from: Point, to: Point): Point[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}
