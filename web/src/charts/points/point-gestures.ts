import type { Point } from '../renderer/renderer';
import {
  type Orbit,
  panOrbit,
  type Projection,
  rotateOrbit,
  zoomOrbitAt,
} from '../webgl/orbit-camera';
import type { GestureHandlers } from '../surface/gestures';

/** The camera that gestures move. */
export interface PointCamera {
  /** In CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly orbit: Orbit;
  readonly projection: Projection;
  /** A drag pans instead of rotating. */
  readonly isFlat: boolean;
  isDragging: boolean;
  setOrbit(orbit: Orbit): void;
  endDrag(): void;
}

/** What a drag does: move the camera, or select points with a box or a lasso. */
export type DragTool = 'move' | 'box' | 'lasso';

/** What gestures do besides moving the camera. */
export interface PointGestureCallbacks {
  hover(at: Point | null): void;
  click(at: Point): void;
  /** Show the outline of a selection; empty for none. */
  setOutline(outline: readonly Point[]): void;
  selectInside(outline: readonly Point[]): void;
  /** A double click. */
  resetZoom(): void;
}

/** A drag rotates in 3D, pans in 2D, or selects points with a box or a lasso. */
export function createPointGestures(
  view: { readonly camera: PointCamera; readonly dragTool: DragTool },
  callbacks: PointGestureCallbacks,
): GestureHandlers {
  const { camera } = view;
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
    if (view.dragTool === 'box') outline = getBoxCorners(from, to);
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
    drag: (from, to) => (view.dragTool === 'move' ? move(from, to) : drawOutline(from, to)),
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
    resetZoom: () => callbacks.resetZoom(),
    dragsByTouch: () => true,
  };
}

/** Zoom, keeping what is at a position of the canvas there. */
export function zoomAt(
  { orbit, projection, width, height }: PointCamera,
  at: Point,
  factor: number,
): Orbit {
  const offset = { x: at.x - width / 2, y: at.y - height / 2 };
  return zoomOrbitAt(orbit, offset, factor, height, projection, 'y');
}

function getBoxCorners(from: Point, to: Point): Point[] {
  return [from, { x: to.x, y: from.y }, to, { x: from.x, y: to.y }];
}
