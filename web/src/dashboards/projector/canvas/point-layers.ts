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

import { createDrawOrder, type PointScene, type SpriteSheet } from './point-scene';

/** Points that move, with a colour, a size and how much is seen of each. */
export const VERTEX_SHADER = /* glsl */ `
in vec3 before;
in vec4 colour;
in float size;
uniform float way;
uniform float pixels;
uniform float spread;
uniform float near;
uniform float far;
out vec4 seen;
out float depth;
flat out int place;

void main() {
  seen = colour;
  place = gl_VertexID;
  vec4 at = modelViewMatrix * vec4(mix(before, position, way), 1.0);
  depth = clamp((-at.z - near) / (far - near), 0.0, 1.0);
  gl_Position = projectionMatrix * at;
  // Those that stand out are in front of the others that are nearby.
  if (colour.a > 0.9) gl_Position.z -= 0.004 * gl_Position.w;
  gl_PointSize = pixels * mix(1.0 - spread, 1.0, size);
  if (colour.a > 0.9) gl_PointSize = max(gl_PointSize, 3.0);
  // One that is hidden, or nowhere, is drawn outside of the picture.
  if (colour.a == 0.0 || !(at.x == at.x)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
`;

/** Discs, or squares where they are too small for anybody to tell. */
export const DISC_SHADER = /* glsl */ `
precision highp float;
uniform vec3 paper;
uniform float fog;
uniform float opacity;
uniform bool isRound;
in vec4 seen;
in float depth;
out vec4 pixel;

void main() {
  if (isRound && length(gl_PointCoord - 0.5) > 0.5) discard;
  // Without letting through, those that stand back are paler than the others.
  float strength = opacity < 1.0 ? 1.0 : min(1.0, 1.3 * seen.a);
  vec3 colour = mix(paper, seen.rgb, strength);
  // Among a million, a few that stand out are found only where the others nearly vanish.
  float share = seen.a > 0.9 ? max(0.75, 2.0 * opacity) : opacity * seen.a * (seen.a < 0.5 ? 0.4 : 1.0);
  float alpha = opacity < 1.0 ? min(1.0, share) : 1.0;
  pixel = vec4(mix(colour, paper, fog * depth), alpha);
}
`;

/** Pictures from a sheet; what is not square keeps its form. */
export const SPRITE_SHADER = /* glsl */ `
precision highp float;
uniform sampler2D sheet;
uniform vec3 paper;
uniform float fog;
uniform float tint;
uniform float columns;
uniform float first;
/** How much of the sheet one picture takes, and how much of the square of a point. */
uniform vec2 cell;
uniform vec2 form;
in vec4 seen;
in float depth;
flat in int place;
out vec4 pixel;

void main() {
  vec2 within = (gl_PointCoord - 0.5) / form + 0.5;
  if (any(lessThan(within, vec2(0.0))) || any(greaterThan(within, vec2(1.0)))) discard;
  float at = float(place) - first;
  vec2 corner = vec2(mod(at, columns), floor(at / columns));
  vec4 drawn = texture(sheet, (corner + within) * cell);
  if (drawn.a < 0.1) discard;
  vec3 colour = mix(drawn.rgb, drawn.rgb * seen.rgb, tint);
  colour = mix(paper, colour, min(1.0, 0.15 + 1.1 * seen.a));
  pixel = vec4(mix(colour, paper, fog * depth), drawn.a);
}
`;

const MIN_ROUND_PX = 3.5;
const MAX_PLACEHOLDER_PX = 5;

/** The arrays of all points on the graphics card, renewed where they are others than before. */
export class PointBuffers {
  readonly #attributes = new Map<string, BufferAttribute>();
  #count = 0;

  /** True where there are another number of points, so that all has to be made anew. */
  update({ positions, attributes }: PointScene): boolean {
    const isNew = positions.count !== this.#count;
    if (isNew) this.#attributes.clear();
    this.#count = positions.count;
    this.#setAttribute('position', positions.current, 3);
    this.#setPrevious(positions.previous);
    this.#setAttribute('colour', attributes.rgba, 4);
    this.#setAttribute('size', attributes.sizes ?? this.#uniformSizes(), 1);
    return isNew;
  }

  attachTo(buffer: BufferGeometry): void {
    for (const [name, attribute] of this.#attributes) buffer.setAttribute(name, attribute);
  }

  /** Points that do not move come from where they are. */
  #setPrevious(before: Float32Array | null): void {
    const now = this.#attributes.get('position');
    if (!before && now) this.#attributes.set('before', now);
    else if (before) {
      if (this.#attributes.get('before') === now) this.#attributes.delete('before');
      this.#setAttribute('before', before, 3);
    }
  }

  #setAttribute(name: string, array: Float32Array | Uint8Array, width: number): void {
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

  #uniformSizes(): Uint8Array {
    if (this.#ones.length !== this.#count) this.#ones = new Uint8Array(this.#count).fill(255);
    return this.#ones;
  }
}

/** Some points that are drawn alike: as discs, or with the pictures of one sheet. */
export class PointLayer {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  readonly count: number;
  readonly sheet: SpriteSheet | null;
  readonly #texture: Texture | null;

  constructor(columns: PointBuffers, first: number, count: number, sheet: SpriteSheet | null) {
    this.count = count;
    this.sheet = sheet;
    this.#texture = sheet ? createTexture(sheet) : null;
    const buffer = new BufferGeometry();
    columns.attachTo(buffer);
    buffer.setIndex(new BufferAttribute(createDrawOrder(first, count), 1));
    this.points = new Points(buffer, createMaterial(sheet, this.#texture));
    // What is outside of the picture is cheaper to draw than to find out about.
    this.points.frustumCulled = false;
  }

  /** `density`: how many pixels there are on one of the page. */
  applyScene(shown: PointScene, density: number, reach: { near: number; far: number }): void {
    const pixels = density * this.#pointSize(shown);
    const { material } = this.points;
    const { uniforms } = material;
    const isPicture = this.#texture !== null;
    const isDense = shown.isTranslucent && !isPicture;
    setUniform(uniforms, 'way', shown.positions.previous ? shown.progress : 1);
    setUniform(uniforms, 'pixels', pixels);
    setUniform(uniforms, 'spread', shown.attributes.sizes ? 0.8 : 0);
    setUniform(uniforms, 'near', reach.near);
    setUniform(uniforms, 'far', reach.far);
    setUniform(uniforms, 'fog', shown.hasFog ? 0.6 : 0);
    (uniforms.paper?.value as Color).set(shown.background);
    if (!isPicture) {
      setUniform(uniforms, 'isRound', pixels >= MIN_ROUND_PX);
      setUniform(uniforms, 'opacity', isDense ? opacityFor(this.count, pixels, shown) : 1);
    }
    material.transparent = isDense;
    material.depthTest = !isDense;
    material.depthWrite = !isDense;
  }

  /** Discs that stand in for pictures to come are not as large as these. */
  #pointSize({ pointSize, spriteSheets }: PointScene): number {
    const isRest = spriteSheets.length > 0 && !this.sheet;
    return isRest ? Math.min(MAX_PLACEHOLDER_PX, pointSize) : pointSize;
  }

  /** Draws only the points between two shares of all. */
  setDrawRange(from: number, to: number): void {
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

function setUniform(uniforms: Uniforms, name: string, value: number | boolean): void {
  const uniform = uniforms[name];
  if (uniform) uniform.value = value;
}

/** So that a picture full of points is neither empty nor one blot. */
function opacityFor(count: number, pixels: number, { width, height }: PointScene): number {
  const layers = (count * pixels * pixels) / Math.max(1, 0.25 * width * height);
  return Math.max(0.06, Math.min(0.85, 1.6 / Math.max(1, layers)));
}

function createMaterial(sheet: SpriteSheet | null, texture: Texture | null): ShaderMaterial {
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
    vertexShader: VERTEX_SHADER,
    fragmentShader: sheet ? SPRITE_SHADER : DISC_SHADER,
    uniforms,
    blending: NormalBlending,
  });
}

function sheetUniforms(sheet: SpriteSheet, texture: Texture): Uniforms {
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

function createTexture(sheet: SpriteSheet): Texture {
  const texture = new Texture(sheet.image as HTMLImageElement);
  // Pictures are counted from the top.
  texture.flipY = false;
  texture.generateMipmaps = false;
  texture.minFilter = LinearFilter;
  texture.needsUpdate = true;
  return texture;
}
