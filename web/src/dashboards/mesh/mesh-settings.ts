import { perCardCodec } from '../../cards/card-grid.svelte';
import {
  DEFAULT_FOV_DEG,
  formatOrbit,
  type Orbit,
  orbitCodec,
  parseOrbit,
  type Projection,
  type UpAxis,
} from '../../charts/webgl/orbit-camera';
import type { GeometryResponse, Light, SceneConfig } from '../../api/schemas';
import { choice, flag, number, optionalNumber } from '../../lib/codecs';
import type { UrlState } from '../../plugin/context';
import { type Appearance, type Coloring, type DrawMode, getLoggedUpAxis } from './mesh-geometry';
import * as common from '../../catalog/common';
import * as m from '../../catalog/mesh';

export const DRAW_MODES = ['auto', 'surface', 'edges', 'wires', 'points'] as const;
export const COLOR_MODES = ['auto', 'logged', 'height', 'run', 'plain'] as const;
export const SHADING_MODES = ['auto', 'smooth', 'flat'] as const;
export const UP_AXES = ['auto', 'y', 'z'] as const;
export const LIGHT_SOURCES = ['logged', 'head'] as const;
export const PROJECTIONS = ['auto', 'perspective', 'orthographic'] as const;

const ORBIT_FIELDS = 6;

const orbitsCodec = perCardCodec<Orbit>(ORBIT_FIELDS, parseOrbit, (orbit) => {
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
