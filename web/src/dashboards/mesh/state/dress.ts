import type { Geometry, LoggedLight, LoggedLook } from '../data/geometry';
import { type Lens, type Up, USUAL_FOV } from '../../../charts/space/orbit';
import { upOf } from '../camera/logged';
import type { Dress, Form, Shade } from '../scene/shown';
import type { MeshSettings } from './settings';

/** The values of settings, as far as they decide how a mesh is drawn. */
export type Wishes = {
  readonly [Name in keyof MeshSettings]?: { readonly value: MeshSettings[Name]['value'] };
};

const NO_COLOUR = '#9aa0a8';
const FOVS = { narrowest: 10, widest: 120 };

/** How a mesh is drawn: as the settings say, else as logged, else as suits it. */
export function dressOf(
  wishes: Wishes,
  geometry: Geometry,
  runColour: string,
  isOneOfMany: boolean,
): Dress {
  const material = geometry.about.look.material ?? null;
  const shading = wishes.shading?.value ?? 'auto';
  return {
    form: formOf(wishes.form?.value ?? 'auto', material?.wireframe ?? false),
    shade: shadeOf(wishes.shade?.value ?? 'auto', geometry, runColour, isOneOfMany),
    flat: shading === 'auto' ? (material?.flat_shading ?? false) : shading === 'flat',
    pointSize: wishes.pointSize?.value ?? null,
    material,
  };
}

function formOf(wish: 'auto' | Form, isWireframe: boolean): Form {
  if (wish !== 'auto') return wish;
  return isWireframe ? 'wires' : 'surface';
}

function shadeOf(
  wish: 'auto' | 'logged' | 'height' | 'run' | 'plain',
  { color, face, about }: Geometry,
  runColour: string,
  isOneOfMany: boolean,
): Shade {
  const plain = { plain: about.look.material?.color ?? NO_COLOUR };
  if (wish === 'height') return 'height';
  if (wish === 'run') return { plain: runColour };
  if (wish === 'plain') return plain;
  if (color) return 'logged';
  if (isOneOfMany) return { plain: runColour };
  // The form of a surface is told by light; that of a cloud is not.
  return face === null && !about.look.material?.color ? 'height' : plain;
}

export function lensOf(wishes: Wishes, look: LoggedLook | undefined): Omit<Lens, 'aspect'> {
  const wish = wishes.lens?.value ?? 'auto';
  const fov = wishes.fov?.value ?? look?.camera?.fov ?? USUAL_FOV;
  return {
    fov: Math.min(FOVS.widest, Math.max(FOVS.narrowest, fov)),
    orthographic: wish === 'auto' ? (look?.camera?.orthographic ?? false) : wish === 'orthographic',
  };
}

export function upWanted(wishes: Wishes, look: LoggedLook | undefined): Up {
  const wish = wishes.up?.value ?? 'auto';
  return wish === 'auto' ? upOf(look?.camera) : wish;
}

export function lightsOf(wishes: Wishes, look: LoggedLook | undefined): readonly LoggedLight[] {
  return wishes.lights?.value === 'head' ? [] : (look?.lights ?? []);
}
