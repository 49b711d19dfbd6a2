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

import type { GeometryResponse, Light } from '../../api/schemas';
import {
  getEyeDistance,
  getEyePosition,
  getHeightAtTarget,
  getUpVector,
  type Projection,
} from '../../charts/webgl/orbit-camera';
import { type SceneState, toSphereCoordinates } from './mesh-geometry';
import { MeshObject } from './mesh-object';

/** Logged intensities are in the units of three.js before physically based lights. */
const LEGACY_LIGHT_FACTOR = Math.PI;

/** Camera, lights, grid and axes of a scene. */
export class SceneRig {
  readonly scene = new Scene();
  readonly #perspective = new PerspectiveCamera();
  readonly #orthographic = new OrthographicCamera();
  readonly #lights = new Group();
  readonly #headlight = new DirectionalLight();
  readonly #helpers = new Group();
  readonly #fog = new Fog('#ffffff');
  #lightsKey = '';
  #helpersKey = '';

  constructor() {
    this.scene.add(this.#lights, this.#helpers);
  }

  update(state: SceneState, projection: Projection): PerspectiveCamera | OrthographicCamera {
    const camera = this.#updateCamera(state, projection);
    this.#updateLights(state);
    this.#updateHelpers(state);
    this.#updateFog(state, projection);
    // From above and behind the camera, slightly to the left.
    this.#headlight.position.copy(new Vector3(-0.5, 0.7, 1).applyQuaternion(camera.quaternion));
    return camera;
  }

  dispose(): void {
    this.#clearHelpers();
  }

  /** A scene is drawn in parts; grid and axes are drawn with the first one. */
  showHelpers(isVisible: boolean): void {
    this.#helpers.visible = isVisible;
  }

  #updateCamera(
    { orbit, up }: SceneState,
    projection: Projection,
  ): PerspectiveCamera | OrthographicCamera {
    const distance = getEyeDistance(orbit, projection);
    const camera = projection.orthographic ? this.#orthographic : this.#perspective;
    camera.near = projection.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = getHeightAtTarget(orbit, projection) / 2;
      camera.top = half;
      camera.bottom = -half;
      camera.right = half * projection.aspect;
      camera.left = -half * projection.aspect;
    } else {
      camera.fov = projection.fov;
      camera.aspect = projection.aspect;
    }
    camera.up.set(...getUpVector(up));
    camera.position.set(...getEyePosition(orbit, projection, up));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  #updateLights(state: SceneState): void {
    const { lights, brightness, bounds } = state;
    const key = JSON.stringify([lights, brightness, bounds]);
    if (key === this.#lightsKey) return;
    this.#lightsKey = key;
    this.#lights.clear();
    if (lights.length === 0) {
      this.#headlight.intensity = 0.75 * LEGACY_LIGHT_FACTOR * brightness;
      this.#lights.add(
        new AmbientLight('#ffffff', 0.45 * LEGACY_LIGHT_FACTOR * brightness),
        this.#headlight,
      );
    }
    for (const light of lights) this.#lights.add(makeLight(light, state));
  }

  #updateHelpers({ axes, grid, up, lineColor }: SceneState): void {
    const key = JSON.stringify([axes, grid, up, lineColor]);
    if (key === this.#helpersKey) return;
    this.#helpersKey = key;
    this.#clearHelpers();
    if (grid) this.#helpers.add(makeGrid(up, lineColor));
    if (axes) this.#helpers.add(new AxesHelper(1.1));
  }

  /** Distant points fade into the background; see `makePointsMaterial`. */
  #updateFog({ orbit, background }: SceneState, projection: Projection): void {
    const distance = projection.orthographic ? 0 : getEyeDistance(orbit, projection);
    this.#fog.color.set(background);
    this.#fog.near = distance - 1;
    this.#fog.far = distance + 1.8;
    this.scene.fog = projection.orthographic ? null : this.#fog;
  }

  #clearHelpers(): void {
    for (const helper of this.#helpers.children) {
      if (helper instanceof GridHelper || helper instanceof AxesHelper) helper.dispose();
    }
    this.#helpers.clear();
  }
}

function makeLight(light: Light, { brightness, bounds }: SceneState) {
  const { kind, color = '#ffffff', intensity = 1, position } = light;
  const scaled = intensity * LEGACY_LIGHT_FACTOR * brightness;
  if (kind === 'ambient') return new AmbientLight(new Color(color), scaled);
  if (kind === 'directional') {
    const directional = new DirectionalLight(new Color(color), scaled);
    directional.position.set(...(position ?? ([0, 1, 0] as const)));
    return directional;
  }
  // Without decay, as in the versions of three.js for which configs were written.
  const point = new PointLight(new Color(color), scaled, 0, 0);
  point.position.set(...toSphereCoordinates(position ?? [0, 0, 0], bounds));
  return point;
}

/** Make a grid below the bounding sphere. */
function makeGrid(up: SceneState['up'], color: string): GridHelper {
  const grid = new GridHelper(4, 16, color, color);
  const material = grid.material as Material;
  material.transparent = true;
  material.opacity = 0.35;
  if (up === 'z') grid.rotation.x = Math.PI / 2;
  grid.position.set(0, up === 'y' ? -1 : 0, up === 'z' ? -1 : 0);
  return grid;
}

/** The scene of one viewport, and how much of it is drawn on its canvas. */
export class SceneView {
  readonly canvas: HTMLCanvasElement;
  readonly rig = new SceneRig();
  state: SceneState | null = null;
  /** The state changed since it was drawn. */
  isStale = false;
  /** The fraction of the elements on the canvas. */
  drawnFraction = 0;
  /** Time of the last drawing, in milliseconds. */
  drawnAt = 0;
  readonly #objects = new Map<GeometryResponse, MeshObject>();
  readonly #ondrawn: (fraction: number) => void;

  constructor(canvas: HTMLCanvasElement, ondrawn: (fraction: number) => void) {
    this.canvas = canvas;
    this.#ondrawn = ondrawn;
  }

  setState(state: SceneState): void {
    this.state = state;
    this.isStale = true;
  }

  get projection(): Projection {
    const { projection, width, height } = this.state ?? { projection: null, width: 1, height: 1 };
    return { fov: 40, orthographic: false, ...projection, aspect: width / height };
  }

  /** All meshes are drawn as points. */
  get isPointCloud(): boolean {
    const { meshes = [] } = this.state ?? {};
    return meshes.every(
      ({ geometry, appearance }) => geometry.face === null || appearance.drawMode === 'points',
    );
  }

  get elementCount(): number {
    return [...this.#objects.values()].reduce((sum, { elements }) => sum + elements, 0);
  }

  /** Update all objects and return the camera. */
  updateScene(state: SceneState, pixelRatio: number, canvasHeight: number) {
    this.#removeOthers(new Set(state.meshes.map(({ geometry }) => geometry)));
    for (const { geometry, appearance } of state.meshes) {
      const object = this.#objects.get(geometry) ?? this.#add(geometry);
      object.setAppearance(appearance, state);
      object.setPointSize(appearance, state, this.projection, pixelRatio, canvasHeight);
    }
    return this.rig.update(state, this.projection);
  }

  setDrawRange(from: number, to: number): void {
    for (const object of this.#objects.values()) object.setDrawRange(from, to);
    this.rig.showHelpers(from === 0);
  }

  notifyDrawn(): void {
    this.#ondrawn(this.drawnFraction);
  }

  dispose(): void {
    this.#removeOthers(new Set());
    this.rig.dispose();
  }

  #add(geometry: GeometryResponse): MeshObject {
    const object = new MeshObject(geometry);
    this.#objects.set(geometry, object);
    this.rig.scene.add(object.group);
    return object;
  }

  #removeOthers(kept: ReadonlySet<GeometryResponse>): void {
    for (const [geometry, object] of this.#objects) {
      if (kept.has(geometry)) continue;
      this.rig.scene.remove(object.group);
      object.dispose();
      this.#objects.delete(geometry);
    }
  }
}
