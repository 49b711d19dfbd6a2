import { scaleColour } from '../../../base/colour';
import type { Frame } from '../camera/frame';
import type { Up } from '../../../charts/space/orbit';
import type { Geometry } from '../data/geometry';

const SHADES = 256;

/** Red, green and blue for each vertex by how high it is in its frame. */
export function coloursByHeight(
  { position, centre, scale }: Pick<Geometry, 'position' | 'centre' | 'scale'>,
  frame: Frame,
  up: Up,
): Uint8Array {
  const axis = up === 'y' ? 1 : 2;
  const shades = makeShades();
  const colours = new Uint8Array(position.length);
  // From the bottom of the frame to its top, so that steps and runs can be compared.
  const factor = (scale / frame.radius / 2) * SHADES;
  const offset = ((centre[axis] - frame.centre[axis]) / frame.radius / 2 + 0.5) * SHADES;
  for (let at = 0; at < position.length; at += 3) {
    const height = (position[at + axis] ?? 0) * factor + offset;
    const shade = 3 * Math.max(0, Math.min(SHADES - 1, Math.floor(height)));
    colours[at] = shades[shade] ?? 0;
    colours[at + 1] = shades[shade + 1] ?? 0;
    colours[at + 2] = shades[shade + 2] ?? 0;
  }
  return colours;
}

function makeShades(): Uint8Array {
  const shades = new Uint8Array(3 * SHADES);
  for (let at = 0; at < SHADES; at++) {
    const colour = scaleColour(at / (SHADES - 1));
    for (const channel of [0, 1, 2]) {
      shades[3 * at + channel] = parseInt(colour.slice(1 + 2 * channel, 3 + 2 * channel), 16);
    }
  }
  return shades;
}

/** The three sides of each triangle, as pairs of vertices. */
export function sidesOf(faces: Int32Array): Uint32Array {
  const sides = new Uint32Array(faces.length * 2);
  for (let from = 0, to = 0; from < faces.length; from += 3, to += 6) {
    const [a, b, c] = [faces[from] ?? 0, faces[from + 1] ?? 0, faces[from + 2] ?? 0];
    sides[to] = sides[to + 5] = a;
    sides[to + 1] = sides[to + 2] = b;
    sides[to + 3] = sides[to + 4] = c;
  }
  return sides;
}
