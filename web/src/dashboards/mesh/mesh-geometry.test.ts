import { expect, test } from 'vitest';

import type { GeometryResponse, MeshInfo } from '../../api/schemas';
import { getEyePosition, type Projection, type Vec3 } from '../../charts/webgl/orbit-camera';
import {
  describeGeometry,
  findBoundingSphere,
  getLoggedOrbit,
  getLoggedUpAxis,
  toSphereCoordinates,
} from './mesh-geometry';

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

const makeGeometry = (drawable: number, shown: number, faces: number | null): GeometryResponse => ({
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
