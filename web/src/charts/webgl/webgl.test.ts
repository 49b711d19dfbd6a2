import { describe, expect, test } from 'vitest';

import {
  DEFAULT_ORBIT,
  getEyeDistance,
  getEyePosition,
  getHeightAtTarget,
  getViewAxes,
  handleOrbitKey,
  makeOrbitGestures,
  type Orbit,
  orbitCodec,
  type OrbitControls,
  panOrbit,
  type Projection,
  rotateOrbit,
  type Vec3,
  zoomOrbit,
  zoomOrbitAt,
} from './orbit-camera';
import { RenderBudget } from './render-budget';

describe('orbit camera', () => {
  const LENS: Projection = { fov: 40, orthographic: false, aspect: 1 };
  const dot = (one: Vec3, other: Vec3): number =>
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2];

  /** Project a point into the image; y is from -1 to 1. */
  function project(
    place: Vec3,
    orbit = DEFAULT_ORBIT,
    lens = LENS,
    up: 'y' | 'z' = 'y',
  ): [number, number] {
    const eye = getEyePosition(orbit, lens, up);
    const { right, above, back } = getViewAxes(orbit, up);
    const off: Vec3 = [place[0] - eye[0], place[1] - eye[1], place[2] - eye[2]];
    const reach = -dot(off, back) * Math.tan((lens.fov * Math.PI) / 360);
    return [dot(off, right) / reach, dot(off, above) / reach];
  }

  test('the scene fits into wide and tall images', () => {
    for (const aspect of [0.5, 1, 2]) {
      const lens = { ...LENS, aspect };
      const distance = getEyeDistance(DEFAULT_ORBIT, lens);
      const edge = Math.tan(Math.asin(1 / distance)) / Math.tan((40 * Math.PI) / 360);
      expect(edge).toBeLessThan(Math.min(1, aspect));
      expect(edge).toBeGreaterThan(0.85 * Math.min(1, aspect));
    }
  });

  test('the target is centered, and up is up', () => {
    for (const up of ['y', 'z'] as const) {
      project([0, 0, 0], DEFAULT_ORBIT, LENS, up).forEach((at) => expect(at).toBeCloseTo(0));
      const top: Vec3 = up === 'y' ? [0, 0.5, 0] : [0, 0, 0.5];
      const [x, y] = project(top, DEFAULT_ORBIT, LENS, up);
      expect(x).toBeCloseTo(0);
      expect(y).toBeGreaterThan(0.1);
    }
  });

  test('view axes are orthogonal and right-handed', () => {
    const { right, above, back } = getViewAxes({ ...DEFAULT_ORBIT, yaw: 2, pitch: -0.7 }, 'z');
    for (const one of [dot(right, above), dot(right, back), dot(above, back)]) {
      expect(one).toBeCloseTo(0);
    }
    const cross = [
      right[1] * above[2] - right[2] * above[1],
      right[2] * above[0] - right[0] * above[2],
      right[0] * above[1] - right[1] * above[0],
    ];
    back.forEach((value, axis) => expect(cross[axis]).toBeCloseTo(value));
  });

  test('a drag to the right rotates near points to the right', () => {
    const near = getViewAxes(DEFAULT_ORBIT, 'y').back;
    const [before] = project(near);
    const [after] = project(near, rotateOrbit(DEFAULT_ORBIT, 30, 0, 300));
    expect(after).toBeGreaterThan(before);
    const [, above] = project(near, rotateOrbit(DEFAULT_ORBIT, 0, 30, 300));
    expect(above).toBeLessThan(0);
  });

  test('the pitch is limited', () => {
    expect(rotateOrbit(DEFAULT_ORBIT, 0, 1e6, 300).pitch).toBeLessThan(Math.PI / 2);
    expect(Math.abs(rotateOrbit(DEFAULT_ORBIT, 1e4, 0, 300).yaw)).toBeLessThanOrEqual(Math.PI);
  });

  test('panning keeps the position under the pointer', () => {
    const moved = panOrbit(DEFAULT_ORBIT, 30, -60, 300, LENS, 'y');
    const [x, y] = project([0, 0, 0], moved);
    expect(x * 150).toBeCloseTo(30, 3);
    expect(y * 150).toBeCloseTo(60, 3);
  });

  test('zooming in shows a smaller part', () => {
    const closer = zoomOrbit(DEFAULT_ORBIT, 2);
    expect(getHeightAtTarget(closer, LENS)).toBeCloseTo(getHeightAtTarget(DEFAULT_ORBIT, LENS) / 2);
    expect(zoomOrbit(DEFAULT_ORBIT, 1e9).zoom).toBe(1000);
  });

  test('zooming keeps the position under the pointer', () => {
    const place = panOrbit(DEFAULT_ORBIT, 30, -60, 300, LENS, 'y').target;
    const before = project(place);
    const [x, y] = [before[0] * 150, -before[1] * 150];
    const after = project(place, zoomOrbitAt(DEFAULT_ORBIT, { x, y }, 3, 300, LENS, 'y'));
    expect(after[0]).toBeCloseTo(before[0]);
    expect(after[1]).toBeCloseTo(before[1]);
  });

  test('an orbit is encoded in the URL', () => {
    const orbit = { yaw: -1.234, pitch: 0.5, zoom: 2.5, target: [0.1, -0.2, 0.3] as const };
    expect(orbitCodec.parse(orbitCodec.format(orbit))).toEqual(orbit);
    expect(orbitCodec.format({ ...DEFAULT_ORBIT })).toBe('0.6,0.42,1');
    expect(orbitCodec.parse('0.6,0.42,1')).toEqual(DEFAULT_ORBIT);
  });

  test.each(['', '1', '1,2', 'a,b,c', '1,2,0', '1,2,NaN', '1,2,3,Infinity'])(
    'no orbit is made of %j',
    (text) => expect(orbitCodec.parse(text)).toBeNull(),
  );

  function openControls() {
    const seen = { orbit: DEFAULT_ORBIT as Orbit, fits: 0 };
    const find = (): OrbitControls => ({
      orbit: seen.orbit,
      projection: { fov: 40, orthographic: false, aspect: 1 },
      up: 'y',
      height: 300,
      setOrbit: (orbit) => (seen.orbit = orbit),
      reset: () => seen.fits++,
    });
    return { seen, find, hand: makeOrbitGestures(find) };
  }

  const press = (find: () => OrbitControls, key: string, shiftKey = false): boolean =>
    handleOrbitKey({ key, shiftKey } as KeyboardEvent, find());

  test('a drag is relative to its start', () => {
    const { seen, hand } = openControls();
    hand.drag({ x: 0, y: 0 }, { x: 50, y: 0 });
    hand.drag({ x: 0, y: 0 }, { x: 100, y: 0 });
    expect(seen.orbit.yaw).toBeCloseTo(DEFAULT_ORBIT.yaw - Math.PI / 3);
    hand.dragEnd({ x: 0, y: 0 }, { x: 100, y: 0 });
    hand.drag({ x: 0, y: 0 }, { x: -100, y: 0 });
    expect(seen.orbit.yaw).toBeCloseTo(DEFAULT_ORBIT.yaw);
  });

  test('a canceled drag restores the orbit', () => {
    const { seen, hand } = openControls();
    hand.drag({ x: 0, y: 0 }, { x: 50, y: 20 });
    hand.dragCancel();
    expect(seen.orbit).toBe(DEFAULT_ORBIT);
  });

  test('keys rotate, pan, zoom and reset', () => {
    const { seen, find } = openControls();
    press(find, 'ArrowRight');
    expect(seen.orbit.yaw).toBeLessThan(DEFAULT_ORBIT.yaw);
    press(find, 'ArrowUp', true);
    expect(seen.orbit.target).not.toEqual(DEFAULT_ORBIT.target);
    press(find, '+');
    press(find, '+');
    press(find, '-');
    expect(seen.orbit.zoom).toBeCloseTo(1.25);
    press(find, '0');
    expect(seen.fits).toBe(1);
    expect(press(find, 'x')).toBe(false);
  });
});

describe('render budget', () => {
  test('a GPU draws a million points at once from the start', () => {
    expect(new RenderBudget(false).maxElements(true)).toBeGreaterThan(1_000_000);
  });

  test('slow drawing is split into smaller batches', () => {
    const pace = new RenderBudget(true);
    for (let turn = 0; turn < 20; turn++) pace.recordCost(200_000, 50);
    const most = pace.maxElements(true);
    expect(most).toBeGreaterThan(70_000);
    expect(most).toBeLessThan(110_000);
    expect(pace.maxElements(false)).toBeGreaterThan(most);
    expect(pace.maxElements(true, 0.5)).toBeLessThan(most);
  });

  test('the budget shrinks quickly and never reaches zero', () => {
    const pace = new RenderBudget(false);
    pace.recordCost(1_000_000, 1000);
    expect(pace.maxElements(true)).toBeLessThan(100_000);
    for (let turn = 0; turn < 50; turn++) pace.recordCost(50_000, 10_000);
    expect(pace.maxElements(true)).toBe(40_000);
  });

  test('small batches do not change the estimate', () => {
    const pace = new RenderBudget(false);
    pace.recordCost(10, 1000);
    expect(pace.maxElements(true)).toBeGreaterThan(1_000_000);
  });
});
