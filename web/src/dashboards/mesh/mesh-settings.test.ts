import { expect, test } from 'vitest';

import { DEFAULT_ORBIT } from '../../charts/webgl/orbit-camera';
import type { GeometryResponse, SceneConfig } from '../../api/schemas';
import type { Codec } from '../../lib/codecs';
import type { Param, UrlState } from '../../plugin/context';
import {
  createMeshSettings,
  type Overrides,
  resolveAppearance,
  resolveLights,
  resolveProjection,
  resolveUpAxis,
} from './mesh-settings';

function makeUrl(texts: Record<string, string> = {}) {
  const url: UrlState = {
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
  return { url, texts };
}

test('cameras of single cards survive formatting and parsing', () => {
  const { url, texts } = makeUrl();
  const rotated = { ...DEFAULT_ORBIT, yaw: 1.5, target: [0.5, 0, 0] as const };
  createMeshSettings(url).orbits.set(
    new Map([
      ['a,b', DEFAULT_ORBIT],
      ['c', rotated],
    ]),
  );
  expect([...createMeshSettings(makeUrl(texts).url).orbits.value]).toEqual([
    ['a,b', DEFAULT_ORBIT],
    ['c', rotated],
  ]);
});

test('invalid parameters are ignored', () => {
  const { url } = makeUrl({
    camera: 'x',
    'mesh-draw': 'lava',
    'mesh-size': 'big',
    'own-cameras': 'a,1,2',
    'mesh-item': '?',
  });
  const settings = createMeshSettings(url);
  expect(settings.orbit.value).toBeNull();
  expect(settings.drawMode.value).toBe('auto');
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
    info: {
      step: 0,
      wall_time: 0,
      items: 1,
      item: 0,
      vertex_count: 1,
      finite_count: 1,
      face_count: 0,
      min: [0, 0, 0],
      max: [1, 1, 1],
      radius: 1,
      parts: {},
      scene: look,
      notes: [],
    },
    center: [0, 0, 0],
    scale: 1,
    position: new Float32Array(3),
    face: null,
    normal: null,
    color: null,
    ...rest,
  };
}

const makeOverride = (name: string, value: unknown): Overrides => ({ [name]: { value } });

test('a point cloud without colors is colored by height, or by run if there are several', () => {
  expect(resolveAppearance({}, makeGeometry(), RUN, false).coloring).toBe('height');
  expect(resolveAppearance({}, makeGeometry(), RUN, true).coloring).toEqual({ plain: RUN });
});

test('a surface is gray unless colors were logged', () => {
  const face = new Int32Array(3);
  expect(resolveAppearance({}, makeGeometry({}, { face }), RUN, false).coloring).toEqual({
    plain: '#9aa0a8',
  });
  const color = new Uint8Array(3);
  expect(resolveAppearance({}, makeGeometry({}, { face, color }), RUN, true).coloring).toBe(
    'logged',
  );
});

test('settings override what was logged', () => {
  const look: SceneConfig = {
    camera: { fov: 75, orthographic: true, up: [0, 0, 1] },
    lights: [{ kind: 'ambient' }],
    material: { wireframe: true, flat_shading: true, color: '#ff0000' },
  };
  const appearance = resolveAppearance({}, makeGeometry(look), RUN, false);
  expect([appearance.drawMode, appearance.flatShading, appearance.coloring]).toEqual([
    'wires',
    true,
    { plain: '#ff0000' },
  ]);
  expect(resolveProjection({}, look)).toEqual({ fov: 75, orthographic: true });
  expect(resolveUpAxis({}, look)).toBe('z');
  expect(resolveLights({}, look)).toHaveLength(1);

  expect(
    resolveAppearance(makeOverride('drawMode', 'points'), makeGeometry(look), RUN, false).drawMode,
  ).toBe('points');
  expect(
    resolveAppearance(makeOverride('shading', 'smooth'), makeGeometry(look), RUN, false)
      .flatShading,
  ).toBe(false);
  expect(
    resolveAppearance(makeOverride('coloring', 'run'), makeGeometry(look), RUN, false).coloring,
  ).toEqual({ plain: RUN });
  expect(resolveProjection(makeOverride('fov', 500), look).fov).toBe(120);
  expect(resolveProjection(makeOverride('projection', 'perspective'), look).orthographic).toBe(
    false,
  );
  expect(resolveUpAxis(makeOverride('up', 'y'), look)).toBe('y');
  expect(resolveLights(makeOverride('lights', 'head'), look)).toEqual([]);
});

test('the projection has a default', () => {
  expect(resolveProjection({}, undefined)).toEqual({ fov: 40, orthographic: false });
  expect(resolveUpAxis({}, undefined)).toBe('y');
});
