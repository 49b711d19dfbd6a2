/** Draws points with WebGL: discs, or images of sprite sheets, on the way to new positions. */
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  ColorManagement,
  GLSL3,
  LinearFilter,
  LinearSRGBColorSpace,
  NormalBlending,
  OrthographicCamera,
  PerspectiveCamera,
  Points,
  Scene,
  ShaderMaterial,
  Texture,
  Vector2,
  WebGLRenderer,
} from 'three';

import {
  getEyeDistance,
  getEyePosition,
  getHeightAtTarget,
  getUpVector,
} from '../webgl/orbit-camera';
import { detectSoftwareRendering, RenderBudget } from '../webgl/render-budget';
import {
  createDrawOrder,
  type PointRenderer,
  type PointScene,
  type SpriteSheet,
} from './point-scene';

/** Device pixels per CSS pixel; more make no visible difference. */
const MAX_PIXEL_RATIO = 2;
/** A longer time between two frames means that the GPU is busy, or, if it is very long, idle. */
const SLOW_FRAME_MS = 34;
const IDLE_FRAME_MS = 1000;
const UP = 'y';
/** Uploading more points to the GPU takes noticeable time. */
const LARGE_UPLOAD_POINTS = 100_000;

/** Return null without WebGL 2. `ondrawn` is called with the fraction of points that is drawn. */
export function createPointRenderer(
  canvas: HTMLCanvasElement,
  ondrawn: (fraction: number) => void,
): PointRenderer | null {
  const isSoftware = detectSoftwareRendering();
  if (isSoftware === null) return null;
  const context = canvas.getContext('webgl2', {
    antialias: !isSoftware,
    // Many points are drawn in several frames.
    preserveDrawingBuffer: true,
    powerPreference: 'high-performance',
  });
  return context ? new WebGlPointRenderer(canvas, context, isSoftware, ondrawn) : null;
}

/** Draws as many points as fit into a frame, and the rest in the next frames if nothing moves. */
class WebGlPointRenderer implements PointRenderer {
  readonly isSoftware: boolean;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: WebGL2RenderingContext;
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #perspective = new PerspectiveCamera();
  readonly #orthographic = new OrthographicCamera();
  readonly #frameBudget: RenderBudget;
  readonly #buffers = new PointBuffers();
  readonly #ondrawn: (fraction: number) => void;
  readonly #abortController = new AbortController();
  #layers: readonly PointLayer[] = [];
  #spriteSheets: PointScene['spriteSheets'] = [];
  #pointScene: PointScene | null = null;
  #isStale = false;
  /** Frames before many new points are drawn: one to create the order, one to upload. */
  #framesToSkip = 0;
  #drawnFraction = 0;
  #frame = 0;
  #last = { at: 0, elements: 0 };

  constructor(
    canvas: HTMLCanvasElement,
    context: WebGL2RenderingContext,
    isSoftware: boolean,
    ondrawn: (fraction: number) => void,
  ) {
    this.#canvas = canvas;
    this.#context = context;
    this.isSoftware = isSoftware;
    this.#ondrawn = ondrawn;
    this.#frameBudget = new RenderBudget(isSoftware);
    ColorManagement.enabled = false;
    this.#renderer = new WebGLRenderer({ canvas, context });
    this.#renderer.outputColorSpace = LinearSRGBColorSpace;
    this.#renderer.autoClear = false;
    // Points are not sorted by depth.
    this.#renderer.sortObjects = false;
    const { signal } = this.#abortController;
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault(), { signal });
    canvas.addEventListener('webglcontextrestored', () => this.#redraw(), { signal });
  }

  render(scene: PointScene): void {
    this.#pointScene = scene;
    this.#redraw();
  }

  async capture(): Promise<HTMLCanvasElement> {
    while (this.#isStale || this.#drawnFraction < 1) await new Promise(requestAnimationFrame);
    return this.#canvas;
  }

  dispose(): void {
    this.#abortController.abort();
    cancelAnimationFrame(this.#frame);
    this.#disposeLayers();
    this.#renderer.dispose();
  }

  #redraw(): void {
    this.#isStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame((now) => this.#drawFrame(now));
  }

  #drawFrame(now: number): void {
    this.#frame = 0;
    const scene = this.#pointScene;
    if (!scene || scene.width === 0 || scene.height === 0) return;
    this.#measureFrame(now);
    const startedAt = performance.now();
    const elements = this.#draw(scene);
    if (this.isSoftware) this.#frameBudget.recordCost(elements, performance.now() - startedAt);
    this.#last = { at: now, elements };
    this.#ondrawn(this.#drawnFraction);
    if (this.#drawnFraction < 1 && (!scene.isMoving || this.#drawnFraction === 0)) this.#schedule();
  }

  /** Return the number of points drawn. */
  #draw(scene: PointScene): number {
    if (this.#isStale) this.#prepare(scene);
    const total = Math.max(1, scene.positions.count);
    const from = this.#drawnFraction;
    const isSkipped = this.#framesToSkip > 0;
    // The first frame compiles the shaders as well.
    const timeFraction = this.#last.elements === 0 ? 0 : 1;
    const isUrgent = scene.isMoving || from === 0;
    const limit = isSkipped ? 0 : this.#frameBudget.maxElements(isUrgent, timeFraction);
    if (isSkipped && --this.#framesToSkip > 0) return 0;
    this.#drawnFraction = Math.min(1, from + limit / total);
    for (const layer of this.#layers) layer.setDrawRange(from, this.#drawnFraction);
    this.#renderer.render(this.#scene, this.#placeCamera(scene));
    // Software rendering blocks the page: measure its duration.
    if (this.isSoftware) this.#waitForGpu();
    return Math.round((this.#drawnFraction - from) * total);
  }

  /** Reading a pixel waits until everything is drawn. */
  #waitForGpu(): void {
    const { RGBA, UNSIGNED_BYTE } = this.#context;
    this.#context.readPixels(0, 0, 1, 1, RGBA, UNSIGNED_BYTE, new Uint8Array(4));
  }

  #prepare(scene: PointScene): void {
    this.#isStale = false;
    this.#drawnFraction = 0;
    this.#resize(scene);
    const isNew = this.#buffers.update(scene);
    if (isNew) this.#framesToSkip = scene.positions.count > LARGE_UPLOAD_POINTS ? 2 : 0;
    if (isNew) this.#disposeLayers();
    if (isNew || scene.spriteSheets !== this.#spriteSheets) this.#updateLayers(scene);
    for (const { points } of this.#layers) this.#buffers.attachTo(points.geometry);
    const distance = getEyeDistance(scene.orbit, scene.projection);
    const depthRange = { near: distance - 1, far: distance + 1.4 };
    for (const layer of this.#layers) layer.applyScene(scene, this.#pixelRatio, depthRange);
    this.#renderer.setClearColor(scene.background);
    this.#renderer.clear();
  }

  /** One layer per sheet, and one of discs for the points without an image. */
  #updateLayers({ positions, spriteSheets }: PointScene): void {
    this.#spriteSheets = spriteSheets;
    const existing = new Map(this.#layers.map((layer) => [layer.sheet, layer]));
    const imageCount = spriteSheets.reduce(
      (end, { first, count }) => Math.max(end, first + count),
      0,
    );
    this.#layers = spriteSheets.map((sheet) => existing.get(sheet) ?? this.#makeLayer(sheet));
    if (imageCount < positions.count) {
      const rest = positions.count - imageCount;
      this.#layers = [...this.#layers, new PointLayer(this.#buffers, imageCount, rest, null)];
    }
    for (const layer of existing.values()) if (!this.#layers.includes(layer)) layer.dispose();
    this.#scene.clear();
    for (const { points } of this.#layers) this.#scene.add(points);
  }

  #makeLayer(sheet: SpriteSheet): PointLayer {
    return new PointLayer(this.#buffers, sheet.first, sheet.count, sheet);
  }

  #disposeLayers(): void {
    for (const layer of this.#layers) layer.dispose();
    this.#layers = [];
  }

  get #pixelRatio(): number {
    return this.isSoftware ? 1 : Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
  }

  #resize({ width, height }: PointScene): void {
    const widthPx = Math.round(width * this.#pixelRatio);
    const heightPx = Math.round(height * this.#pixelRatio);
    if (this.#canvas.width === widthPx && this.#canvas.height === heightPx) return;
    this.#renderer.setSize(widthPx, heightPx, false);
  }

  #placeCamera({ orbit, projection }: PointScene): PerspectiveCamera | OrthographicCamera {
    const camera = projection.orthographic ? this.#orthographic : this.#perspective;
    const distance = getEyeDistance(orbit, projection);
    camera.near = projection.orthographic ? -50 : Math.max(0.002, distance * 0.02);
    camera.far = distance + 50;
    if (camera instanceof OrthographicCamera) {
      const half = getHeightAtTarget(orbit, projection) / 2;
      [camera.top, camera.bottom] = [half, -half];
      [camera.right, camera.left] = [half * projection.aspect, -half * projection.aspect];
    } else {
      camera.fov = projection.fov;
      camera.aspect = projection.aspect;
    }
    camera.up.set(...getUpVector(UP));
    camera.position.set(...getEyePosition(orbit, projection, UP));
    camera.lookAt(...orbit.target);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    return camera;
  }

  /** The GPU works in parallel: it is too slow if frames are late. */
  #measureFrame(now: number): void {
    const elapsedMs = now - this.#last.at;
    if (this.isSoftware || elapsedMs < SLOW_FRAME_MS || elapsedMs > IDLE_FRAME_MS) return;
    this.#frameBudget.recordCost(this.#last.elements, elapsedMs);
  }
}

/** Points between their previous and their new positions, with color, size and opacity. */
const VERTEX_SHADER = /* glsl */ `
in vec3 previous;
in vec4 rgba;
in float size;
uniform float progress;
uniform float pixels;
/** The smallest point is smaller than the largest by this fraction. */
uniform float sizeRange;
uniform float near;
uniform float far;
out vec4 color;
out float depth;
flat out int row;

void main() {
  color = rgba;
  row = gl_VertexID;
  vec4 view = modelViewMatrix * vec4(mix(previous, position, progress), 1.0);
  depth = clamp((-view.z - near) / (far - near), 0.0, 1.0);
  gl_Position = projectionMatrix * view;
  bool isHighlighted = rgba.a > 0.9;
  // Highlighted points are in front of others nearby.
  if (isHighlighted) gl_Position.z -= 0.004 * gl_Position.w;
  gl_PointSize = pixels * mix(1.0 - sizeRange, 1.0, size);
  if (isHighlighted) gl_PointSize = max(gl_PointSize, 3.0);
  // Points that are hidden or have no position (NaN) are outside of the clip space.
  if (rgba.a == 0.0 || !(view.x == view.x)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
`;

/** Discs, or squares if they are too small to tell the difference. */
const DISC_SHADER = /* glsl */ `
precision highp float;
uniform vec3 background;
uniform float fog;
uniform float opacity;
uniform bool isRound;
in vec4 color;
in float depth;
out vec4 pixel;

void main() {
  if (isRound && length(gl_PointCoord - 0.5) > 0.5) discard;
  // Opaque points that are dimmed are paler instead of transparent.
  float strength = opacity < 1.0 ? 1.0 : min(1.0, 1.3 * color.a);
  vec3 mixed = mix(background, color.rgb, strength);
  // Among a million points, a few highlighted ones are found only if the others nearly vanish.
  bool isHighlighted = color.a > 0.9;
  float dimming = color.a < 0.5 ? 0.4 : 1.0;
  float blended = isHighlighted ? max(0.75, 2.0 * opacity) : opacity * color.a * dimming;
  float alpha = opacity < 1.0 ? min(1.0, blended) : 1.0;
  pixel = vec4(mix(mixed, background, fog * depth), alpha);
}
`;

/** Images from a sheet, with their aspect ratio. */
const SPRITE_SHADER = /* glsl */ `
precision highp float;
uniform sampler2D sheet;
uniform vec3 background;
uniform float fog;
uniform float columns;
uniform float firstRow;
/** Size of an image relative to the sheet, and to the square of a point. */
uniform vec2 cellSize;
uniform vec2 aspect;
/** Width of the frame, relative to the square of a point. */
uniform float frame;
in vec4 color;
in float depth;
flat in int row;
out vec4 pixel;

void main() {
  vec2 inside = (gl_PointCoord - 0.5) / aspect + 0.5;
  if (any(lessThan(inside, vec2(0.0))) || any(greaterThan(inside, vec2(1.0)))) discard;
  float strength = min(1.0, 0.15 + 1.1 * color.a);
  vec2 border = vec2(frame) / aspect;
  if (any(lessThan(inside, border)) || any(greaterThan(inside, 1.0 - border))) {
    pixel = vec4(mix(background, color.rgb, strength), 1.0);
    return;
  }
  float index = float(row) - firstRow;
  vec2 cell = vec2(mod(index, columns), floor(index / columns));
  vec4 texel = texture(sheet, (cell + inside) * cellSize);
  if (texel.a < 0.1) discard;
  vec3 mixed = mix(background, texel.rgb, strength);
  pixel = vec4(mix(mixed, background, fog * depth), texel.a);
}
`;

/** Smaller discs are drawn as squares. */
const MIN_ROUND_PX = 3.5;
/** Size of the discs in place of images that are not loaded yet. */
const MAX_PLACEHOLDER_PX = 5;

/** The vertex attributes of all points; only changed arrays are uploaded again. */
class PointBuffers {
  readonly #attributes = new Map<string, BufferAttribute>();
  #count = 0;

  /** Return whether the number of points has changed, so that layers must be created again. */
  update({ positions, attributes }: PointScene): boolean {
    const isNew = positions.count !== this.#count;
    if (isNew) this.#attributes.clear();
    this.#count = positions.count;
    this.#setAttribute('position', positions.current, 3);
    this.#setPrevious(positions.previous);
    this.#setAttribute('rgba', attributes.rgba, 4);
    this.#setAttribute('size', attributes.sizes ?? this.#uniformSizes(), 1);
    return isNew;
  }

  attachTo(geometry: BufferGeometry): void {
    for (const [name, attribute] of this.#attributes) geometry.setAttribute(name, attribute);
  }

  /** Without a transition, both positions share one buffer. */
  #setPrevious(previous: Float32Array | null): void {
    const current = this.#attributes.get('position');
    if (!previous && current) this.#attributes.set('previous', current);
    else if (previous) {
      if (this.#attributes.get('previous') === current) this.#attributes.delete('previous');
      this.#setAttribute('previous', previous, 3);
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

/** Points that are drawn as discs, or with the images of one sheet. */
class PointLayer {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  readonly count: number;
  readonly sheet: SpriteSheet | null;
  readonly #texture: Texture | null;

  constructor(buffers: PointBuffers, first: number, count: number, sheet: SpriteSheet | null) {
    this.count = count;
    this.sheet = sheet;
    this.#texture = sheet ? createTexture(sheet) : null;
    const geometry = new BufferGeometry();
    buffers.attachTo(geometry);
    geometry.setIndex(new BufferAttribute(createDrawOrder(first, count), 1));
    this.points = new Points(geometry, createMaterial(sheet, this.#texture));
    // Computing the bounds takes longer than drawing points outside of the canvas.
    this.points.frustumCulled = false;
  }

  applyScene(
    scene: PointScene,
    pixelRatio: number,
    depthRange: { readonly near: number; readonly far: number },
  ): void {
    const pixels = pixelRatio * this.#getPointSize(scene);
    const { material } = this.points;
    const { uniforms } = material;
    const isSprite = this.#texture !== null;
    const isBlended = scene.isTranslucent && !isSprite;
    setUniform(uniforms, 'progress', scene.positions.previous ? scene.progress : 1);
    setUniform(uniforms, 'pixels', pixels);
    setUniform(uniforms, 'sizeRange', scene.attributes.sizes ? 0.8 : 0);
    setUniform(uniforms, 'near', depthRange.near);
    setUniform(uniforms, 'far', depthRange.far);
    setUniform(uniforms, 'fog', scene.hasFog ? 0.6 : 0);
    (uniforms.background?.value as Color).set(scene.background);
    if (isSprite) setUniform(uniforms, 'frame', (scene.spriteFrame ?? 0) / scene.pointSize);
    else {
      setUniform(uniforms, 'isRound', pixels >= MIN_ROUND_PX);
      setUniform(uniforms, 'opacity', isBlended ? getOpacity(this.count, pixels, scene) : 1);
    }
    material.transparent = isBlended;
    material.depthTest = !isBlended;
    material.depthWrite = !isBlended;
  }

  #getPointSize({ pointSize, spriteSheets }: PointScene): number {
    const isPlaceholder = spriteSheets.length > 0 && !this.sheet;
    return isPlaceholder ? Math.min(MAX_PLACEHOLDER_PX, pointSize) : pointSize;
  }

  /** Draw only the points between two fractions of the draw order. */
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

/** Return the opacity with which dense regions neither vanish nor become one area. */
function getOpacity(count: number, pixels: number, { width, height }: PointScene): number {
  const layers = (count * pixels * pixels) / Math.max(1, 0.25 * width * height);
  return Math.max(0.06, Math.min(0.85, 1.6 / Math.max(1, layers)));
}

function createMaterial(sheet: SpriteSheet | null, texture: Texture | null): ShaderMaterial {
  const uniforms: Uniforms = Object.fromEntries(
    ['progress', 'pixels', 'sizeRange', 'near', 'far', 'fog', 'opacity', 'isRound'].map((name) => [
      name,
      { value: 1 },
    ]),
  );
  uniforms.background = { value: new Color() };
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
  const longerSide = Math.max(cellWidth, cellHeight);
  return {
    sheet: { value: texture },
    columns: { value: columns },
    firstRow: { value: first },
    cellSize: { value: new Vector2(cellWidth / image.width, cellHeight / image.height) },
    aspect: { value: new Vector2(cellWidth / longerSide, cellHeight / longerSide) },
    frame: { value: 0 },
  };
}

function createTexture(sheet: SpriteSheet): Texture {
  const texture = new Texture(sheet.image);
  // Images are counted from the top.
  texture.flipY = false;
  texture.generateMipmaps = false;
  texture.minFilter = LinearFilter;
  texture.needsUpdate = true;
  return texture;
}
