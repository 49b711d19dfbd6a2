import {
  DEFAULT_FOV_DEG,
  DEFAULT_ORBIT,
  getHeightAtTarget,
  type Orbit,
  type PointCamera,
  type Projection,
} from '../../../charts/webgl/orbit-camera';
import type { CameraView } from '../../../charts/points/point-overlay';
import type { Point } from '../../../charts/renderer/renderer';

const FRONT_VIEW: Orbit = { ...DEFAULT_ORBIT, yaw: 0, pitch: 0 };
/** The camera counts as moving for this long after the last change. */
const SETTLE_MS = 160;

/** A camera that looks at a flat plot. Without zoom, a pixel of the plot is one on the screen. */
export class PlotCamera implements PointCamera {
  width = $state(0);
  height = $state(0);
  isDragging = $state(false);
  isMoving = $state(false);
  orbit = $state.raw<Orbit>(FRONT_VIEW);
  readonly isFlat = true;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly projection = $derived.by<Projection>(() => ({
    fov: DEFAULT_FOV_DEG,
    orthographic: true,
    aspect: this.width / Math.max(1, this.height),
  }));

  /** Pixels per unit of the scene without zoom. */
  readonly scale = $derived.by(() => this.height / getHeightAtTarget(FRONT_VIEW, this.projection));

  readonly view = $derived.by<CameraView>(() => ({
    orbit: this.orbit,
    projection: this.projection,
    size: { width: this.width, height: this.height },
  }));

  get isZoomed(): boolean {
    return this.orbit !== FRONT_VIEW;
  }

  setOrbit(orbit: Orbit): void {
    this.orbit = orbit;
    this.isMoving = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.isMoving = this.isDragging), SETTLE_MS);
  }

  endDrag(): void {
    this.isDragging = false;
    this.isMoving = false;
  }

  fit(): void {
    this.orbit = FRONT_VIEW;
    this.isMoving = false;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Convert pixels of the plot to units of the scene, in place. */
  toScene(positions: Float32Array): Float32Array {
    const { width, height, scale } = this;
    for (let at = 0; at < positions.length; at += 3) {
      positions[at] = ((positions[at] ?? NaN) - width / 2) / scale;
      positions[at + 1] = (height / 2 - (positions[at + 1] ?? NaN)) / scale;
    }
    return positions;
  }

  /** Where a position of the scene is on the screen. */
  project(x: number, y: number): Point {
    const { zoom, target } = this.orbit;
    return {
      x: this.width / 2 + (x - target[0]) * this.scale * zoom,
      y: this.height / 2 - (y - target[1]) * this.scale * zoom,
    };
  }

  toScreenX(px: number): number {
    const { zoom, target } = this.orbit;
    return this.width / 2 + (px - this.width / 2 - target[0] * this.scale) * zoom;
  }

  toScreenY(px: number): number {
    const { zoom, target } = this.orbit;
    return this.height / 2 + (px - this.height / 2 + target[1] * this.scale) * zoom;
  }
}
