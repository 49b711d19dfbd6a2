import { expect, test } from 'vitest';

import { eyeOf, type Lens, type Triple } from '../../../charts/space/orbit';
import { frameAround, intoFrame } from './frame';
import { orbitOf, upOf } from './logged';

const LENS: Lens = { fov: 40, orthographic: false, aspect: 1 };

test('a logged camera is where it was put', () => {
  const frame = { centre: [10, 0, 0] as const, radius: 2 };
  const camera = { position: [10, 4, 8] as const, look_at: [10, 0, 2] as const };
  for (const up of ['y', 'z'] as const) {
    const orbit = orbitOf(camera, frame, LENS, up);
    expect(orbit).not.toBeNull();
    if (!orbit) continue;
    eyeOf(orbit, LENS, up).forEach((place, axis) =>
      expect(place).toBeCloseTo(intoFrame(camera.position, frame)[axis] ?? NaN),
    );
  }
  expect(orbitOf({ position: [0, 0, 0], look_at: [0, 0, 0] }, frame, LENS, 'y')).toBeNull();
  expect(orbitOf({ fov: 40 }, frame, LENS, 'y')).toBeNull();
});

test('the axis on top is that of the camera', () => {
  expect([upOf(null), upOf({ up: [0, 0, 1] }), upOf({ up: [0, 1, 0] })]).toEqual(['y', 'z', 'y']);
});

const box = (low: Triple, high: Triple, radius: number, drawable = 1) => ({
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
  expect(frameAround(meshes)).toEqual({ centre: [3, 1, 1], radius: 3 });
  expect(frameAround(meshes.slice(0, 1))).toEqual({ centre: [1, 1, 1], radius: 1 });
  expect(frameAround(meshes.slice(2))).toBeNull();
  expect(frameAround([box([1, 1, 1], [1, 1, 1], 0)])?.radius).toBe(1);
});

test('a frame is no larger than the box of all', () => {
  const meshes = [box([0, 0, 0], [2, 2, 0], 1.4), box([-9, -9, 0], [9, 9, 0], 13)];
  expect(frameAround(meshes)?.radius).toBeCloseTo(Math.hypot(9, 9));
});
