import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  type Material,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshNormalMaterial,
  MeshStandardMaterial,
  type Object3D,
  Points,
  PointsMaterial,
} from 'three';

import type { GeometryResponse } from '../../api/schemas';
import { getHeightAtTarget, type Projection, type UpAxis } from '../../charts/webgl/orbit-camera';
import { interpolateColor } from '../../lib/colors';
import {
  type Appearance,
  type BoundingSphere,
  countPoints,
  type SceneState,
} from './mesh-geometry';

const HEIGHT_COLORS = 256;

/**
 * Return the RGB color of each vertex by its height. The scale covers the bounding sphere, so that
 * steps and runs can be compared.
 */
function makeHeightColors(
  { position, center, scale }: Pick<GeometryResponse, 'position' | 'center' | 'scale'>,
  bounds: BoundingSphere,
  up: UpAxis,
): Uint8Array {
  const axis = up === 'y' ? 1 : 2;
  const table = makeHeightColorTable();
  const colors = new Uint8Array(position.length);
  const factor = (scale / bounds.radius / 2) * HEIGHT_COLORS;
  const offset = ((center[axis] - bounds.center[axis]) / bounds.radius / 2 + 0.5) * HEIGHT_COLORS;
  for (let at = 0; at < position.length; at += 3) {
    const height = (position[at + axis] ?? 0) * factor + offset;
    const entry = 3 * Math.max(0, Math.min(HEIGHT_COLORS - 1, Math.floor(height)));
    colors[at] = table[entry] ?? 0;
    colors[at + 1] = table[entry + 1] ?? 0;
    colors[at + 2] = table[entry + 2] ?? 0;
  }
  return colors;
}

function makeHeightColorTable(): Uint8Array {
  const table = new Uint8Array(3 * HEIGHT_COLORS);
  for (let at = 0; at < HEIGHT_COLORS; at++) {
    const color = interpolateColor(at / (HEIGHT_COLORS - 1));
    for (const channel of [0, 1, 2]) {
      table[3 * at + channel] = parseInt(color.slice(1 + 2 * channel, 3 + 2 * channel), 16);
    }
  }
  return table;
}

/** Return the edges of all triangles, as pairs of vertices. */
function makeEdgeIndex(faces: Int32Array): Uint32Array {
  const edges = new Uint32Array(faces.length * 2);
  for (let from = 0, to = 0; from < faces.length; from += 3, to += 6) {
    const [a, b, c] = [faces[from] ?? 0, faces[from + 1] ?? 0, faces[from + 2] ?? 0];
    edges[to] = edges[to + 5] = a;
    edges[to + 1] = edges[to + 2] = b;
    edges[to + 3] = edges[to + 4] = c;
  }
  return edges;
}

interface ResolvedPointSize {
  /** Relative to the radius of the bounding sphere if `isWorldSize`, else in CSS pixels. */
  readonly size: number;
  readonly isWorldSize: boolean;
  /** Small points are drawn as squares, which is faster. */
  readonly isRound: boolean;
}

const MIN_ROUND_SIZE_PX = 3.5;

function resolvePointSize(
  geometry: GeometryResponse,
  { pointSize, material }: Appearance,
  state: SceneState,
): ResolvedPointSize {
  const logged = pointSize === null ? (material?.size ?? null) : null;
  if (logged !== null && material?.size_attenuation !== false) {
    return { size: logged / state.bounds.radius, isWorldSize: true, isRound: true };
  }
  const size =
    pointSize ?? logged ?? getDefaultPointSize(countPoints(geometry), state.width, state.height);
  return { size, isWorldSize: false, isRound: size >= MIN_ROUND_SIZE_PX };
}

/** Return a size in CSS pixels with which the points cover about a third of the view. */
function getDefaultPointSize(points: number, width: number, height: number): number {
  const area = (0.3 * width * height) / Math.max(1, points);
  return Math.max(1.25, Math.min(6, Math.sqrt(area)));
}

/**
 * Convert a size in the scene to the `size` of a PointsMaterial. three.js scales it by half of the
 * height of the canvas, not of the viewport, and ignores the field of view.
 */
function toThreePointSize(
  size: number,
  state: SceneState,
  projection: Projection,
  canvasHeight: number,
): number {
  if (projection.orthographic)
    return (size * state.height) / getHeightAtTarget(state.orbit, projection);
  const halfHeight = Math.tan((projection.fov * Math.PI) / 360);
  return ((size / halfHeight) * state.height) / canvasHeight;
}

function makeMaterialOptions({ coloring, material }: Appearance) {
  const opacity = material?.opacity ?? 1;
  return {
    color: new Color(typeof coloring === 'object' ? coloring.plain : '#ffffff'),
    vertexColors: typeof coloring !== 'object',
    opacity,
    transparent: opacity < 1,
    fog: false,
  };
}

/** Return the simplest material that looks as logged: MeshStandardMaterial is slow without a GPU. */
function makeSurfaceMaterial(appearance: Appearance, hasEdges: boolean): Material {
  const { kind = '', roughness, metalness } = appearance.material ?? {};
  const options = {
    ...makeMaterialOptions(appearance),
    // The orientation of logged faces is arbitrary.
    side: DoubleSide,
    // Otherwise edges would be half inside the surface.
    polygonOffset: hasEdges,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  };
  const { flatShading } = appearance;
  if (kind === 'MeshBasicMaterial') return new MeshBasicMaterial(options);
  if (kind === 'MeshNormalMaterial') {
    return new MeshNormalMaterial({ flatShading, side: DoubleSide });
  }
  const isShiny = (roughness ?? 1) < 1 || (metalness ?? 0) > 0;
  return isShiny
    ? new MeshStandardMaterial({
        ...options,
        flatShading,
        roughness: roughness ?? 1,
        metalness: metalness ?? 0,
      })
    : new MeshLambertMaterial({ ...options, flatShading });
}

/** Wireframes have the colors of the vertices; edges on a surface contrast with any color. */
function makeLineMaterial(
  appearance: Appearance,
  lineColor: string,
  isOnSurface: boolean,
): Material {
  return isOnSurface
    ? new LineBasicMaterial({ color: new Color(lineColor), transparent: true, opacity: 0.55 })
    : new LineBasicMaterial(makeMaterialOptions(appearance));
}

function makePointsMaterial(appearance: Appearance, isRound: boolean): PointsMaterial {
  // With one color, only fog shows depth.
  const material = new PointsMaterial({
    ...makeMaterialOptions(appearance),
    fog: typeof appearance.coloring === 'object',
  });
  if (!isRound) return material;
  material.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader.replace(
      '#include <clipping_planes_fragment>',
      'if (length(gl_PointCoord - 0.5) > 0.5) discard;\n#include <clipping_planes_fragment>',
    );
  };
  material.customProgramCacheKey = () => 'round';
  return material;
}

interface DrawLayer {
  readonly object: Object3D;
  readonly buffer: BufferGeometry;
  readonly material: Material;
  /** Vertices, or entries of the index, per element. */
  readonly stride: number;
}

/** The three.js objects of one mesh. */
export class MeshObject {
  readonly geometry: GeometryResponse;
  readonly group = new Group();
  #layers: readonly DrawLayer[] = [];
  #appearanceKey = '';
  #isPointCloud = true;

  constructor(geometry: GeometryResponse) {
    this.geometry = geometry;
  }

  /** The number of points or faces, whichever are drawn. */
  get elements(): number {
    const { face } = this.geometry;
    return this.#isPointCloud || face === null ? countPoints(this.geometry) : face.length / 3;
  }

  setAppearance(appearance: Appearance, state: SceneState): void {
    const key = this.#makeAppearanceKey(appearance, state);
    if (key !== this.#appearanceKey) this.#rebuild(appearance, state);
    this.#appearanceKey = key;
    this.#updateTransform(state);
  }

  /** Draw only the elements between two fractions. */
  setDrawRange(from: number, to: number): void {
    const first = Math.round(from * this.elements);
    const count = Math.round(to * this.elements) - first;
    for (const { buffer, stride } of this.#layers) {
      buffer.setDrawRange(first * stride, count * stride);
    }
  }

  setPointSize(
    appearance: Appearance,
    state: SceneState,
    projection: Projection,
    pixelRatio: number,
    canvasHeight: number,
  ): void {
    const { size, isWorldSize } = resolvePointSize(this.geometry, appearance, state);
    for (const { material } of this.#layers) {
      if (!(material instanceof PointsMaterial)) continue;
      material.sizeAttenuation = isWorldSize && !projection.orthographic;
      material.size = isWorldSize
        ? toThreePointSize(size, state, projection, canvasHeight / pixelRatio) *
          (projection.orthographic ? pixelRatio : 1)
        : size * pixelRatio;
    }
  }

  dispose(): void {
    for (const { buffer, material } of this.#layers) {
      buffer.dispose();
      material.dispose();
    }
    this.#layers = [];
    this.group.clear();
  }

  /** Return what cannot be changed without creating new objects. */
  #makeAppearanceKey(appearance: Appearance, state: SceneState): string {
    const { drawMode, coloring, flatShading, material } = appearance;
    const heightScale = coloring === 'height' ? [state.bounds, state.up] : null;
    const { isRound } = resolvePointSize(this.geometry, appearance, state);
    return JSON.stringify([
      drawMode,
      coloring,
      flatShading,
      material,
      heightScale,
      isRound,
      state.lineColor,
    ]);
  }

  #rebuild(appearance: Appearance, state: SceneState): void {
    this.dispose();
    this.#isPointCloud = this.geometry.face === null || appearance.drawMode === 'points';
    this.#layers = this.#isPointCloud
      ? [this.#makePoints(appearance, state)]
      : this.#makeSurface(appearance, state, this.geometry.face ?? new Int32Array());
    for (const { object } of this.#layers) {
      // Culling costs more than it saves.
      object.frustumCulled = false;
      this.group.add(object);
    }
  }

  #updateTransform({ bounds: { center, radius } }: SceneState): void {
    const [x, y, z] = this.geometry.center;
    this.group.scale.setScalar(this.geometry.scale / radius);
    this.group.position.set(x - center[0], y - center[1], z - center[2]).divideScalar(radius);
  }

  #makePoints(appearance: Appearance, state: SceneState): DrawLayer {
    const buffer = this.#makeBuffer(appearance, state);
    const { isRound } = resolvePointSize(this.geometry, appearance, state);
    const material = makePointsMaterial(appearance, isRound);
    return { object: new Points(buffer, material), buffer, material, stride: 1 };
  }

  #makeSurface(appearance: Appearance, state: SceneState, face: Int32Array): DrawLayer[] {
    const { drawMode } = appearance;
    const buffer = this.#makeBuffer(appearance, state);
    const layers: DrawLayer[] = [];
    if (drawMode !== 'wires') {
      const surface = new BufferGeometry();
      for (const [name, attribute] of Object.entries(buffer.attributes)) {
        surface.setAttribute(name, attribute);
      }
      const index = new Uint32Array(face.buffer as ArrayBuffer, face.byteOffset, face.length);
      surface.setIndex(new BufferAttribute(index, 1));
      const material = makeSurfaceMaterial(appearance, drawMode === 'edges');
      layers.push({ object: new Mesh(surface, material), buffer: surface, material, stride: 3 });
    }
    if (drawMode !== 'surface') {
      buffer.setIndex(new BufferAttribute(makeEdgeIndex(face), 1));
      const material = makeLineMaterial(appearance, state.lineColor, drawMode === 'edges');
      layers.push({ object: new LineSegments(buffer, material), buffer, material, stride: 6 });
    }
    return layers;
  }

  #makeBuffer({ coloring }: Appearance, { bounds, up }: SceneState): BufferGeometry {
    const { position, normal, color } = this.geometry;
    const buffer = new BufferGeometry();
    buffer.setAttribute('position', new BufferAttribute(position, 3));
    if (normal) buffer.setAttribute('normal', new BufferAttribute(toSignedBytes(normal), 3, true));
    const colors = coloring === 'height' ? makeHeightColors(this.geometry, bounds, up) : color;
    if (colors && typeof coloring !== 'object') {
      buffer.setAttribute('color', new BufferAttribute(colors, 3, true));
    }
    return buffer;
  }
}

function toSignedBytes(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}
