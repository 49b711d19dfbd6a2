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

import { intoFrame } from '../camera/frame';
import {
  distanceOf,
  eyeOf,
  heightAtTarget,
  type Lens,
  upVector,
} from '../../../charts/space/orbit';
import type { LoggedLight } from '../data/geometry';
import type { Shown } from './shown';

/** Lights are logged as they were counted before three.js began to count them in physical units. */
const PHYSICAL = Math.PI;

/** What stands around the meshes of one picture: the eye, lights, and lines that help it. */
export class StageSet {
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

  arrange(shown: Shown, lens: Lens): PerspectiveCamera | OrthographicCamera {
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

  #aim({ orbit, up }: Shown, lens: Lens): PerspectiveCamera | OrthographicCamera {
    const distance = distanceOf(orbit, lens);
    const camera = lens.orthographic ? this.#orthographic : this.#perspective;
    camera.near = lens.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = heightAtTarget(orbit, lens) / 2;
      camera.top = half;
      camera.bottom = -half;
      camera.right = half * lens.aspect;
      camera.left = -half * lens.aspect;
    } else {
      camera.fov = lens.fov;
      camera.aspect = lens.aspect;
    }
    camera.up.set(...upVector(up));
    camera.position.set(...eyeOf(orbit, lens, up));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  #light(shown: Shown): void {
    const { lights, brightness, frame } = shown;
    const lit = JSON.stringify([lights, brightness, frame]);
    if (lit === this.#lit) return;
    this.#lit = lit;
    this.#lights.clear();
    if (lights.length === 0) {
      this.#headlight.intensity = 0.75 * PHYSICAL * brightness;
      this.#lights.add(new AmbientLight('#ffffff', 0.45 * PHYSICAL * brightness), this.#headlight);
    }
    for (const light of lights) this.#lights.add(makeLight(light, shown));
  }

  #help({ axes, grid, up, ink }: Shown): void {
    const helped = JSON.stringify([axes, grid, up, ink]);
    if (helped === this.#helped) return;
    this.#helped = helped;
    this.#clearHelpers();
    if (grid) this.#helpers.add(makeGrid(up, ink));
    if (axes) this.#helpers.add(new AxesHelper(1.1));
  }

  /** What is further away is paler, where a material lets it. */
  #fade({ orbit, paper }: Shown, lens: Lens): void {
    const distance = lens.orthographic ? 0 : distanceOf(orbit, lens);
    this.#fog.color.set(paper);
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

function makeLight(logged: LoggedLight, { brightness, frame }: Shown) {
  const { kind, color = '#ffffff', intensity = 1, position } = logged;
  const strength = intensity * PHYSICAL * brightness;
  if (kind === 'ambient') return new AmbientLight(new Color(color), strength);
  if (kind === 'directional') {
    const light = new DirectionalLight(new Color(color), strength);
    light.position.set(...(position ?? ([0, 1, 0] as const)));
    return light;
  }
  // Without a decay with the distance, as all lights were when such settings were thought of.
  const light = new PointLight(new Color(color), strength, 0, 0);
  light.position.set(...intoFrame(position ?? [0, 0, 0], frame));
  return light;
}

/** A floor below the frame. */
function makeGrid(up: Shown['up'], ink: string): GridHelper {
  const grid = new GridHelper(4, 16, ink, ink);
  const material = grid.material as Material;
  material.transparent = true;
  material.opacity = 0.35;
  if (up === 'z') grid.rotation.x = Math.PI / 2;
  grid.position.set(0, up === 'y' ? -1 : 0, up === 'z' ? -1 : 0);
  return grid;
}
