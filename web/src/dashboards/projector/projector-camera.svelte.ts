import {
  DEFAULT_ORBIT,
  type Projection,
  type Orbit,
  DEFAULT_FOV_DEG,
} from '../../charts/webgl/orbit-camera';
import type { CameraView } from './canvas/screen-index';
import type { ProjectorParams } from './projector-params';

/** So long after the last move the picture is taken to stand still. */
const SAVE_ORBIT_DELAY_MS = 160;
/** From the front: x to the right and y to the top. */
const FRONT_VIEW: Orbit = { ...DEFAULT_ORBIT, yaw: 0, pitch: 0 };

/** Where points are looked at from. */
export class ProjectorCamera {
  width = $state(0);
  height = $state(0);
  readonly #params: ProjectorParams;
  readonly #getIsFlat: () => boolean;
  /** What a hand is turning; the address is told when it rests. */
  #pendingOrbit = $state.raw<Orbit | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(params: ProjectorParams, isFlat: () => boolean) {
    this.#params = params;
    this.#getIsFlat = isFlat;
  }

  readonly isFlat = $derived.by(() => this.#getIsFlat());

  readonly lens = $derived.by<Projection>(() => ({
    fov: DEFAULT_FOV_DEG,
    orthographic: this.isFlat,
    aspect: this.width / Math.max(1, this.height),
  }));

  /** In the plane nothing is turned. */
  readonly orbit = $derived.by<Orbit>(() => {
    const orbit =
      this.#pendingOrbit ?? this.#params.orbit.value ?? (this.isFlat ? FRONT_VIEW : DEFAULT_ORBIT);
    return this.isFlat ? { ...orbit, yaw: 0, pitch: 0 } : orbit;
  });

  readonly view = $derived.by<CameraView>(() => ({
    orbit: this.orbit,
    lens: this.lens,
    size: { width: this.width, height: this.height },
  }));

  /** A hand holds it, even where it takes long to draw what it does. */
  isDragging = $state(false);

  get isMoving(): boolean {
    return this.#pendingOrbit !== null;
  }

  endDrag(): void {
    this.isDragging = false;
    if (this.#pendingOrbit) this.setOrbit(this.#pendingOrbit);
  }

  setOrbit(orbit: Orbit): void {
    this.#pendingOrbit = orbit;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#saveOrbit(), SAVE_ORBIT_DELAY_MS);
  }

  /** Everything is seen again, from where it was seen first. */
  fit(): void {
    this.stop();
    this.#pendingOrbit = null;
    this.#params.orbit.set(null);
  }

  /** Brings a place into the middle, no further away than before. */
  focus(target: Orbit['target'], zoom: number): void {
    this.setOrbit({ ...this.orbit, target, zoom: Math.max(this.orbit.zoom, zoom) });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #saveOrbit(): void {
    const turning = this.#pendingOrbit;
    if (this.isDragging) return;
    this.#pendingOrbit = null;
    if (turning) this.#params.orbit.set(turning, 'replace');
  }
}
