import type { Point } from '../../../charts/renderer/renderer';
import { panOrbit, rotateOrbit, type Orbit, zoomOrbitAt } from '../../../charts/webgl/orbit-camera';
import type { GestureHandlers } from '../../../charts/surface/gestures';
import type { ProjectorState } from '../projector-state.svelte';

/** What a hand does besides moving the picture. */
export interface PointGestureCallbacks {
  hover(at: Point | null): void;
  click(at: Point): void;
  /** Draws around points; empty when it is given up. */
  setOutline(line: readonly Point[]): void;
  /** What is inside is chosen. */
  selectInside(line: readonly Point[]): void;
}

/** Drags turn in space and move in the plane, or draw around points, as the tool says. */
export function createPointGestures(
  projector: ProjectorState,
  touch: PointGestureCallbacks,
): GestureHandlers {
  const { camera } = projector;
  let held: Orbit | null = null;
  let line: Point[] = [];

  function move(from: Point, to: Point): void {
    held ??= camera.orbit;
    camera.isDragging = true;
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    camera.setOrbit(
      camera.isFlat
        ? panOrbit(held, dx, dy, camera.height, camera.lens, 'y')
        : rotateOrbit(held, dx, dy, camera.height),
    );
  }

  function draw(from: Point, to: Point): void {
    if (projector.tool === 'box') line = boxCorners(from, to);
    else line = [...(line.length > 0 ? line : [from]), to];
    touch.setOutline(line);
  }

  function end(): void {
    held = null;
    camera.endDrag();
    line = [];
    touch.setOutline(line);
  }

  return {
    hover: touch.hover,
    click: touch.click,
    drag: (from, to) => (projector.tool === 'move' ? move(from, to) : draw(from, to)),
    dragEnd() {
      if (line.length > 2) touch.selectInside(line);
      end();
    },
    dragCancel() {
      if (held) camera.setOrbit(held);
      end();
    },
    pan: (dx, dy) =>
      camera.setOrbit(panOrbit(camera.orbit, dx, dy, camera.height, camera.lens, 'y')),
    zoom: (at, factor) => camera.setOrbit(zoomOrbit(camera, at, factor)),
    // A double click goes to the point below it, or back to all of them.
    resetZoom: () =>
      projector.hoveredRow === null ? camera.fit() : projector.focusPoint(projector.hoveredRow),
    dragsByTouch: () => true,
  };
}

export function zoomOrbit(
  { orbit, lens, width, height }: ProjectorState['camera'],
  at: Point,
  factor: number,
): Orbit {
  const off = { x: at.x - width / 2, y: at.y - height / 2 };
  return zoomOrbitAt(orbit, off, factor, height, lens, 'y');
}

function boxCorners(from: Point, to: Point): Point[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}
