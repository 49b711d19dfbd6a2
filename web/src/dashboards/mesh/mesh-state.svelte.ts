/** State of the Mesh dashboard, and which tags belong to one mesh. */
import { createContext, untrack } from 'svelte';

import type { GeometryResponse, Light, SceneConfig, StampRow, TagRow } from '../../api/schemas';
import {
  type PerCard,
  makePerCardCodec,
  TagGridState,
  withCardValue,
} from '../../cards/card-grid.svelte';
import {
  type SortedSteps,
  StepSelection,
  StepsQuery,
} from '../../cards/steps/step-selection.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/mesh';
import {
  DEFAULT_FOV_DEG,
  formatOrbit,
  type Orbit,
  orbitCodec,
  parseOrbit,
  type Projection,
  type UpAxis,
} from '../../charts/webgl/orbit-camera';
import { choice, flag, number, optionalNumber } from '../../lib/codecs';
import type { Context, Shortcut, UrlState, VisibleRun } from '../../plugin/context';
import {
  type Appearance,
  type Coloring,
  type DrawMode,
  getLoggedUpAxis,
  type RendererPool,
} from './mesh-geometry';

const MESH_TAG = /^(?<name>.*)_(?<part>VERTEX|FACE|COLOR)(?<number>_\d+)?$/s;

/** Return the mesh that a series belongs to; `tracklight/analysis/meshes.py` has the same logic. */
export function getMeshName(tag: string): string {
  const found = MESH_TAG.exec(tag)?.groups;
  return found ? (found.name ?? '') + (found.number ?? '') : tag;
}

/** Return one row per mesh. A mesh is logged as up to three series. */
export function mergeMeshTags(rows: readonly TagRow[]): readonly TagRow[] {
  const merged = new Map<string, TagRow>();
  for (const row of rows) {
    const tag = getMeshName(row.tag);
    const previous = merged.get(tag);
    const display_name = getDisplayName(row, tag);
    merged.set(tag, previous ? mergeTagRows(previous, row) : { ...row, tag, display_name });
  }
  return [...merged.values()];
}

/** Writers use the tag as display name if the user gave none. */
function getDisplayName({ display_name, tag }: TagRow, name: string): string {
  return display_name === tag || display_name === name ? '' : display_name;
}

function mergeTagRows(one: TagRow, other: TagRow): TagRow {
  return {
    ...one,
    runs: Math.max(one.runs, other.runs),
    count: Math.max(one.count, other.count),
    overwritten: Math.max(one.overwritten, other.overwritten),
    first: chooseStamp(one.first, other.first, (a, b) => a <= b),
    last: chooseStamp(one.last, other.last, (a, b) => a >= b),
    description: one.description || other.description,
  };
}

function chooseStamp(
  one: StampRow | null,
  other: StampRow | null,
  isBetter: (one: number, other: number) => boolean,
): StampRow | null {
  if (!one || !other) return one ?? other;
  return isBetter(one.step, other.step) ? one : other;
}

const NO_ORBITS: PerCard<Orbit> = new Map();
/** The camera stopped if it has not moved for this long. */
const ORBIT_SETTLE_MS = 160;

/** A series of meshes with the run that logged it. */
export interface RunMeshes {
  readonly run: VisibleRun;
  readonly steps: SortedSteps;
}

/** The state that the components of the dashboard share. */
export class MeshState {
  readonly context: Context;
  readonly cardGrid: TagGridState;
  readonly settings: MeshSettings;
  readonly stepSelection: StepSelection;
  readonly stepLoader: StepsQuery;
  /** A static export has neither files nor more than the first points of a mesh. */
  readonly hasAllPoints: boolean;
  /** Undefined while its code is loading; null if the browser has no WebGL 2. */
  rendererPool = $state.raw<RendererPool | null | undefined>(undefined);
  /** The camera that is moving; the URL is updated when it stops. */
  #movingOrbit = $state.raw<{ readonly card: string; readonly orbit: Orbit } | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pendingCount = $state(0);

  constructor(context: Context) {
    this.context = context;
    this.cardGrid = new TagGridState(context, {
      name: 'mesh',
      title: m.title,
      emptyTitle: m.emptyTitle,
      emptyHint: m.emptyHint,
      plugins: ['mesh'],
      defaultWidth: 420,
      mergeRows: mergeMeshTags,
    });
    this.settings = createMeshSettings(context.url);
    this.stepSelection = new StepSelection(context.url);
    this.stepLoader = new StepsQuery(this.cardGrid);
    this.hasAllPoints = context.supports('GET mesh/file');
  }

  /** Call it where effects can be created. */
  startEffects(): void {
    this.cardGrid.startEffects();
    this.#openRenderer().catch((error: unknown) => this.context.reportError(error));
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** False while meshes are loading; playback waits. */
  get isReady(): boolean {
    return this.#pendingCount === 0;
  }

  /** Playback waits until the returned function is called. */
  beginLoading(): () => void {
    untrack(() => this.#pendingCount++);
    return () => untrack(() => this.#pendingCount--);
  }

  withRuns(series: readonly SortedSteps[]): readonly RunMeshes[] {
    return series.flatMap((steps) => {
      const run = this.context.runs.find(steps.run);
      return run ? [{ run, steps }] : [];
    });
  }

  /** Return the camera of a card; null until the user moves it. */
  findOrbit(card: string): Orbit | null {
    const { shareCamera, orbit, orbits } = this.settings;
    if (this.isOrbiting(card)) return this.#movingOrbit?.orbit ?? null;
    return shareCamera.value ? orbit.value : (orbits.value.get(card) ?? null);
  }

  isOrbiting(card: string): boolean {
    const moving = this.#movingOrbit;
    return moving !== null && (this.settings.shareCamera.value || moving.card === card);
  }

  setOrbit(card: string, orbit: Orbit): void {
    this.#movingOrbit = { card, orbit };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stopMoving(), ORBIT_SETTLE_MS);
  }

  /** Reset the camera of a card, or that of all cards if they share one. */
  resetOrbit(card: string): void {
    clearTimeout(this.#timer);
    this.#movingOrbit = null;
    this.#saveOrbit(card, null);
  }

  resetOrbits(): void {
    this.settings.orbit.set(null);
    this.settings.orbits.set(NO_ORBITS);
  }

  /** Share one camera, starting with that of `card`, or give each card its own. */
  setShareCamera(isShared: boolean, card: string | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    const own = card === null ? null : this.findOrbit(card);
    shareCamera.set(isShared);
    if (isShared) {
      orbit.set(own ?? orbit.value);
      orbits.set(NO_ORBITS);
    }
  }

  #stopMoving(): void {
    const moving = this.#movingOrbit;
    this.#movingOrbit = null;
    if (moving) this.#saveOrbit(moving.card, moving.orbit);
  }

  #saveOrbit(card: string, saved: Orbit | null): void {
    const { shareCamera, orbit, orbits } = this.settings;
    if (shareCamera.value) orbit.set(saved);
    else orbits.set(withCardValue(orbits.value, card, saved));
  }

  async #openRenderer(): Promise<void> {
    const { openRendererPool } = await import('./renderer-pool');
    this.rendererPool = openRendererPool();
  }
}

export const [getMeshState, setMeshState] = createContext<MeshState>();

/** Register the keyboard shortcuts of the dashboard; return a function that removes them. */
export function registerMeshShortcuts(mesh: MeshState): () => void {
  const { settings, cardGrid, stepSelection } = mesh;
  const { drawMode, axes, grid, overlay, shareCamera } = settings;
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    {
      keys: 'w',
      label: m.shortcutDrawMode,
      run() {
        const next = (DRAW_MODES.indexOf(drawMode.value) + 1) % DRAW_MODES.length;
        drawMode.set(DRAW_MODES[next] ?? 'auto');
      },
    },
    { keys: 'a', label: common.axes, run: () => axes.set(!axes.value) },
    { keys: 'g', label: m.grid, run: () => grid.set(!grid.value) },
    { keys: 'o', label: m.overlayRuns, run: () => overlay.set(!overlay.value) },
    {
      keys: 'c',
      label: m.cameraSync,
      run: () => mesh.setShareCamera(!shareCamera.value, cardGrid.activeCardId),
    },
    {
      keys: 'l',
      label: common.syncSteps,
      run: () => stepSelection.setLinked(!stepSelection.linked.value),
    },
  ];
  const stops = shortcuts.map((shortcut) =>
    cardGrid.context.shortcuts.register({ ...shortcut, group: cardGrid.info.title }),
  );
  return () => stops.forEach((stop) => stop());
}

export const DRAW_MODES = ['auto', 'surface', 'edges', 'wires', 'points'] as const;
export const COLOR_MODES = ['auto', 'logged', 'height', 'run', 'plain'] as const;
export const SHADING_MODES = ['auto', 'smooth', 'flat'] as const;
export const UP_AXES = ['auto', 'y', 'z'] as const;
export const LIGHT_SOURCES = ['logged', 'head'] as const;
export const PROJECTIONS = ['auto', 'perspective', 'orthographic'] as const;

const ORBIT_FIELDS = 6;

const orbitsCodec = makePerCardCodec<Orbit>(ORBIT_FIELDS, parseOrbit, (orbit) => {
  const texts = formatOrbit(orbit);
  return [...texts, ...Array<string>(ORBIT_FIELDS - texts.length).fill('')];
});

export type MeshSettings = ReturnType<typeof createMeshSettings>;

/** Settings of the dashboard, in the URL. `auto` uses what was logged, or a default for the mesh. */
export function createMeshSettings(url: UrlState) {
  return {
    /** One camera for all cards. */
    shareCamera: url.param('sync-cameras', flag, true),
    /** The shared camera; null until the user moves it. */
    orbit: url.param<Orbit | null>('camera', orbitCodec, null),
    /** Cameras by card if they are not shared. */
    orbits: url.param('card-cameras', orbitsCodec, new Map()),
    up: url.param('up', choice(UP_AXES, 'auto'), 'auto'),
    projection: url.param('projection', choice(PROJECTIONS, 'auto'), 'auto'),
    fov: url.param('fov', optionalNumber, null),
    drawMode: url.param('mesh-draw', choice(DRAW_MODES, 'auto'), 'auto'),
    shading: url.param('mesh-shading', choice(SHADING_MODES, 'auto'), 'auto'),
    coloring: url.param('mesh-color', choice(COLOR_MODES, 'auto'), 'auto'),
    pointSize: url.param('mesh-size', optionalNumber, null),
    lights: url.param('mesh-lights', choice(LIGHT_SOURCES, 'logged'), 'logged'),
    brightness: url.param('mesh-brightness', number(1), 1),
    axes: url.param('mesh-axes', flag, false),
    grid: url.param('mesh-grid', flag, false),
    /** All runs of a card in one view. */
    overlay: url.param('mesh-overlay', flag, false),
    /** Index in the batch. */
    item: url.param('mesh-item', number(0), 0),
    /** Show point clouds without sampling. */
    allPoints: url.param('mesh-all-points', flag, false),
  };
}

type Options<Values extends readonly string[]> = readonly {
  readonly value: Values[number];
  readonly label: string;
}[];

export const DRAW_MODE_OPTIONS: Options<typeof DRAW_MODES> = [
  { value: 'auto', label: m.optionAsLogged },
  { value: 'surface', label: m.drawModeSurface },
  { value: 'edges', label: m.drawModeSurfaceWithEdges },
  { value: 'wires', label: m.drawModeWireframe },
  { value: 'points', label: m.drawModePoints },
];
export const COLORING_OPTIONS: Options<typeof COLOR_MODES> = [
  { value: 'auto', label: common.automatic },
  { value: 'logged', label: m.coloringLogged },
  { value: 'height', label: m.coloringHeight },
  { value: 'run', label: m.coloringRun },
  { value: 'plain', label: m.coloringGray },
];
export const SHADING_OPTIONS: Options<typeof SHADING_MODES> = [
  { value: 'auto', label: m.optionAsLogged },
  { value: 'smooth', label: m.shadingSmooth },
  { value: 'flat', label: m.shadingFlat },
];
export const UP_AXIS_OPTIONS: Options<typeof UP_AXES> = [
  { value: 'auto', label: m.optionAsLogged },
  { value: 'y', label: m.upY },
  { value: 'z', label: m.upZ },
];
export const PROJECTION_OPTIONS: Options<typeof PROJECTIONS> = [
  { value: 'auto', label: m.optionAsLogged },
  { value: 'perspective', label: m.projectionPerspective },
  { value: 'orthographic', label: m.projectionOrthographic },
];
export const LIGHT_SOURCE_OPTIONS: Options<typeof LIGHT_SOURCES> = [
  { value: 'logged', label: m.optionAsLogged },
  { value: 'head', label: m.lightHeadlight },
];

/** The settings that override what was logged. */
export type Overrides = {
  readonly [Name in keyof MeshSettings]?: { readonly value: MeshSettings[Name]['value'] };
};

const DEFAULT_COLOR = '#9aa0a8';
export const FOV_LIMITS_DEG = { min: 10, max: 120 };

/** Return how a mesh is drawn: by the settings, else as logged, else by default. */
export function resolveAppearance(
  overrides: Overrides,
  geometry: GeometryResponse,
  runColor: string,
  hasOtherRuns: boolean,
): Appearance {
  const material = geometry.info.scene.material ?? null;
  const shading = overrides.shading?.value ?? 'auto';
  return {
    drawMode: resolveDrawMode(overrides.drawMode?.value ?? 'auto', material?.wireframe ?? false),
    coloring: resolveColoring(
      overrides.coloring?.value ?? 'auto',
      geometry,
      runColor,
      hasOtherRuns,
    ),
    flatShading: shading === 'auto' ? (material?.flat_shading ?? false) : shading === 'flat',
    pointSize: overrides.pointSize?.value ?? null,
    material,
  };
}

function resolveDrawMode(mode: 'auto' | DrawMode, isWireframe: boolean): DrawMode {
  if (mode !== 'auto') return mode;
  return isWireframe ? 'wires' : 'surface';
}

function resolveColoring(
  mode: (typeof COLOR_MODES)[number],
  { color, face, info }: GeometryResponse,
  runColor: string,
  hasOtherRuns: boolean,
): Coloring {
  const plain = { plain: info.scene.material?.color ?? DEFAULT_COLOR };
  if (mode === 'height') return 'height';
  if (mode === 'run') return { plain: runColor };
  if (mode === 'plain') return plain;
  if (color) return 'logged';
  if (hasOtherRuns) return { plain: runColor };
  // Lighting shows the shape of a surface, but not that of a point cloud.
  return face === null && !info.scene.material?.color ? 'height' : plain;
}

export function resolveProjection(
  overrides: Overrides,
  look: SceneConfig | undefined,
): Omit<Projection, 'aspect'> {
  const mode = overrides.projection?.value ?? 'auto';
  const fov = overrides.fov?.value ?? look?.camera?.fov ?? DEFAULT_FOV_DEG;
  return {
    fov: Math.min(FOV_LIMITS_DEG.max, Math.max(FOV_LIMITS_DEG.min, fov)),
    orthographic: mode === 'auto' ? (look?.camera?.orthographic ?? false) : mode === 'orthographic',
  };
}

export function resolveUpAxis(overrides: Overrides, look: SceneConfig | undefined): UpAxis {
  const axis = overrides.up?.value ?? 'auto';
  return axis === 'auto' ? getLoggedUpAxis(look?.camera) : axis;
}

export function resolveLights(
  overrides: Overrides,
  look: SceneConfig | undefined,
): readonly Light[] {
  return overrides.lights?.value === 'head' ? [] : (look?.lights ?? []);
}
