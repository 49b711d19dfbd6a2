import {
  BufferAttribute,
  BufferGeometry,
  Group,
  LineSegments,
  type Material,
  Mesh,
  type Object3D,
  Points,
  PointsMaterial,
} from 'three';

import type { Lens } from '../../../charts/space/orbit';
import { type Geometry, pointsIn } from '../data/geometry';
import { coloursByHeight, sidesOf } from './colours';
import { makeLines, makePoints, makeSurface } from './materials';
import { pointSizeOf, sizeForThree } from './points';
import type { Dress, Shown } from './shown';

/** Something that is drawn from one element to another. */
interface Layer {
  readonly object: Object3D;
  readonly buffer: BufferGeometry;
  readonly material: Material;
  /** How many numbers of its index, or vertices, an element takes. */
  readonly stride: number;
}

/** One mesh on the graphics card. */
export class Model {
  readonly geometry: Geometry;
  readonly group = new Group();
  #layers: readonly Layer[] = [];
  #worn = '';
  #isCloud = true;

  constructor(geometry: Geometry) {
    this.geometry = geometry;
  }

  /** Points or faces, whichever are drawn. */
  get elements(): number {
    const { face } = this.geometry;
    return this.#isCloud || face === null ? pointsIn(this.geometry) : face.length / 3;
  }

  dress(dress: Dress, shown: Shown): void {
    const worn = this.#describe(dress, shown);
    if (worn !== this.#worn) this.#change(dress, shown);
    this.#worn = worn;
    this.#place(shown);
  }

  /** Draws only the elements between two shares of all. */
  limit(from: number, to: number): void {
    const first = Math.round(from * this.elements);
    const count = Math.round(to * this.elements) - first;
    for (const { buffer, stride } of this.#layers) {
      buffer.setDrawRange(first * stride, count * stride);
    }
  }

  sizePoints(dress: Dress, shown: Shown, lens: Lens, density: number, canvasHeight: number): void {
    const { size, isInSpace } = pointSizeOf(this.geometry, dress, shown);
    for (const { material } of this.#layers) {
      if (!(material instanceof PointsMaterial)) continue;
      material.sizeAttenuation = isInSpace && !lens.orthographic;
      material.size = isInSpace
        ? sizeForThree(size, shown, lens, canvasHeight / density) *
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
  #describe(dress: Dress, shown: Shown): string {
    const { form, shade, flat, material } = dress;
    const frame = shade === 'height' ? [shown.frame, shown.up] : null;
    const { isRound } = pointSizeOf(this.geometry, dress, shown);
    return JSON.stringify([form, shade, flat, material, frame, isRound, shown.ink]);
  }

  #change(dress: Dress, shown: Shown): void {
    this.dispose();
    this.#isCloud = this.geometry.face === null || dress.form === 'points';
    this.#layers = this.#isCloud
      ? [this.#makeCloud(dress, shown)]
      : this.#makeSolid(dress, shown, this.geometry.face ?? new Int32Array());
    for (const { object } of this.#layers) {
      // What is outside of the picture is cheaper to draw than to find out about.
      object.frustumCulled = false;
      this.group.add(object);
    }
  }

  #place({ frame: { centre, radius } }: Shown): void {
    const [x, y, z] = this.geometry.centre;
    this.group.scale.setScalar(this.geometry.scale / radius);
    this.group.position.set(x - centre[0], y - centre[1], z - centre[2]).divideScalar(radius);
  }

  #makeCloud(dress: Dress, shown: Shown): Layer {
    const buffer = this.#makeBuffer(dress, shown);
    const { isRound } = pointSizeOf(this.geometry, dress, shown);
    const material = makePoints(dress, isRound);
    return { object: new Points(buffer, material), buffer, material, stride: 1 };
  }

  #makeSolid(dress: Dress, shown: Shown, face: Int32Array): Layer[] {
    const { form } = dress;
    const buffer = this.#makeBuffer(dress, shown);
    const layers: Layer[] = [];
    if (form !== 'wires') {
      const surface = new BufferGeometry();
      for (const [name, attribute] of Object.entries(buffer.attributes)) {
        surface.setAttribute(name, attribute);
      }
      const index = new Uint32Array(face.buffer as ArrayBuffer, face.byteOffset, face.length);
      surface.setIndex(new BufferAttribute(index, 1));
      const material = makeSurface(dress, form === 'edges');
      layers.push({ object: new Mesh(surface, material), buffer: surface, material, stride: 3 });
    }
    if (form !== 'surface') {
      buffer.setIndex(new BufferAttribute(sidesOf(face), 1));
      const material = makeLines(dress, shown.ink, form === 'edges');
      layers.push({ object: new LineSegments(buffer, material), buffer, material, stride: 6 });
    }
    return layers;
  }

  #makeBuffer(dress: Dress, { frame, up }: Shown): BufferGeometry {
    const { position, normal, color } = this.geometry;
    const buffer = new BufferGeometry();
    buffer.setAttribute('position', new BufferAttribute(position, 3));
    if (normal) buffer.setAttribute('normal', new BufferAttribute(signed(normal), 3, true));
    const shades = dress.shade === 'height' ? coloursByHeight(this.geometry, frame, up) : color;
    if (shades && typeof dress.shade !== 'object') {
      buffer.setAttribute('color', new BufferAttribute(shades, 3, true));
    }
    return buffer;
  }
}

function signed(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}
