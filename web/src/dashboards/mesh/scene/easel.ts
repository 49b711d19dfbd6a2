import type { Lens } from '../../../charts/space/orbit';
import type { Geometry } from '../data/geometry';
import { Model } from './model';
import { StageSet } from './set';
import type { Shown } from './shown';

/** One picture in the making: what belongs on it, and how much of that is drawn. */
export class Easel {
  readonly canvas: HTMLCanvasElement;
  readonly set = new StageSet();
  shown: Shown | null = null;
  /** What changed since it was drawn last. */
  isStale = false;
  /** The share of it that is on its canvas, and since when. */
  seen = 0;
  drawnAt = 0;
  readonly #models = new Map<Geometry, Model>();
  readonly #ondrawn: (share: number) => void;

  constructor(canvas: HTMLCanvasElement, ondrawn: (share: number) => void) {
    this.canvas = canvas;
    this.#ondrawn = ondrawn;
  }

  show(shown: Shown): void {
    this.shown = shown;
    this.isStale = true;
  }

  get lens(): Lens {
    const { lens, width, height } = this.shown ?? { lens: null, width: 1, height: 1 };
    return { fov: 40, orthographic: false, ...lens, aspect: width / height };
  }

  /** Whether it shows points only. */
  get isCloud(): boolean {
    const { meshes = [] } = this.shown ?? {};
    return meshes.every(({ geometry, dress }) => geometry.face === null || dress.form === 'points');
  }

  get elements(): number {
    return [...this.#models.values()].reduce((sum, { elements }) => sum + elements, 0);
  }

  /** Puts on the stage what is shown now, and takes off what is not any more. */
  arrange(shown: Shown, density: number, canvasHeight: number) {
    this.#dropOthers(new Set(shown.meshes.map(({ geometry }) => geometry)));
    for (const { geometry, dress } of shown.meshes) {
      const model = this.#models.get(geometry) ?? this.#add(geometry);
      model.dress(dress, shown);
      model.sizePoints(dress, shown, this.lens, density, canvasHeight);
    }
    return this.set.arrange(shown, this.lens);
  }

  limit(from: number, to: number): void {
    for (const model of this.#models.values()) model.limit(from, to);
    this.set.showHelpers(from === 0);
  }

  tell(): void {
    this.#ondrawn(this.seen);
  }

  dispose(): void {
    this.#dropOthers(new Set());
    this.set.dispose();
  }

  #add(geometry: Geometry): Model {
    const model = new Model(geometry);
    this.#models.set(geometry, model);
    this.set.scene.add(model.group);
    return model;
  }

  #dropOthers(kept: ReadonlySet<Geometry>): void {
    for (const [geometry, model] of this.#models) {
      if (kept.has(geometry)) continue;
      this.set.scene.remove(model.group);
      model.dispose();
      this.#models.delete(geometry);
    }
  }
}
