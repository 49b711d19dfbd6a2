import { describe, expect, test } from 'vitest';

import type { GeometryResponse, MeshInfo, SceneConfig, TagRow } from '../../api/schemas';
import {
  DEFAULT_ORBIT,
  getEyePosition,
  type Projection,
  type Vec3,
} from '../../charts/webgl/orbit-camera';
import type { Codec } from '../../lib/codecs';
import type { Param, UrlState } from '../../plugin/context';
import { chooseViewportGrid, getMeshCardHeight } from './mesh-card-model.svelte';
import {
  describeGeometry,
  findBoundingSphere,
  getLoggedOrbit,
  getLoggedUpAxis,
  toSphereCoordinates,
} from './mesh-geometry';
import {
  createMeshSettings,
  getMeshName,
  mergeMeshTags,
  type Overrides,
  resolveAppearance,
  resolveLights,
  resolveProjection,
  resolveUpAxis,
} from './mesh-state.svelte';

describe('mesh settings', () => {
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
      resolveAppearance(makeOverride('drawMode', 'points'), makeGeometry(look), RUN, false)
        .drawMode,
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
});

describe('mesh geometry', () => {
  const PROJECTION: Projection = { fov: 40, orthographic: false, aspect: 1 };

  test('a logged camera keeps its position', () => {
    const bounds = { center: [10, 0, 0] as const, radius: 2 };
    const camera = { position: [10, 4, 8] as const, look_at: [10, 0, 2] as const };
    for (const up of ['y', 'z'] as const) {
      const orbit = getLoggedOrbit(camera, bounds, PROJECTION, up);
      expect(orbit).not.toBeNull();
      if (!orbit) continue;
      getEyePosition(orbit, PROJECTION, up).forEach((coordinate, axis) =>
        expect(coordinate).toBeCloseTo(toSphereCoordinates(camera.position, bounds)[axis] ?? NaN),
      );
    }
    expect(
      getLoggedOrbit({ position: [0, 0, 0], look_at: [0, 0, 0] }, bounds, PROJECTION, 'y'),
    ).toBeNull();
    expect(getLoggedOrbit({ fov: 40 }, bounds, PROJECTION, 'y')).toBeNull();
  });

  test('the up axis is that of the camera', () => {
    expect([
      getLoggedUpAxis(undefined),
      getLoggedUpAxis({ up: [0, 0, 1] }),
      getLoggedUpAxis({ up: [0, 1, 0] }),
    ]).toEqual(['y', 'z', 'y']);
  });

  const box = (min: Vec3, max: Vec3, radius: number, finiteCount = 1) => ({
    ...{ min, max, radius },
    finite_count: finiteCount,
  });

  test('the sphere encloses all meshes with points', () => {
    const meshes = [
      box([0, 0, 0], [2, 2, 2], 1),
      box([4, 0, 0], [6, 2, 2], 1),
      box([-99, 0, 0], [0, 0, 0], 50, 0),
    ];
    expect(findBoundingSphere(meshes)).toEqual({ center: [3, 1, 1], radius: 3 });
    expect(findBoundingSphere(meshes.slice(0, 1))).toEqual({ center: [1, 1, 1], radius: 1 });
    expect(findBoundingSphere(meshes.slice(2))).toBeNull();
    expect(findBoundingSphere([box([1, 1, 1], [1, 1, 1], 0)])?.radius).toBe(1);
  });

  test('the sphere is not larger than the common box', () => {
    const meshes = [box([0, 0, 0], [2, 2, 0], 1.4), box([-9, -9, 0], [9, 9, 0], 13)];
    expect(findBoundingSphere(meshes)?.radius).toBeCloseTo(Math.hypot(9, 9));
  });

  const makeGeometry = (
    drawable: number,
    shown: number,
    faces: number | null,
  ): GeometryResponse => ({
    info: { vertex_count: drawable, finite_count: drawable } as MeshInfo,
    center: [0, 0, 0],
    scale: 1,
    position: new Float32Array(3 * shown),
    face: faces === null ? null : new Int32Array(3 * faces),
    normal: null,
    color: null,
  });

  test.each([
    [makeGeometry(4, 4, null), '4 points'],
    [makeGeometry(1, 1, null), '1 point'],
    [makeGeometry(5_000_000, 200_000, null), '200,000 of 5,000,000 points'],
    [makeGeometry(800, 800, 1600), '800 vertices, 1,600 faces'],
  ])('%#: describes a geometry', (geometry, description) => {
    expect(describeGeometry(geometry)).toBe(description);
  });
});

describe('mesh tags', () => {
  const row = (tag: string, rest: Partial<TagRow> = {}): TagRow => ({
    tag,
    plugin: 'mesh',
    kind: 'tensor',
    runs: 1,
    count: 1,
    overwritten: 0,
    first: { step: 0, wall_time: 1 },
    last: { step: 0, wall_time: 1 },
    display_name: '',
    description: '',
    ...rest,
  });

  test.each([
    ['torus_VERTEX', 'torus'],
    ['a/b_FACE', 'a/b'],
    ['a_VERTEX_COLOR', 'a_VERTEX'],
    ['torus_COLOR_1', 'torus_1'],
    ['cloud', 'cloud'],
    ['_VERTEX', ''],
  ])('%j belongs to %j', (tag, name) => expect(getMeshName(tag)).toBe(name));

  test('three series are merged to one mesh', () => {
    const merged = mergeMeshTags([
      row('b_COLOR', { count: 3, last: { step: 9, wall_time: 9 } }),
      row('b_FACE', { description: 'A ball.' }),
      row('b_VERTEX', { count: 2, runs: 2, display_name: 'b_VERTEX' }),
      row('c_VERTEX', { display_name: 'The cloud' }),
    ]);
    expect(merged.map(({ tag }) => tag)).toEqual(['b', 'c']);
    expect(merged[0]).toMatchObject({
      count: 3,
      runs: 2,
      description: 'A ball.',
      display_name: '',
    });
    expect(merged[0]?.last?.step).toBe(9);
    expect(merged[1]?.display_name).toBe('The cloud');
  });
});

describe('mesh card model', () => {
  test('viewports form a square, or a column in a narrow card', () => {
    expect(chooseViewportGrid(1, 400)).toEqual({ columns: 1, rows: 1 });
    expect(chooseViewportGrid(2, 400)).toEqual({ columns: 2, rows: 1 });
    expect(chooseViewportGrid(4, 400)).toEqual({ columns: 2, rows: 2 });
    expect(chooseViewportGrid(9, 400)).toEqual({ columns: 2, rows: 5 });
    expect(chooseViewportGrid(9, 1400)).toEqual({ columns: 3, rows: 3 });
    expect(chooseViewportGrid(3, 100)).toEqual({ columns: 1, rows: 3 });
    expect(chooseViewportGrid(0, 400)).toEqual({ columns: 1, rows: 1 });
  });

  test('the height of a card includes header, padding and slider', () => {
    expect(getMeshCardHeight(420, 1, false)).toBe(36 + 296 + 10);
    expect(getMeshCardHeight(420, 1, true)).toBe(36 + 296 + 10 + 36);
    expect(getMeshCardHeight(420, 1000, false)).toBe(900);
  });
});
