import { choice, flag, number, optionalNumber } from '../../../base/codec';
import type { Address } from '../../../plugin/context';
import { byCard } from '../../../wall/by-card';
import { type Orbit, orbitCodec, readOrbit, writeOrbit } from '../../../charts/space/orbit';

export const FORMS = ['auto', 'surface', 'edges', 'wires', 'points'] as const;
export const SHADES = ['auto', 'logged', 'height', 'run', 'plain'] as const;
export const SHADINGS = ['auto', 'smooth', 'flat'] as const;
export const UPS = ['auto', 'y', 'z'] as const;
export const LIGHTS = ['logged', 'head'] as const;
export const LENSES = ['auto', 'perspective', 'orthographic'] as const;

const ORBIT_FIELDS = 6;

const orbits = byCard<Orbit>(ORBIT_FIELDS, readOrbit, (orbit) => {
  const texts = writeOrbit(orbit);
  return [...texts, ...Array<string>(ORBIT_FIELDS - texts.length).fill('')];
});

export type MeshSettings = ReturnType<typeof openMeshSettings>;

/** How meshes are looked at, all of it in the address. `auto` is as logged, or what suits the mesh. */
export function openMeshSettings(address: Address) {
  return {
    /** Whether all cards are looked at from one side. */
    shareCamera: address.param('cameras', flag, true),
    /** Null until somebody has turned one. */
    orbit: address.param<Orbit | null>('camera', orbitCodec, null),
    orbits: address.param('own-cameras', orbits, new Map()),
    up: address.param('up', choice(UPS, 'auto'), 'auto'),
    lens: address.param('lens', choice(LENSES, 'auto'), 'auto'),
    fov: address.param('fov', optionalNumber, null),
    form: address.param('mesh-draw', choice(FORMS, 'auto'), 'auto'),
    shading: address.param('mesh-shading', choice(SHADINGS, 'auto'), 'auto'),
    shade: address.param('mesh-colour', choice(SHADES, 'auto'), 'auto'),
    pointSize: address.param('mesh-size', optionalNumber, null),
    lights: address.param('mesh-lights', choice(LIGHTS, 'logged'), 'logged'),
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
