import type { Codec } from '../../base/codec';

export type Triple = readonly [number, number, number];

/** Which axis points to the top of the picture. */
export type Up = 'y' | 'z';

/** Where a frame is looked at from; it means the same whatever is in the frame. */
export interface Orbit {
  /** Radians around the axis that points up, and above the plane it stands on. */
  readonly yaw: number;
  readonly pitch: number;
  /** 1: the whole frame fits into the picture. */
  readonly zoom: number;
  /** What is in the middle, in radii of the frame from its centre. */
  readonly target: Triple;
}

/** How wide the picture is. */
export interface Lens {
  /** Degrees from its upper to its lower edge. */
  readonly fov: number;
  readonly orthographic: boolean;
  /** Its width divided by its height. */
  readonly aspect: number;
}

export const USUAL_FOV = 40;
export const HOME: Orbit = { yaw: 0.6, pitch: 0.42, zoom: 1, target: [0, 0, 0] };

const STEEPEST = Math.PI / 2 - 0.001;
const ZOOMS = { least: 0.02, most: 1000 };
/** A drag over the height of a picture turns by half a circle. */
const TURN = Math.PI;
/** Air around what is fitted in. */
const MARGIN = 1.06;

export function turn(orbit: Orbit, dx: number, dy: number, height: number): Orbit {
  const yaw = wrap(orbit.yaw - (dx / height) * TURN);
  return { ...orbit, yaw, pitch: clamp(orbit.pitch + (dy / height) * TURN, -STEEPEST, STEEPEST) };
}

export function zoomBy(orbit: Orbit, factor: number): Orbit {
  return { ...orbit, zoom: clamp(orbit.zoom * factor, ZOOMS.least, ZOOMS.most) };
}

/** Moves what is seen by pixels, so that it stays under the pointer. */
export function pan(
  orbit: Orbit,
  dx: number,
  dy: number,
  height: number,
  lens: Lens,
  up: Up,
): Orbit {
  const perPixel = heightAtTarget(orbit, lens) / height;
  const { right, above } = axesOf(orbit, up);
  const move = (axis: 0 | 1 | 2): number =>
    orbit.target[axis] - right[axis] * dx * perPixel + above[axis] * dy * perPixel;
  return { ...orbit, target: [move(0), move(1), move(2)] };
}

/** Zooms so that what is `x` and `y` pixels from the middle of the picture stays there. */
export function zoomAt(
  orbit: Orbit,
  { x, y }: { readonly x: number; readonly y: number },
  factor: number,
  height: number,
  lens: Lens,
  up: Up,
): Orbit {
  const closer = zoomBy(orbit, factor);
  const kept = orbit.zoom / closer.zoom;
  return { ...pan(orbit, x * (kept - 1), y * (kept - 1), height, lens, up), zoom: closer.zoom };
}

/** How far from what is in the middle the eye is, in radii. */
export function distanceOf({ zoom }: Orbit, lens: Lens): number {
  return MARGIN / Math.sin(narrowHalf(lens)) / zoom;
}

/** How much of the plane through the middle is seen from top to bottom, in radii. */
export function heightAtTarget(orbit: Orbit, lens: Lens): number {
  return 2 * distanceOf(orbit, lens) * Math.tan(radians(lens.fov) / 2);
}

/** The eye, in radii from the centre of the frame. */
export function eyeOf(orbit: Orbit, lens: Lens, up: Up): Triple {
  const distance = distanceOf(orbit, lens);
  const { back } = axesOf(orbit, up);
  const along = (axis: 0 | 1 | 2): number => orbit.target[axis] + back[axis] * distance;
  return [along(0), along(1), along(2)];
}

/** The directions of the picture: to its right, to its top, and out of it. */
export function axesOf(
  { yaw, pitch }: Orbit,
  up: Up,
): { right: Triple; above: Triple; back: Triple } {
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  return {
    right: stand([cy, 0, -sy], up),
    above: stand([-sp * sy, cp, -sp * cy], up),
    back: stand([cp * sy, sp, cp * cy], up),
  };
}

export function upVector(up: Up): Triple {
  return stand([0, 1, 0], up);
}

/** The orbit with the eye at a place, looking at another; null where they are one. */
export function orbitFrom(eye: Triple, target: Triple, lens: Lens, up: Up): Orbit | null {
  const [x, y, z] = lay([eye[0] - target[0], eye[1] - target[1], eye[2] - target[2]], up);
  const distance = Math.hypot(x, y, z);
  if (distance === 0) return null;
  return {
    yaw: Math.atan2(x, z),
    pitch: clamp(Math.asin(clamp(y / distance, -1, 1)), -STEEPEST, STEEPEST),
    zoom: clamp(distanceOf(HOME, lens) / distance, ZOOMS.least, ZOOMS.most),
    target,
  };
}

/** `yaw,pitch,zoom` and, where it is not the centre, what is in the middle. */
export const orbitCodec: Codec<Orbit | null> = {
  parse: (text) => readOrbit(text.split(',')),
  format: (orbit) => (orbit ? writeOrbit(orbit).join(',') : ''),
};

export function readOrbit(texts: readonly string[]): Orbit | null {
  const numbers = texts.filter((text) => text.trim() !== '').map(Number);
  const [yaw, pitch, zoom, x = 0, y = 0, z = 0] = numbers;
  if (yaw === undefined || pitch === undefined || !zoom || !numbers.every(Number.isFinite)) {
    return null;
  }
  return {
    yaw: wrap(yaw),
    pitch: clamp(pitch, -STEEPEST, STEEPEST),
    zoom: clamp(zoom, ZOOMS.least, ZOOMS.most),
    target: [x, y, z],
  };
}

/** Six texts, the last three empty where the target is the centre. */
export function writeOrbit({ yaw, pitch, zoom, target }: Orbit): string[] {
  const isCentred = target.every((place) => Math.abs(place) < 1e-4);
  const angles = [yaw, pitch].map((angle) => short(angle, 3));
  const middle = isCentred ? [] : target.map((place) => short(place, 4));
  return [...angles, String(Number(zoom.toPrecision(4))), ...middle];
}

function short(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** From a world with y on top to one with `up` there. */
function stand([x, y, z]: Triple, up: Up): Triple {
  return up === 'y' ? [x, y, z] : [x, -z, y];
}

/** And back. */
function lay([x, y, z]: Triple, up: Up): Triple {
  return up === 'y' ? [x, y, z] : [x, z, -y];
}

/** Half the angle of the narrower side of the picture. */
function narrowHalf({ fov, aspect }: Lens): number {
  const half = radians(fov) / 2;
  return aspect >= 1 ? half : Math.atan(Math.tan(half) * aspect);
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function wrap(angle: number): number {
  const turned = angle % (2 * Math.PI);
  if (turned > Math.PI) return turned - 2 * Math.PI;
  return turned < -Math.PI ? turned + 2 * Math.PI : turned;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
