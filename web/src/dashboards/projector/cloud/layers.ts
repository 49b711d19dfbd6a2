import {
  BufferAttribute,
  BufferGeometry,
  Color,
  GLSL3,
  LinearFilter,
  NormalBlending,
  Points,
  ShaderMaterial,
  Texture,
  Vector2,
} from 'three';

import { drawingOrder } from './order';
import { DISC, PICTURE, VERTEX } from './shaders';
import type { Sheet, Shown } from './shown';

const ROUND_FROM = 3.5;
const LARGEST_REST = 5;

/** The arrays of all points on the graphics card, renewed where they are others than before. */
export class Columns {
  readonly #attributes = new Map<string, BufferAttribute>();
  #count = 0;

  /** True where there are another number of points, so that all has to be made anew. */
  update({ places, dress }: Shown): boolean {
    const isNew = places.count !== this.#count;
    if (isNew) this.#attributes.clear();
    this.#count = places.count;
    this.#put('position', places.now, 3);
    this.#putBefore(places.before);
    this.#put('colour', dress.colour, 4);
    this.#put('size', dress.size ?? this.#alike(), 1);
    return isNew;
  }

  giveTo(buffer: BufferGeometry): void {
    for (const [name, attribute] of this.#attributes) buffer.setAttribute(name, attribute);
  }

  /** Points that do not move come from where they are. */
  #putBefore(before: Float32Array | null): void {
    const now = this.#attributes.get('position');
    if (!before && now) this.#attributes.set('before', now);
    else if (before) {
      if (this.#attributes.get('before') === now) this.#attributes.delete('before');
      this.#put('before', before, 3);
    }
  }

  #put(name: string, array: Float32Array | Uint8Array, width: number): void {
    const attribute = this.#attributes.get(name);
    if (attribute?.array === array) return;
    if (attribute?.array.length === array.length) {
      attribute.array = array;
      attribute.needsUpdate = true;
    } else {
      this.#attributes.set(name, new BufferAttribute(array, width, array instanceof Uint8Array));
    }
  }

  #ones = new Uint8Array(0);

  #alike(): Uint8Array {
    if (this.#ones.length !== this.#count) this.#ones = new Uint8Array(this.#count).fill(255);
    return this.#ones;
  }
}

/** Some points that are drawn alike: as discs, or with the pictures of one sheet. */
export class Layer {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  readonly count: number;
  readonly sheet: Sheet | null;
  readonly #texture: Texture | null;

  constructor(columns: Columns, first: number, count: number, sheet: Sheet | null) {
    this.count = count;
    this.sheet = sheet;
    this.#texture = sheet ? textureOf(sheet) : null;
    const buffer = new BufferGeometry();
    columns.giveTo(buffer);
    buffer.setIndex(new BufferAttribute(drawingOrder(first, count), 1));
    this.points = new Points(buffer, materialOf(sheet, this.#texture));
    // What is outside of the picture is cheaper to draw than to find out about.
    this.points.frustumCulled = false;
  }

  /** `density`: how many pixels there are on one of the page. */
  dress(shown: Shown, density: number, reach: { near: number; far: number }): void {
    const pixels = density * this.#sizeIn(shown);
    const { material } = this.points;
    const { uniforms } = material;
    const isPicture = this.#texture !== null;
    const isDense = shown.isDense && !isPicture;
    set(uniforms, 'way', shown.places.before ? shown.way : 1);
    set(uniforms, 'pixels', pixels);
    set(uniforms, 'spread', shown.dress.size ? 0.8 : 0);
    set(uniforms, 'near', reach.near);
    set(uniforms, 'far', reach.far);
    set(uniforms, 'fog', shown.isDeep ? 0.6 : 0);
    (uniforms.paper?.value as Color).set(shown.paper);
    if (!isPicture) {
      set(uniforms, 'isRound', pixels >= ROUND_FROM);
      set(uniforms, 'opacity', isDense ? opacityFor(this.count, pixels, shown) : 1);
    }
    material.transparent = isDense;
    material.depthTest = !isDense;
    material.depthWrite = !isDense;
  }

  /** Discs that stand in for pictures to come are not as large as these. */
  #sizeIn({ pointSize, sheets }: Shown): number {
    const isRest = sheets.length > 0 && !this.sheet;
    return isRest ? Math.min(LARGEST_REST, pointSize) : pointSize;
  }

  /** Draws only the points between two shares of all. */
  limit(from: number, to: number): void {
    const first = Math.round(from * this.count);
    this.points.geometry.setDrawRange(first, Math.round(to * this.count) - first);
  }

  dispose(): void {
    this.points.geometry.dispose();
    this.points.material.dispose();
    this.#texture?.dispose();
  }
}

type Uniforms = ShaderMaterial['uniforms'];

function set(uniforms: Uniforms, name: string, value: number | boolean): void {
  const uniform = uniforms[name];
  if (uniform) uniform.value = value;
}

/** So that a picture full of points is neither empty nor one blot. */
function opacityFor(count: number, pixels: number, { width, height }: Shown): number {
  const layers = (count * pixels * pixels) / Math.max(1, 0.25 * width * height);
  return Math.max(0.06, Math.min(0.85, 1.6 / Math.max(1, layers)));
}

function materialOf(sheet: Sheet | null, texture: Texture | null): ShaderMaterial {
  const uniforms: Uniforms = Object.fromEntries(
    ['way', 'pixels', 'spread', 'near', 'far', 'fog', 'opacity', 'isRound'].map((name) => [
      name,
      { value: 1 },
    ]),
  );
  uniforms.paper = { value: new Color() };
  if (sheet && texture) Object.assign(uniforms, sheetUniforms(sheet, texture));
  return new ShaderMaterial({
    glslVersion: GLSL3,
    vertexShader: VERTEX,
    fragmentShader: sheet ? PICTURE : DISC,
    uniforms,
    blending: NormalBlending,
  });
}

function sheetUniforms(sheet: Sheet, texture: Texture): Uniforms {
  const { image, columns, first, cellWidth, cellHeight } = sheet;
  const longest = Math.max(cellWidth, cellHeight);
  return {
    sheet: { value: texture },
    columns: { value: columns },
    first: { value: first },
    tint: { value: 0 },
    cell: { value: new Vector2(cellWidth / image.width, cellHeight / image.height) },
    form: { value: new Vector2(cellWidth / longest, cellHeight / longest) },
  };
}

function textureOf(sheet: Sheet): Texture {
  const texture = new Texture(sheet.image as HTMLImageElement);
  // Pictures are counted from the top.
  texture.flipY = false;
  texture.generateMipmaps = false;
  texture.minFilter = LinearFilter;
  texture.needsUpdate = true;
  return texture;
}
