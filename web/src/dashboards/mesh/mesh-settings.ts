import { perCardCodec } from '../../cards/grid-settings';
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
import type { UrlState } from '../../plugin/context';
import {
  type GeometryResponse,
  getLoggedUpAxis,
  type LoggedLight,
  type SceneConfig,
} from './mesh-geometry';
import type { Appearance, Coloring, DrawMode } from './scene/scene-types';

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

export type MeshSettings = ReturnType<typeof openMeshSettings>;

/** How meshes are looked at, all of it in the address. `auto` is as logged, or what suits the mesh. */
export function openMeshSettings(address: UrlState) {
  return {
    /** Whether all cards are looked at from one side. */
    shareCamera: address.param('cameras', flag, true),
    /** Null until somebody has turned one. */
    orbit: address.param<Orbit | null>('camera', orbitCodec, null),
    orbits: address.param('own-cameras', orbitsCodec, new Map()),
    up: address.param('up', choice(UP_AXES, 'auto'), 'auto'),
    lens: address.param('lens', choice(PROJECTIONS, 'auto'), 'auto'),
    fov: address.param('fov', optionalNumber, null),
    form: address.param('mesh-draw', choice(DRAW_MODES, 'auto'), 'auto'),
    shading: address.param('mesh-shading', choice(SHADING_MODES, 'auto'), 'auto'),
    shade: address.param('mesh-colour', choice(COLOR_MODES, 'auto'), 'auto'),
    pointSize: address.param('mesh-size', optionalNumber, null),
    lights: address.param('mesh-lights', choice(LIGHT_SOURCES, 'logged'), 'logged'),
    brightness: address.param('mesh-light', number(1), 1),
    axes: address.param('mesh-axes', flag, false),
    grid: address.param('mesh-grid', flag, false),
    /** All runs of a card in one picture. */
    overlay: address.param('mesh-overlay', flag, false),
    /** Which mesh of a batch. */
    item: address.param('mesh-item', number(0), 0),
    /** Every point, however many there are. */
    whole: address.param('mesh-whole', flag, false),
  };
}

type OptionLabels<Words extends readonly string[]> = readonly (readonly [Words[number], string])[];

/** What the choices are called. */
export const DRAW_MODE_LABELS: OptionLabels<typeof DRAW_MODES> = [
  ['auto', 'As logged'],
  ['surface', 'Surface'],
  ['edges', 'Edges'],
  ['wires', 'Wires'],
  ['points', 'Points'],
];
export const COLOR_MODE_LABELS: OptionLabels<typeof COLOR_MODES> = [
  ['auto', 'Automatic'],
  ['logged', 'Logged'],
  ['height', 'By height'],
  ['run', 'Of the run'],
  ['plain', 'Grey'],
];
export const SHADING_LABELS: OptionLabels<typeof SHADING_MODES> = [
  ['auto', 'As logged'],
  ['smooth', 'Smooth'],
  ['flat', 'Flat'],
];
export const UP_AXIS_LABELS: OptionLabels<typeof UP_AXES> = [
  ['auto', 'As logged'],
  ['y', 'y'],
  ['z', 'z'],
];
export const PROJECTION_LABELS: OptionLabels<typeof PROJECTIONS> = [
  ['auto', 'As logged'],
  ['perspective', 'Perspective'],
  ['orthographic', 'Parallel'],
];
export const LIGHT_SOURCE_LABELS: OptionLabels<typeof LIGHT_SOURCES> = [
  ['logged', 'As logged'],
  ['head', 'From the eye'],
];

/** The values of settings, as far as they decide how a mesh is drawn. */
export type Overrides = {
  readonly [Name in keyof MeshSettings]?: { readonly value: MeshSettings[Name]['value'] };
};

const DEFAULT_COLOR = '#9aa0a8';
const FOV_LIMITS_DEG = { narrowest: 10, widest: 120 };

/** How a mesh is drawn: as the settings say, else as logged, else as suits it. */
export function resolveAppearance(
  wishes: Overrides,
  geometry: GeometryResponse,
  runColour: string,
  isOneOfMany: boolean,
): Appearance {
  const material = geometry.about.look.material ?? null;
  const shading = wishes.shading?.value ?? 'auto';
  return {
    drawMode: resolveDrawMode(wishes.form?.value ?? 'auto', material?.wireframe ?? false),
    coloring: resolveColoring(wishes.shade?.value ?? 'auto', geometry, runColour, isOneOfMany),
    flatShading: shading === 'auto' ? (material?.flat_shading ?? false) : shading === 'flat',
    pointSize: wishes.pointSize?.value ?? null,
    material,
  };
}

function resolveDrawMode(wish: 'auto' | DrawMode, isWireframe: boolean): DrawMode {
  if (wish !== 'auto') return wish;
  return isWireframe ? 'wires' : 'surface';
}

function resolveColoring(
  wish: 'auto' | 'logged' | 'height' | 'run' | 'plain',
  { color, face, about }: GeometryResponse,
  runColour: string,
  isOneOfMany: boolean,
): Coloring {
  const plain = { plain: about.look.material?.color ?? DEFAULT_COLOR };
  if (wish === 'height') return 'height';
  if (wish === 'run') return { plain: runColour };
  if (wish === 'plain') return plain;
  if (color) return 'logged';
  if (isOneOfMany) return { plain: runColour };
  // The form of a surface is told by light; that of a cloud is not.
  return face === null && !about.look.material?.color ? 'height' : plain;
}

export function resolveProjection(
  wishes: Overrides,
  look: SceneConfig | undefined,
): Omit<Projection, 'aspect'> {
  const wish = wishes.lens?.value ?? 'auto';
  const fov = wishes.fov?.value ?? look?.camera?.fov ?? DEFAULT_FOV_DEG;
  return {
    fov: Math.min(FOV_LIMITS_DEG.widest, Math.max(FOV_LIMITS_DEG.narrowest, fov)),
    orthographic: wish === 'auto' ? (look?.camera?.orthographic ?? false) : wish === 'orthographic',
  };
}

export function resolveUpAxis(wishes: Overrides, look: SceneConfig | undefined): UpAxis {
  const wish = wishes.up?.value ?? 'auto';
  return wish === 'auto' ? getLoggedUpAxis(look?.camera) : wish;
}

export function resolveLights(
  wishes: Overrides,
  look: SceneConfig | undefined,
): readonly LoggedLight[] {
  return wishes.lights?.value === 'head' ? [] : (look?.lights ?? []);
}
