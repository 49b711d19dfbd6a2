import type { Codec } from '../../lib/codecs';
import type { Point } from '../renderer/renderer';
import type { GestureHandlers } from '../surface/gestures';

export type Vec3 = readonly [number, number, number];

export type UpAxis = 'y' | 'z';

/** A camera position relative to the bounding sphere of the scene. */
export interface Orbit {
  /** Radians around the up axis, and above the ground plane. */
  readonly yaw: number;
  readonly pitch: number;
  /** 1 fits the whole scene. */
  readonly zoom: number;
  /** The point in the center of the image, in radii from the center of the scene. */
  readonly target: Vec3;
}

/** The projection of the camera. */
export interface Projection {
  /** Vertical field of view in degrees. */
  readonly fov: number;
  readonly orthographic: boolean;
  /** Width divided by height. */
  readonly aspect: number;
}

export const DEFAULT_FOV_DEG = 40;
export const DEFAULT_ORBIT: Orbit = { yaw: 0.6, pitch: 0.42, zoom: 1, target: [0, 0, 0] };

const MAX_PITCH = Math.PI / 2 - 0.001;
const ZOOM_LIMITS = { least: 0.02, most: 1000 };
/** A drag over the height of the image rotates by 180°. */
const ROTATION_PER_HEIGHT = Math.PI;
/** Margin around the scene. */
const FIT_MARGIN = 1.06;

export function rotateOrbit(orbit: Orbit, dx: number, dy: number, height: number): Orbit {
  const yaw = wrapAngle(orbit.yaw - (dx / height) * ROTATION_PER_HEIGHT);
  return {
    ...orbit,
    yaw,
    pitch: clamp(orbit.pitch + (dy / height) * ROTATION_PER_HEIGHT, -MAX_PITCH, MAX_PITCH),
  };
}

export function zoomOrbit(orbit: Orbit, factor: number): Orbit {
  return { ...orbit, zoom: clamp(orbit.zoom * factor, ZOOM_LIMITS.least, ZOOM_LIMITS.most) };
}

/** Pan by pixels, so that the scene follows the pointer. */
export function panOrbit(
  orbit: Orbit,
  dx: number,
  dy: number,
  height: number,
  lens: Projection,
  up: UpAxis,
): Orbit {
  const perPixel = getHeightAtTarget(orbit, lens) / height;
  const { right, above } = getViewAxes(orbit, up);
  const move = (axis: 0 | 1 | 2): number =>
    orbit.target[axis] - right[axis] * dx * perPixel + above[axis] * dy * perPixel;
  return { ...orbit, target: [move(0), move(1), move(2)] };
}

/** Zoom around a point, given in pixels from the center of the image. */
export function zoomOrbitAt(
  orbit: Orbit,
  { x, y }: { readonly x: number; readonly y: number },
  factor: number,
  height: number,
  lens: Projection,
  up: UpAxis,
): Orbit {
  const closer = zoomOrbit(orbit, factor);
  const kept = orbit.zoom / closer.zoom;
  return {
    ...panOrbit(orbit, x * (kept - 1), y * (kept - 1), height, lens, up),
    zoom: closer.zoom,
  };
}

/** Return the distance from the camera to the target, in radii. */
export function getEyeDistance({ zoom }: Orbit, lens: Projection): number {
  return FIT_MARGIN / Math.sin(getNarrowHalfAngle(lens)) / zoom;
}

/** Return the visible height at the target, in radii. */
export function getHeightAtTarget(orbit: Orbit, lens: Projection): number {
  return 2 * getEyeDistance(orbit, lens) * Math.tan(toRadians(lens.fov) / 2);
}

/** Return the camera position, in radii from the center of the scene. */
export function getEyePosition(orbit: Orbit, lens: Projection, up: UpAxis): Vec3 {
  const distance = getEyeDistance(orbit, lens);
  const { back } = getViewAxes(orbit, up);
  const along = (axis: 0 | 1 | 2): number => orbit.target[axis] + back[axis] * distance;
  return [along(0), along(1), along(2)];
}

/** Return the view axes: to the right, to the top, and towards the viewer. */
export function getViewAxes(
  { yaw, pitch }: Orbit,
  up: UpAxis,
): { right: Vec3; above: Vec3; back: Vec3 } {
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  return {
    right: fromYUp([cy, 0, -sy], up),
    above: fromYUp([-sp * sy, cp, -sp * cy], up),
    back: fromYUp([cp * sy, sp, cp * cy], up),
  };
}

export function getUpVector(up: UpAxis): Vec3 {
  return fromYUp([0, 1, 0], up);
}

/** Return the orbit of a camera at `eye` that looks at `target`; null if they are equal. */
export function makeOrbit(eye: Vec3, target: Vec3, lens: Projection, up: UpAxis): Orbit | null {
  const [x, y, z] = toYUp([eye[0] - target[0], eye[1] - target[1], eye[2] - target[2]], up);
  const distance = Math.hypot(x, y, z);
  if (distance === 0) return null;
  return {
    yaw: Math.atan2(x, z),
    pitch: clamp(Math.asin(clamp(y / distance, -1, 1)), -MAX_PITCH, MAX_PITCH),
    zoom: clamp(
      getEyeDistance(DEFAULT_ORBIT, lens) / distance,
      ZOOM_LIMITS.least,
      ZOOM_LIMITS.most,
    ),
    target,
  };
}

/** `yaw,pitch,zoom`, followed by the target if it is not the center. */
export const orbitCodec: Codec<Orbit | null> = {
  parse: (text) => parseOrbit(text.split(',')),
  format: (orbit) => (orbit ? formatOrbit(orbit).join(',') : ''),
};

export function parseOrbit(texts: readonly string[]): Orbit | null {
  const numbers = texts.filter((text) => text.trim() !== '').map(Number);
  const [yaw, pitch, zoom, x = 0, y = 0, z = 0] = numbers;
  if (yaw === undefined || pitch === undefined || !zoom || !numbers.every(Number.isFinite)) {
    return null;
  }
  return {
    yaw: wrapAngle(yaw),
    pitch: clamp(pitch, -MAX_PITCH, MAX_PITCH),
    zoom: clamp(zoom, ZOOM_LIMITS.least, ZOOM_LIMITS.most),
    target: [x, y, z],
  };
}

/** Six fields; the last three are empty if the target is the center. */
export function formatOrbit({ yaw, pitch, zoom, target }: Orbit): string[] {
  const isCentred = target.every((place) => Math.abs(place) < 1e-4);
  const angles = [yaw, pitch].map((angle) => formatFixed(angle, 3));
  const middle = isCentred ? [] : target.map((place) => formatFixed(place, 4));
  return [...angles, String(Number(zoom.toPrecision(4))), ...middle];
}

function formatFixed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** Convert coordinates from y-up. */
function fromYUp([x, y, z]: Vec3, up: UpAxis): Vec3 {
  return up === 'y' ? [x, y, z] : [x, -z, y];
}

/** Convert coordinates to y-up. */
function toYUp([x, y, z]: Vec3, up: UpAxis): Vec3 {
  return up === 'y' ? [x, y, z] : [x, z, -y];
}

/** Return half the field of view along the narrower side. */
function getNarrowHalfAngle({ fov, aspect }: Projection): number {
  const half = toRadians(fov) / 2;
  return aspect >= 1 ? half : Math.atan(Math.tan(half) * aspect);
}

function toRadians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function wrapAngle(angle: number): number {
  const turned = angle % (2 * Math.PI);
  if (turned > Math.PI) return turned - 2 * Math.PI;
  return turned < -Math.PI ? turned + 2 * Math.PI : turned;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** The camera that gestures control. */
export interface OrbitControls {
  readonly orbit: Orbit;
  readonly projection: Projection;
  readonly up: UpAxis;
  readonly height: number;
  setOrbit(orbit: Orbit): void;
  reset(): void;
}

/**
 * Return gesture handlers: drag rotates, shift-drag and two fingers pan, ctrl+wheel and pinch zoom.
 */
export function makeOrbitGestures(find: () => OrbitControls): GestureHandlers {
  /**
   * The orbit at the start of a drag: rotations are relative to it, so that errors do not add up.
   */
  let held: Orbit | null = null;
  const nothing = (): void => undefined;
  return {
    hover: nothing,
    click: nothing,
    drag(from, to) {
      const turned = find();
      held ??= turned.orbit;
      turned.setOrbit(rotateOrbit(held, to.x - from.x, to.y - from.y, turned.height));
    },
    dragEnd: () => (held = null),
    dragCancel() {
      if (held) find().setOrbit(held);
      held = null;
    },
    pan(dx, dy) {
      const { orbit, height, projection, up, setOrbit } = find();
      setOrbit(panOrbit(orbit, dx, dy, height, projection, up));
    },
    zoom(_, factor) {
      const { orbit, setOrbit } = find();
      setOrbit(zoomOrbit(orbit, factor));
    },
    resetZoom: () => find().reset(),
    dragsByTouch: () => true,
  };
}

const KEY_STEP_PX = 18;
const KEY_ZOOM_FACTOR = 1.25;
const ARROW_DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Handle a key of a focused view; return whether it was handled. */
export function handleOrbitKey({ key, shiftKey }: KeyboardEvent, turned: OrbitControls): boolean {
  const { orbit, projection, up, height } = turned;
  const [dx, dy] = ARROW_DIRECTIONS[key] ?? [0, 0];
  if (dx || dy) {
    const [x, y] = [dx * KEY_STEP_PX, dy * KEY_STEP_PX];
    turned.setOrbit(
      shiftKey ? panOrbit(orbit, x, y, height, projection, up) : rotateOrbit(orbit, x, y, height),
    );
  } else if (key === '+' || key === '=') turned.setOrbit(zoomOrbit(orbit, KEY_ZOOM_FACTOR));
  else if (key === '-') turned.setOrbit(zoomOrbit(orbit, 1 / KEY_ZOOM_FACTOR));
  else if (key === '0') turned.reset();
  else return false;
  return true;
}

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
interface PointGestureCallbacks {
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
