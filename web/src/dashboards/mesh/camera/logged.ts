import { HOME, type Lens, type Orbit, orbitFrom, type Up } from '../../../charts/space/orbit';
import type { LoggedCamera } from '../data/geometry';
import { type Frame, intoFrame } from './frame';

/** The orbit that a logged camera asks for; null if it asks for no place. */
export function orbitOf(camera: LoggedCamera, frame: Frame, lens: Lens, up: Up): Orbit | null {
  const { position, look_at } = camera;
  if (!position) return null;
  const target = look_at ? intoFrame(look_at, frame) : HOME.target;
  return orbitFrom(intoFrame(position, frame), target, lens, up);
}

/** The axis that a logged camera has on top. */
export function upOf(camera: LoggedCamera | null | undefined): Up {
  const [, y, z] = camera?.up ?? [0, 1, 0];
  return Math.abs(z) > Math.abs(y) ? 'z' : 'y';
}
