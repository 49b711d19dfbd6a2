import type { Point } from '../../../charts/renderer/renderer';
import { panOrbit, rotateOrbit, type Orbit, zoomOrbitAt } from '../../../charts/webgl/orbit-camera';
import type { GestureHandlers } from '../../../charts/surface/gestures';
import type { ProjectorState } from '../projector-state.svelte';

/** What gestures do besides moving the camera. */
export interface PointGestureCallbacks {
  hover(at: Point | null): void;
  click(at: Point): void;
  /** Show the outline of a selection; empty for none. */
  setOutline(outline: readonly Point[]): void;
  selectInside(outline: readonly Point[]): void;
}

/** A drag rotates in 3D, pans in 2D, or selects points with a box or a lasso. */
export function createPointGestures(
  projector: ProjectorState,
  callbacks: PointGestureCallbacks,
): GestureHandlers {
  const { camera } = projector;
  let startOrbit: Orbit | null = null;
  let outline: Point[] = [];

  function move(from: Point, to: Point): void {
    startOrbit ??= camera.orbit;
    camera.isDragging = true;
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    camera.setOrbit(
      camera.isFlat
        ? panOrbit(startOrbit, dx, dy, camera.height, camera.projection, 'y')
        : rotateOrbit(startOrbit, dx, dy, camera.height),
    );
  }

  function drawOutline(from: Point, to: Point): void {
    if (projector.dragTool === 'box') outline = getBoxCorners(from, to);
    else outline = [...(outline.length > 0 ? outline : [from]), to];
    callbacks.setOutline(outline);
  }

  function end(): void {
    startOrbit = null;
    camera.endDrag();
    outline = [];
    callbacks.setOutline(outline);
  }

  return {
    hover: callbacks.hover,
    click: callbacks.click,
    drag: (from, to) => (projector.dragTool === 'move' ? move(from, to) : drawOutline(from, to)),
    dragEnd() {
      if (outline.length > 2) callbacks.selectInside(outline);
      end();
    },
    dragCancel() {
      if (startOrbit) camera.setOrbit(startOrbit);
      end();
    },
    pan: (dx, dy) =>
      camera.setOrbit(panOrbit(camera.orbit, dx, dy, camera.height, camera.projection, 'y')),
    zoom: (at, factor) => camera.setOrbit(zoomAt(camera, at, factor)),
    // A double click focuses the hovered point, or shows all points.
    resetZoom: () =>
      projector.hoveredRow === null ? camera.fit() : projector.focusPoint(projector.hoveredRow),
    dragsByTouch: () => true,
  };
}

/** Zoom, keeping what is at a position of the canvas there. */
export function zoomAt(
  { orbit, projection, width, height }: ProjectorState['camera'],
  at: Point,
  factor: number,
): Orbit {
  const offset = { x: at.x - width / 2, y: at.y - height / 2 };
  return zoomOrbitAt(orbit, offset, factor, height, projection, 'y');
}

function getBoxCorners(from: Point, to: Point): Point[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}
