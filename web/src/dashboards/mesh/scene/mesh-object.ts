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

import {
  getHeightAtTarget,
  type Projection,
  type UpAxis,
} from '../../../charts/webgl/orbit-camera';
import { interpolateColor } from '../../../lib/colors';
import { type BoundingSphere, countPoints, type GeometryResponse } from '../mesh-geometry';
import type { Appearance, SceneState } from './scene-types';

const HEIGHT_COLORS = 256;

/** Red, green and blue for each vertex by how high it is in its frame. */
export function makeHeightColors(
  { position, centre, scale }: Pick<GeometryResponse, 'position' | 'centre' | 'scale'>,
  frame: BoundingSphere,
  up: UpAxis,
): Uint8Array {
  const axis = up === 'y' ? 1 : 2;
  const shades = makeHeightColorTable();
  const colours = new Uint8Array(position.length);
  // From the bottom of the frame to its top, so that steps and runs can be compared.
  const factor = (scale / frame.radius / 2) * HEIGHT_COLORS;
  const offset = ((centre[axis] - frame.center[axis]) / frame.radius / 2 + 0.5) * HEIGHT_COLORS;
  for (let at = 0; at < position.length; at += 3) {
    const height = (position[at + axis] ?? 0) * factor + offset;
    const shade = 3 * Math.max(0, Math.min(HEIGHT_COLORS - 1, Math.floor(height)));
    colours[at] = shades[shade] ?? 0;
    colours[at + 1] = shades[shade + 1] ?? 0;
    colours[at + 2] = shades[shade + 2] ?? 0;
  }
  return colours;
}

function makeHeightColorTable(): Uint8Array {
  const shades = new Uint8Array(3 * HEIGHT_COLORS);
  for (let at = 0; at < HEIGHT_COLORS; at++) {
    const colour = interpolateColor(at / (HEIGHT_COLORS - 1));
    for (const channel of [0, 1, 2]) {
      shades[3 * at + channel] = parseInt(colour.slice(1 + 2 * channel, 3 + 2 * channel), 16);
    }
  }
  return shades;
}

/** The three sides of each triangle, as pairs of vertices. */
export function makeEdgeIndex(faces: Int32Array): Uint32Array {
  const sides = new Uint32Array(faces.length * 2);
  for (let from = 0, to = 0; from < faces.length; from += 3, to += 6) {
    const [a, b, c] = [faces[from] ?? 0, faces[from + 1] ?? 0, faces[from + 2] ?? 0];
    sides[to] = sides[to + 5] = a;
    sides[to + 1] = sides[to + 2] = b;
    sides[to + 3] = sides[to + 4] = c;
  }
  return sides;
}

/** How large points are. */
export interface ResolvedPointSize {
  /** In radii of the frame where the points have a size in space, else in pixels. */
  readonly size: number;
  readonly isWorldSize: boolean;
  /** Smaller points are squares: nobody would see that they are not round. */
  readonly isRound: boolean;
}

const MIN_ROUND_SIZE_PX = 3.5;

export function resolvePointSize(
  geometry: GeometryResponse,
  dress: Appearance,
  shown: SceneState,
): ResolvedPointSize {
  const { pointSize, material } = dress;
  const logged = pointSize === null ? (material?.size ?? null) : null;
  if (logged !== null && material?.size_attenuation !== false) {
    return { size: logged / shown.bounds.radius, isWorldSize: true, isRound: true };
  }
  const size =
    pointSize ?? logged ?? getDefaultPointSize(countPoints(geometry), shown.width, shown.height);
  return { size, isWorldSize: false, isRound: size >= MIN_ROUND_SIZE_PX };
}

/** In pixels, so that a picture is neither empty nor one blot. */
export function getDefaultPointSize(points: number, width: number, height: number): number {
  const each = (0.3 * width * height) / Math.max(1, points);
  return Math.max(1.25, Math.min(6, Math.sqrt(each)));
}

/**
 * What three.js wants to be told for a size in space. It takes half of the canvas, not of the part
 * that is drawn on, for the height of the picture, and knows nothing of the angle of the lens.
 */
export function toThreePointSize(
  size: number,
  shown: SceneState,
  lens: Projection,
  canvasHeight: number,
): number {
  if (lens.orthographic) return (size * shown.height) / getHeightAtTarget(shown.orbit, lens);
  const reach = Math.tan((lens.fov * Math.PI) / 360);
  return ((size / reach) * shown.height) / canvasHeight;
}

/** What all materials of a dress share. */
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

/** The simplest material that looks as logged: shiny ones take far longer without a graphics card. */
export function makeSurfaceMaterial(dress: Appearance, hasWires: boolean): Material {
  const { kind = '', roughness, metalness } = dress.material ?? {};
  const look = {
    ...makeMaterialOptions(dress),
    // Faces are logged in any order of their corners.
    side: DoubleSide,
    // Wires on a surface would else be half inside it.
    polygonOffset: hasWires,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  };
  const flatShading = dress.flatShading;
  if (kind === 'MeshBasicMaterial') return new MeshBasicMaterial(look);
  if (kind === 'MeshNormalMaterial') {
    return new MeshNormalMaterial({ flatShading, side: DoubleSide });
  }
  const isShiny = (roughness ?? 1) < 1 || (metalness ?? 0) > 0;
  return isShiny
    ? new MeshStandardMaterial({
        ...look,
        flatShading,
        roughness: roughness ?? 1,
        metalness: metalness ?? 0,
      })
    : new MeshLambertMaterial({ ...look, flatShading });
}

/** Wires alone have the colours of the vertices; on a surface they must be seen on any colour. */
export function makeLineMaterial(dress: Appearance, ink: string, isOnSurface: boolean): Material {
  return isOnSurface
    ? new LineBasicMaterial({ color: new Color(ink), transparent: true, opacity: 0.55 })
    : new LineBasicMaterial(makeMaterialOptions(dress));
}

export function makePointsMaterial(dress: Appearance, isRound: boolean): PointsMaterial {
  // Points of one colour would else show no depth.
  const material = new PointsMaterial({
    ...makeMaterialOptions(dress),
    fog: typeof dress.coloring === 'object',
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

/** Something that is drawn from one element to another. */
interface DrawLayer {
  readonly object: Object3D;
  readonly buffer: BufferGeometry;
  readonly material: Material;
  /** How many numbers of its index, or vertices, an element takes. */
  readonly stride: number;
}

/** One mesh on the graphics card. */
export class MeshObject {
  readonly geometry: GeometryResponse;
  readonly group = new Group();
  #layers: readonly DrawLayer[] = [];
  #worn = '';
  #isCloud = true;

  constructor(geometry: GeometryResponse) {
    this.geometry = geometry;
  }

  /** Points or faces, whichever are drawn. */
  get elements(): number {
    const { face } = this.geometry;
    return this.#isCloud || face === null ? countPoints(this.geometry) : face.length / 3;
  }

  setAppearance(dress: Appearance, shown: SceneState): void {
    const worn = this.#describe(dress, shown);
    if (worn !== this.#worn) this.#change(dress, shown);
    this.#worn = worn;
    this.#place(shown);
  }

  /** Draws only the elements between two shares of all. */
  setDrawRange(from: number, to: number): void {
    const first = Math.round(from * this.elements);
    const count = Math.round(to * this.elements) - first;
    for (const { buffer, stride } of this.#layers) {
      buffer.setDrawRange(first * stride, count * stride);
    }
  }

  setPointSize(
    dress: Appearance,
    shown: SceneState,
    lens: Projection,
    density: number,
    canvasHeight: number,
  ): void {
    const { size, isWorldSize } = resolvePointSize(this.geometry, dress, shown);
    for (const { material } of this.#layers) {
      if (!(material instanceof PointsMaterial)) continue;
      material.sizeAttenuation = isWorldSize && !lens.orthographic;
      material.size = isWorldSize
        ? toThreePointSize(size, shown, lens, canvasHeight / density) *
          (lens.orthographic ? density : 1)
        : size * density;
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

  /** What cannot be changed without building it anew. */
  #describe(dress: Appearance, shown: SceneState): string {
    const { drawMode, coloring, flatShading, material } = dress;
    const frame = coloring === 'height' ? [shown.bounds, shown.up] : null;
    const { isRound } = resolvePointSize(this.geometry, dress, shown);
    return JSON.stringify([
      drawMode,
      coloring,
      flatShading,
      material,
      frame,
      isRound,
      shown.lineColor,
    ]);
  }

  #change(dress: Appearance, shown: SceneState): void {
    this.dispose();
    this.#isCloud = this.geometry.face === null || dress.drawMode === 'points';
    this.#layers = this.#isCloud
      ? [this.#makeCloud(dress, shown)]
      : this.#makeSolid(dress, shown, this.geometry.face ?? new Int32Array());
    for (const { object } of this.#layers) {
      // What is outside of the picture is cheaper to draw than to find out about.
      object.frustumCulled = false;
      this.group.add(object);
    }
  }

  #place({ bounds: { center, radius } }: SceneState): void {
    const [x, y, z] = this.geometry.centre;
    this.group.scale.setScalar(this.geometry.scale / radius);
    this.group.position.set(x - center[0], y - center[1], z - center[2]).divideScalar(radius);
  }

  #makeCloud(dress: Appearance, shown: SceneState): DrawLayer {
    const buffer = this.#makeBuffer(dress, shown);
    const { isRound } = resolvePointSize(this.geometry, dress, shown);
    const material = makePointsMaterial(dress, isRound);
    return { object: new Points(buffer, material), buffer, material, stride: 1 };
  }

  #makeSolid(dress: Appearance, shown: SceneState, face: Int32Array): DrawLayer[] {
    const { drawMode } = dress;
    const buffer = this.#makeBuffer(dress, shown);
    const layers: DrawLayer[] = [];
    if (drawMode !== 'wires') {
      const surface = new BufferGeometry();
      for (const [name, attribute] of Object.entries(buffer.attributes)) {
        surface.setAttribute(name, attribute);
      }
      const index = new Uint32Array(face.buffer as ArrayBuffer, face.byteOffset, face.length);
      surface.setIndex(new BufferAttribute(index, 1));
      const material = makeSurfaceMaterial(dress, drawMode === 'edges');
      layers.push({ object: new Mesh(surface, material), buffer: surface, material, stride: 3 });
    }
    if (drawMode !== 'surface') {
      buffer.setIndex(new BufferAttribute(makeEdgeIndex(face), 1));
      const material = makeLineMaterial(dress, shown.lineColor, drawMode === 'edges');
      layers.push({ object: new LineSegments(buffer, material), buffer, material, stride: 6 });
    }
    return layers;
  }

  #makeBuffer(dress: Appearance, { bounds, up }: SceneState): BufferGeometry {
    const { position, normal, color } = this.geometry;
    const buffer = new BufferGeometry();
    buffer.setAttribute('position', new BufferAttribute(position, 3));
    if (normal) buffer.setAttribute('normal', new BufferAttribute(toSignedBytes(normal), 3, true));
    const shades =
      dress.coloring === 'height' ? makeHeightColors(this.geometry, bounds, up) : color;
    if (shades && typeof dress.coloring !== 'object') {
      buffer.setAttribute('color', new BufferAttribute(shades, 3, true));
    }
    return buffer;
  }
}

function toSignedBytes(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}
