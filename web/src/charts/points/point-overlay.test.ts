import { afterEach, expect, test, vi } from 'vitest';

import { DEFAULT_ORBIT } from '../webgl/orbit-camera';
import { isInsidePolygon, ScreenIndex } from './point-overlay';
import { computeBounds, createDrawOrder, normalizePositions } from './point-scene';
import { PositionTransition } from './position-transition.svelte';

const FLAT = { ...DEFAULT_ORBIT, yaw: 0, pitch: 0 };
const makeView = (orthographic: boolean) => ({
  orbit: FLAT,
  projection: { fov: 40, orthographic, aspect: 2 },
  size: { width: 400, height: 200 },
});
const positions = Float32Array.from([0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, NaN, NaN, NaN]);

test.each([true, false])('finds points where they are drawn (orthographic: %s)', (isFlat) => {
  const screen = new ScreenIndex(positions, null, makeView(isFlat));
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

test('does not find hidden points', () => {
  const screen = new ScreenIndex(positions, Uint8Array.from([0, 1, 1, 1]), makeView(true));
  expect(screen.findNearest({ x: 200, y: 100 }, 10)).toBeNull();
});

test('tells which positions are inside a polygon', () => {
  const triangle = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
    { x: 0, y: 10 },
  ];
  expect([isInsidePolygon(triangle, 2, 2), isInsidePolygon(triangle, 8, 8)]).toEqual([true, false]);
});

const normalize = (count: number, rows: number[] | null, ...columns: number[][]) => {
  const layout = {
    rows: rows && Int32Array.from(rows),
    coordinates: columns.map((column) => Float32Array.from(column)),
  };
  return [...normalizePositions(layout, count, computeBounds(layout))];
};

test('centers and scales a layout', () => {
  expect(normalize(2, null, [10, 14], [3, 3])).toEqual([-1, 0, 0, 1, 0, 0]);
});

test('rows outside of the layout have no position', () => {
  expect(normalize(3, [2, 0], [10, 14], [3, 3])).toEqual([1, 0, 0, NaN, NaN, NaN, -1, 0, 0]);
});

test('any prefix of the draw order is a fair sample', () => {
  expect([...createDrawOrder(3, 3)]).toEqual([3, 4, 5]);
  const order = createDrawOrder(0, 50_000);
  const early = order.subarray(0, 5_000);
  const low = early.filter((row) => row < 25_000).length;
  expect(low).toBeGreaterThan(2_300);
  expect(low).toBeLessThan(2_700);
  expect(new Set(order).size).toBe(50_000);
});

afterEach(() => vi.unstubAllGlobals());

const place = (...current: number[]) => ({
  count: current.length / 3,
  current: Float32Array.from(current),
  previous: null,
});

test('points move to new positions, unless these are shown at once', () => {
  let draw: FrameRequestCallback = () => undefined;
  vi.stubGlobal('matchMedia', () => ({ matches: false }));
  vi.stubGlobal('cancelAnimationFrame', () => undefined);
  vi.stubGlobal('requestAnimationFrame', (step: FrameRequestCallback) => {
    draw = step;
    return 1;
  });
  const transition = new PositionTransition();
  transition.moveTo(place(0, 0, 0, NaN, NaN, NaN), 1);
  expect([transition.isMoving, transition.progress]).toEqual([false, 1]);
  transition.moveTo(place(1, 1, 0, 2, 2, 0), 1);
  expect(transition.isMoving).toBe(true);
  // A point without a previous position appears at its new one.
  expect([...(transition.positions?.previous ?? [])]).toEqual([0, 0, 0, 2, 2, 0]);
  draw(performance.now() + 10_000);
  expect([transition.isMoving, transition.progress]).toEqual([false, 1]);
  expect(transition.positions?.previous).toBeNull();
  transition.moveTo(place(3, 3, 0, 4, 4, 0), 1, { isInstant: true });
  expect([transition.isMoving, transition.positions?.current[0]]).toEqual([false, 3]);
});
