import {
  AmbientLight,
  AxesHelper,
  Color,
  DirectionalLight,
  Fog,
  GridHelper,
  Group,
  type Material,
  OrthographicCamera,
  PerspectiveCamera,
  PointLight,
  Scene,
  Vector3,
} from 'three';

import {
  getEyeDistance,
  getEyePosition,
  getHeightAtTarget,
  getUpVector,
  type Projection,
} from '../../../charts/webgl/orbit-camera';
import { type GeometryResponse, type LoggedLight, toSphereCoordinates } from '../mesh-geometry';
import { MeshObject } from './mesh-object';
import type { SceneState } from './scene-types';

/** Lights are logged as they were counted before three.js began to count them in physical units. */
const LEGACY_LIGHT_FACTOR = Math.PI;

/** What stands around the meshes of one picture: the eye, lights, and lines that help it. */
export class SceneRig {
  readonly scene = new Scene();
  readonly #perspective = new PerspectiveCamera();
  readonly #orthographic = new OrthographicCamera();
  readonly #lights = new Group();
  readonly #headlight = new DirectionalLight();
  readonly #helpers = new Group();
  readonly #fog = new Fog('#ffffff');
  #lit = '';
  #helped = '';

  constructor() {
    this.scene.add(this.#lights, this.#helpers);
  }

  update(shown: SceneState, lens: Projection): PerspectiveCamera | OrthographicCamera {
    const camera = this.#aim(shown, lens);
    this.#light(shown);
    this.#help(shown);
    this.#fade(shown, lens);
    // The light comes over the left shoulder of who looks.
    this.#headlight.position.copy(new Vector3(-0.5, 0.7, 1).applyQuaternion(camera.quaternion));
    return camera;
  }

  dispose(): void {
    this.#clearHelpers();
  }

  /** Helpers are drawn once, with the first part of a picture. */
  showHelpers(isShown: boolean): void {
    this.#helpers.visible = isShown;
  }

  #aim({ orbit, up }: SceneState, lens: Projection): PerspectiveCamera | OrthographicCamera {
    const distance = getEyeDistance(orbit, lens);
    const camera = lens.orthographic ? this.#orthographic : this.#perspective;
    camera.near = lens.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = getHeightAtTarget(orbit, lens) / 2;
      camera.top = half;
      camera.bottom = -half;
      camera.right = half * lens.aspect;
      camera.left = -half * lens.aspect;
    } else {
      camera.fov = lens.fov;
      camera.aspect = lens.aspect;
    }
    camera.up.set(...getUpVector(up));
    camera.position.set(...getEyePosition(orbit, lens, up));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  #light(shown: SceneState): void {
    const { lights, brightness, bounds } = shown;
    const lit = JSON.stringify([lights, brightness, bounds]);
    if (lit === this.#lit) return;
    this.#lit = lit;
    this.#lights.clear();
    if (lights.length === 0) {
      this.#headlight.intensity = 0.75 * LEGACY_LIGHT_FACTOR * brightness;
      this.#lights.add(
        new AmbientLight('#ffffff', 0.45 * LEGACY_LIGHT_FACTOR * brightness),
        this.#headlight,
      );
    }
    for (const light of lights) this.#lights.add(makeLight(light, shown));
  }

  #help({ axes, grid, up, lineColor }: SceneState): void {
    const helped = JSON.stringify([axes, grid, up, lineColor]);
    if (helped === this.#helped) return;
    this.#helped = helped;
    this.#clearHelpers();
    if (grid) this.#helpers.add(makeGrid(up, lineColor));
    if (axes) this.#helpers.add(new AxesHelper(1.1));
  }

  /** What is further away is paler, where a material lets it. */
  #fade({ orbit, background }: SceneState, lens: Projection): void {
    const distance = lens.orthographic ? 0 : getEyeDistance(orbit, lens);
    this.#fog.color.set(background);
    this.#fog.near = distance - 1;
    this.#fog.far = distance + 1.8;
    this.scene.fog = lens.orthographic ? null : this.#fog;
  }

  #clearHelpers(): void {
    for (const helper of this.#helpers.children) {
      if (helper instanceof GridHelper || helper instanceof AxesHelper) helper.dispose();
    }
    this.#helpers.clear();
  }
}

function makeLight(logged: LoggedLight, { brightness, bounds }: SceneState) {
  const { kind, color = '#ffffff', intensity = 1, position } = logged;
  const strength = intensity * LEGACY_LIGHT_FACTOR * brightness;
  if (kind === 'ambient') return new AmbientLight(new Color(color), strength);
  if (kind === 'directional') {
    const light = new DirectionalLight(new Color(color), strength);
    light.position.set(...(position ?? ([0, 1, 0] as const)));
    return light;
  }
  // Without a decay with the distance, as all lights were when such settings were thought of.
  const light = new PointLight(new Color(color), strength, 0, 0);
  light.position.set(...toSphereCoordinates(position ?? [0, 0, 0], bounds));
  return light;
}

/** A floor below the frame. */
function makeGrid(up: SceneState['up'], ink: string): GridHelper {
  const grid = new GridHelper(4, 16, ink, ink);
  const material = grid.material as Material;
  material.transparent = true;
  material.opacity = 0.35;
  if (up === 'z') grid.rotation.x = Math.PI / 2;
  grid.position.set(0, up === 'y' ? -1 : 0, up === 'z' ? -1 : 0);
  return grid;
}

/** One picture in the making: what belongs on it, and how much of that is drawn. */
export class SceneView {
  readonly canvas: HTMLCanvasElement;
  readonly rig = new SceneRig();
  state: SceneState | null = null;
  /** What changed since it was drawn last. */
  isStale = false;
  /** The share of it that is on its canvas, and since when. */
  drawnFraction = 0;
  drawnAt = 0;
  readonly #models = new Map<GeometryResponse, MeshObject>();
  readonly #ondrawn: (share: number) => void;

  constructor(canvas: HTMLCanvasElement, ondrawn: (share: number) => void) {
    this.canvas = canvas;
    this.#ondrawn = ondrawn;
  }

  setState(shown: SceneState): void {
    this.state = shown;
    this.isStale = true;
  }

  get projection(): Projection {
    const { projection, width, height } = this.state ?? { projection: null, width: 1, height: 1 };
    return { fov: 40, orthographic: false, ...projection, aspect: width / height };
  }

  /** Whether it shows points only. */
  get isPointCloud(): boolean {
    const { meshes = [] } = this.state ?? {};
    return meshes.every(
      ({ geometry, appearance }) => geometry.face === null || appearance.drawMode === 'points',
    );
  }

  get elementCount(): number {
    return [...this.#models.values()].reduce((sum, { elements }) => sum + elements, 0);
  }

  /** Puts on the stage what is shown now, and takes off what is not any more. */
  updateScene(shown: SceneState, density: number, canvasHeight: number) {
    this.#dropOthers(new Set(shown.meshes.map(({ geometry }) => geometry)));
    for (const { geometry, appearance } of shown.meshes) {
      const model = this.#models.get(geometry) ?? this.#add(geometry);
      model.setAppearance(appearance, shown);
      model.setPointSize(appearance, shown, this.projection, density, canvasHeight);
    }
    return this.rig.update(shown, this.projection);
  }

  setDrawRange(from: number, to: number): void {
    for (const model of this.#models.values()) model.setDrawRange(from, to);
    this.rig.showHelpers(from === 0);
  }

  notifyDrawn(): void {
    this.#ondrawn(this.drawnFraction);
  }

  dispose(): void {
    this.#dropOthers(new Set());
    this.rig.dispose();
  }

  #add(geometry: GeometryResponse): MeshObject {
    const model = new MeshObject(geometry);
    this.#models.set(geometry, model);
    this.rig.scene.add(model.group);
    return model;
  }

  #dropOthers(kept: ReadonlySet<GeometryResponse>): void {
    for (const [geometry, model] of this.#models) {
      if (kept.has(geometry)) continue;
      this.rig.scene.remove(model.group);
      model.dispose();
      this.#models.delete(geometry);
    }
  }
}
