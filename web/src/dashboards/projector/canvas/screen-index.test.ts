import { expect, test } from 'vitest';

import { DEFAULT_ORBIT } from '../../../charts/webgl/orbit-camera';
import { computeBounds, createDrawOrder, normalizePositions } from './point-scene';
import { isInsidePolygon, ScreenIndex } from './screen-index';

const FLAT = { ...DEFAULT_ORBIT, yaw: 0, pitch: 0 };
const eye = (orthographic: boolean) => ({
  orbit: FLAT,
  lens: { fov: 40, orthographic, aspect: 2 },
  size: { width: 400, height: 200 },
});
const places = Float32Array.from([0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, NaN, NaN, NaN]);

test.each([true, false])('points are found where they are drawn', (isFlat) => {
  const screen = new ScreenIndex(places, null, eye(isFlat));
  expect(screen.positionOf(0)).toEqual({ x: 200, y: 100 });
  const [right, above] = [screen.positionOf(1), screen.positionOf(2)];
  expect(right?.x).toBeGreaterThan(230);
  expect(above?.y).toBeLessThan(70);
  expect(screen.positionOf(3)).toBeNull();
  expect(screen.findNearest({ x: 203, y: 98 }, 10)).toBe(0);
  expect(screen.findNearest({ x: 203, y: 98 }, 2)).toBeNull();
  expect(screen.findNearest(right ?? { x: 0, y: 0 }, 2)).toBe(1);
  expect(screen.rowsInBox({ x: 400, y: 110 }, { x: 190, y: 90 })).toEqual([0, 1]);
  expect(screen.sample(10).sort()).toEqual([0, 1, 2]);
});

test('what is hidden is not found', () => {
  const screen = new ScreenIndex(places, Uint8Array.from([0, 1, 1, 1]), eye(true));
  expect(screen.findNearest({ x: 200, y: 100 }, 10)).toBeNull();
});

test('a line around places holds those inside', () => {
  const triangle = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
    { x: 0, y: 10 },
  ];
  expect([isInsidePolygon(triangle, 2, 2), isInsidePolygon(triangle, 8, 8)]).toEqual([true, false]);
});

const laid = (count: number, rows: number[] | null, ...columns: number[][]) => {
  const answer = {
    rows: rows && Int32Array.from(rows),
    places: columns.map((column) => Float32Array.from(column)),
  };
  return [...normalizePositions(answer, count, computeBounds(answer))];
};

test('a layout is moved to the middle and fits', () => {
  expect(laid(2, null, [10, 14], [3, 3])).toEqual([-1, 0, 0, 1, 0, 0]);
});

test('rows without a place are nowhere', () => {
  expect(laid(3, [2, 0], [10, 14], [3, 3])).toEqual([1, 0, 0, NaN, NaN, NaN, -1, 0, 0]);
});

test('any first part of many points is a fair sample of all', () => {
  expect([...createDrawOrder(3, 3)]).toEqual([3, 4, 5]);
  const order = createDrawOrder(0, 50_000);
  const early = order.subarray(0, 5_000);
  const low = early.filter((row) => row < 25_000).length;
  expect(low).toBeGreaterThan(2_300);
  expect(low).toBeLessThan(2_700);
  expect(new Set(order).size).toBe(50_000);
});
