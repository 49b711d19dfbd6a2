import { expect, test } from 'vitest';

import { getEyePosition, type Projection, type Vec3 } from '../../charts/webgl/orbit-camera';
import {
  describeGeometry,
  findBoundingSphere,
  type GeometryResponse,
  getLoggedOrbit,
  getLoggedUpAxis,
  type MeshInfo,
  toSphereCoordinates,
} from './mesh-geometry';

const LENS: Projection = { fov: 40, orthographic: false, aspect: 1 };

test('a logged camera is where it was put', () => {
  const frame = { center: [10, 0, 0] as const, radius: 2 };
  const camera = { position: [10, 4, 8] as const, look_at: [10, 0, 2] as const };
  for (const up of ['y', 'z'] as const) {
    const orbit = getLoggedOrbit(camera, frame, LENS, up);
    expect(orbit).not.toBeNull();
    if (!orbit) continue;
    getEyePosition(orbit, LENS, up).forEach((place, axis) =>
      expect(place).toBeCloseTo(toSphereCoordinates(camera.position, frame)[axis] ?? NaN),
    );
  }
  expect(getLoggedOrbit({ position: [0, 0, 0], look_at: [0, 0, 0] }, frame, LENS, 'y')).toBeNull();
  expect(getLoggedOrbit({ fov: 40 }, frame, LENS, 'y')).toBeNull();
});

test('the axis on top is that of the camera', () => {
  expect([
    getLoggedUpAxis(null),
    getLoggedUpAxis({ up: [0, 0, 1] }),
    getLoggedUpAxis({ up: [0, 1, 0] }),
  ]).toEqual(['y', 'z', 'y']);
});

const box = (low: Vec3, high: Vec3, radius: number, drawable = 1) => ({
  low,
  high,
  radius,
  drawable,
});

test('a frame is around all meshes that have something in them', () => {
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

test('a frame is no larger than the box of all', () => {
  const meshes = [box([0, 0, 0], [2, 2, 0], 1.4), box([-9, -9, 0], [9, 9, 0], 13)];
  expect(findBoundingSphere(meshes)?.radius).toBeCloseTo(Math.hypot(9, 9));
});

const makeGeometry = (drawable: number, shown: number, faces: number | null): GeometryResponse => ({
  about: { points: drawable, drawable } as MeshInfo,
  centre: [0, 0, 0],
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
])('%#: what there is to see is told in words', (geometry, words) => {
  expect(describeGeometry(geometry)).toBe(words);
});
