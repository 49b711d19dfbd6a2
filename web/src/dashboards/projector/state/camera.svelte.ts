import { HOME, type Lens, type Orbit, USUAL_FOV } from '../../../charts/space/orbit';
import type { Eye } from '../cloud/screen';
import type { Params } from './params';

/** So long after the last move the picture is taken to stand still. */
const STILL_AFTER_MS = 160;
/** From the front: x to the right and y to the top. */
const FLAT: Orbit = { ...HOME, yaw: 0, pitch: 0 };

/** Where points are looked at from. */
export class Camera {
  width = $state(0);
  height = $state(0);
  readonly #params: Params;
  readonly #isFlat: () => boolean;
  /** What a hand is turning; the address is told when it rests. */
  #turning = $state.raw<Orbit | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(params: Params, isFlat: () => boolean) {
    this.#params = params;
    this.#isFlat = isFlat;
  }

  readonly isFlat = $derived.by(() => this.#isFlat());

  readonly lens = $derived.by<Lens>(() => ({
    fov: USUAL_FOV,
    orthographic: this.isFlat,
    aspect: this.width / Math.max(1, this.height),
  }));

  /** In the plane nothing is turned. */
  readonly orbit = $derived.by<Orbit>(() => {
    const orbit = this.#turning ?? this.#params.orbit.value ?? (this.isFlat ? FLAT : HOME);
    return this.isFlat ? { ...orbit, yaw: 0, pitch: 0 } : orbit;
  });

  readonly eye = $derived.by<Eye>(() => ({
    orbit: this.orbit,
    lens: this.lens,
    size: { width: this.width, height: this.height },
  }));

  /** A hand holds it, even where it takes long to draw what it does. */
  isHeld = $state(false);

  get isMoving(): boolean {
    return this.#turning !== null;
  }

  release(): void {
    this.isHeld = false;
    if (this.#turning) this.turn(this.#turning);
  }

  turn(orbit: Orbit): void {
    this.#turning = orbit;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rest(), STILL_AFTER_MS);
  }

  /** Everything is seen again, from where it was seen first. */
  fit(): void {
    this.stop();
    this.#turning = null;
    this.#params.orbit.set(null);
  }

  /** Brings a place into the middle, no further away than before. */
  lookAt(target: Orbit['target'], zoom: number): void {
    this.turn({ ...this.orbit, target, zoom: Math.max(this.orbit.zoom, zoom) });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #rest(): void {
    const turning = this.#turning;
    if (this.isHeld) return;
    this.#turning = null;
    if (turning) this.#params.orbit.set(turning, 'replace');
  }
}
