import { expect, test } from 'vitest';

import { DEFAULT_ORBIT } from '../../charts/webgl/orbit-camera';
import type { Codec } from '../../lib/codecs';
import type { Param, UrlState } from '../../plugin/context';
import type { GeometryResponse, SceneConfig } from './mesh-geometry';
import {
  openMeshSettings,
  type Overrides,
  resolveAppearance,
  resolveLights,
  resolveProjection,
  resolveUpAxis,
} from './mesh-settings';

/** An address that keeps texts, as the page's does. */
function makeUrlParams(texts: Record<string, string> = {}) {
  const address: UrlState = {
    param<Value>(name: string, codec: Codec<Value>, fallback: Value): Param<Value> {
      return {
        get value() {
          const text = texts[name];
          return text === undefined ? fallback : codec.parse(text);
        },
        set(value) {
          texts[name] = codec.format(value);
        },
      };
    },
  };
  return { address, texts };
}

test('cameras of single cards survive the address', () => {
  const { address, texts } = makeUrlParams();
  const turned = { ...DEFAULT_ORBIT, yaw: 1.5, target: [0.5, 0, 0] as const };
  openMeshSettings(address).orbits.set(
    new Map([
      ['a,b', DEFAULT_ORBIT],
      ['c', turned],
    ]),
  );
  expect([...openMeshSettings(makeUrlParams(texts).address).orbits.value]).toEqual([
    ['a,b', DEFAULT_ORBIT],
    ['c', turned],
  ]);
});

test('what makes no sense in an address is as if it were not there', () => {
  const { address } = makeUrlParams({
    camera: 'x',
    'mesh-draw': 'lava',
    'mesh-size': 'big',
    'own-cameras': 'a,1,2',
    'mesh-item': '?',
  });
  const settings = openMeshSettings(address);
  expect(settings.orbit.value).toBeNull();
  expect(settings.form.value).toBe('auto');
  expect(settings.pointSize.value).toBeNull();
  expect(settings.orbits.value.size).toBe(0);
  expect(settings.item.value).toBe(0);
});

const RUN = '#123456';

function makeGeometry(
  look: SceneConfig = {},
  rest: Partial<GeometryResponse> = {},
): GeometryResponse {
  return {
    about: {
      step: 0,
      wall_time: 0,
      items: 1,
      item: 0,
      points: 1,
      drawable: 1,
      faces: 0,
      low: [0, 0, 0],
      high: [1, 1, 1],
      radius: 1,
      parts: {},
      look,
      notes: [],
    },
    centre: [0, 0, 0],
    scale: 1,
    position: new Float32Array(3),
    face: null,
    normal: null,
    color: null,
    ...rest,
  };
}

const makeOverride = (name: string, value: unknown): Overrides => ({ [name]: { value } });

test('a cloud without colours is coloured by height, or by run beside others', () => {
  expect(resolveAppearance({}, makeGeometry(), RUN, false).coloring).toBe('height');
  expect(resolveAppearance({}, makeGeometry(), RUN, true).coloring).toEqual({ plain: RUN });
});

test('a surface without colours is grey, and one with colours has those', () => {
  const face = new Int32Array(3);
  expect(resolveAppearance({}, makeGeometry({}, { face }), RUN, false).coloring).toEqual({
    plain: '#9aa0a8',
  });
  const color = new Uint8Array(3);
  expect(resolveAppearance({}, makeGeometry({}, { face, color }), RUN, true).coloring).toBe(
    'logged',
  );
});

test('logged settings hold until somebody says otherwise', () => {
  const look: SceneConfig = {
    camera: { fov: 75, orthographic: true, up: [0, 0, 1] },
    lights: [{ kind: 'ambient' }],
    material: { wireframe: true, flat_shading: true, color: '#ff0000' },
  };
  const dress = resolveAppearance({}, makeGeometry(look), RUN, false);
  expect([dress.drawMode, dress.flatShading, dress.coloring]).toEqual([
    'wires',
    true,
    { plain: '#ff0000' },
  ]);
  expect(resolveProjection({}, look)).toEqual({ fov: 75, orthographic: true });
  expect(resolveUpAxis({}, look)).toBe('z');
  expect(resolveLights({}, look)).toHaveLength(1);

  expect(
    resolveAppearance(makeOverride('form', 'points'), makeGeometry(look), RUN, false).drawMode,
  ).toBe('points');
  expect(
    resolveAppearance(makeOverride('shading', 'smooth'), makeGeometry(look), RUN, false)
      .flatShading,
  ).toBe(false);
  expect(
    resolveAppearance(makeOverride('shade', 'run'), makeGeometry(look), RUN, false).coloring,
  ).toEqual({ plain: RUN });
  expect(resolveProjection(makeOverride('fov', 500), look).fov).toBe(120);
  expect(resolveProjection(makeOverride('lens', 'perspective'), look).orthographic).toBe(false);
  expect(resolveUpAxis(makeOverride('up', 'y'), look)).toBe('y');
  expect(resolveLights(makeOverride('lights', 'head'), look)).toEqual([]);
});

test('without anything logged the lens is the usual one', () => {
  expect(resolveProjection({}, undefined)).toEqual({ fov: 40, orthographic: false });
  expect(resolveUpAxis({}, undefined)).toBe('y');
});
