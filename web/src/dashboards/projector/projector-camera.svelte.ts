/** The camera of the Projector, and how the wheel and the keyboard move it. */
import {
  DEFAULT_FOV_DEG,
  DEFAULT_ORBIT,
  handleOrbitKey,
  type Orbit,
  type Projection,
  zoomAt,
} from '../../charts/webgl/orbit-camera';
import type { CameraView } from '../../charts/points/point-overlay';
import { getOutputDimensions, type ProjectorParams } from './projector-params';
import type { Point } from '../../charts/renderer/renderer';

/** The orbit is written to the URL when it has not changed for this long. */
const SAVE_ORBIT_DELAY_MS = 160;
/** X points to the right and Y up. */
const FRONT_VIEW: Orbit = { ...DEFAULT_ORBIT, yaw: 0, pitch: 0 };

/** Position, direction and projection of the camera. */
export class ProjectorCamera {
  /** Size of the canvas in CSS pixels. */
  width = $state(0);
  height = $state(0);
  /** The user is dragging, even if the last frame takes long to draw. */
  isDragging = $state(false);
  readonly #params: ProjectorParams;
  readonly #usesTiles: () => boolean;
  /** The orbit during a gesture; it is saved afterwards. */
  #pendingOrbit = $state.raw<Orbit | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(params: ProjectorParams, usesTiles: () => boolean) {
    this.#params = params;
    this.#usesTiles = usesTiles;
  }

  readonly isFlat = $derived.by(() => this.#usesTiles() || getOutputDimensions(this.#params) === 2);

  readonly projection = $derived.by<Projection>(() => ({
    fov: DEFAULT_FOV_DEG,
    orthographic: this.isFlat,
    aspect: this.width / Math.max(1, this.height),
  }));

  /** A 2D layout is never rotated. */
  readonly orbit = $derived.by<Orbit>(() => {
    const orbit =
      this.#pendingOrbit ?? this.#params.orbit.value ?? (this.isFlat ? FRONT_VIEW : DEFAULT_ORBIT);
    return this.isFlat ? { ...orbit, yaw: 0, pitch: 0 } : orbit;
  });

  readonly view = $derived.by<CameraView>(() => ({
    orbit: this.orbit,
    projection: this.projection,
    size: { width: this.width, height: this.height },
  }));

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

  /** Show all points from the default direction. */
  fit(): void {
    this.stop();
    this.#pendingOrbit = null;
    this.#params.orbit.set(null);
  }

  /** Center on a position, without zooming out. */
  focus(target: Orbit['target'], zoom: number): void {
    this.setOrbit({ ...this.orbit, target, zoom: Math.max(this.orbit.zoom, zoom) });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #saveOrbit(): void {
    const orbit = this.#pendingOrbit;
    if (this.isDragging) return;
    this.#pendingOrbit = null;
    if (orbit) this.#params.orbit.set(orbit);
  }
}

const WHEEL_SPEED = 0.0016;

/** Zoom with the wheel. It needs no modifier key, as nothing here scrolls. */
export function attachWheel(surface: HTMLElement, camera: ProjectorCamera): () => void {
  function handleWheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const box = surface.getBoundingClientRect();
    const at: Point = { x: event.clientX - box.left, y: event.clientY - box.top };
    camera.setOrbit(zoomAt(camera, at, Math.exp(-event.deltaY * WHEEL_SPEED)));
  }
  surface.addEventListener('wheel', handleWheel, { passive: false });
  return () => surface.removeEventListener('wheel', handleWheel);
}

/** Move the camera with the keyboard. */
export function handleCameraKey(event: KeyboardEvent, camera: ProjectorCamera): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { orbit, projection, height, isFlat } = camera;
  const controls = {
    ...{ orbit, projection, height, up: 'y' as const },
    setOrbit: (next: typeof camera.orbit) => camera.setOrbit(next),
    reset: () => camera.fit(),
  };
  // In 2D the arrow keys pan, as with Shift in 3D.
  const key = { key: event.key, shiftKey: event.shiftKey || isFlat } as KeyboardEvent;
  if (!handleOrbitKey(key, controls)) return;
  event.preventDefault();
  event.stopPropagation();
}
