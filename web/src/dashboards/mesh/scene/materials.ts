import {
  Color,
  DoubleSide,
  LineBasicMaterial,
  type Material,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshNormalMaterial,
  MeshStandardMaterial,
  PointsMaterial,
} from 'three';

import type { Dress } from './shown';

/** What all materials of a dress share. */
function common({ shade, material }: Dress) {
  const opacity = material?.opacity ?? 1;
  return {
    color: new Color(typeof shade === 'object' ? shade.plain : '#ffffff'),
    vertexColors: typeof shade !== 'object',
    opacity,
    transparent: opacity < 1,
    fog: false,
  };
}

/** The simplest material that looks as logged: shiny ones take far longer without a graphics card. */
export function makeSurface(dress: Dress, hasWires: boolean): Material {
  const { kind = '', roughness, metalness } = dress.material ?? {};
  const look = {
    ...common(dress),
    // Faces are logged in any order of their corners.
    side: DoubleSide,
    // Wires on a surface would else be half inside it.
    polygonOffset: hasWires,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  };
  const flatShading = dress.flat;
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
export function makeLines(dress: Dress, ink: string, isOnSurface: boolean): Material {
  return isOnSurface
    ? new LineBasicMaterial({ color: new Color(ink), transparent: true, opacity: 0.55 })
    : new LineBasicMaterial(common(dress));
}

export function makePoints(dress: Dress, isRound: boolean): PointsMaterial {
  // Points of one colour would else show no depth.
  const material = new PointsMaterial({ ...common(dress), fog: typeof dress.shade === 'object' });
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
