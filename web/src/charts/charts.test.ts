import { afterEach, describe, expect, test, vi } from 'vitest';

import { layoutBars } from './bar/BarChart.svelte';
import {
  computeIntervalBarsHeight,
  findBarAt,
  type IntervalBarGroup,
  layoutIntervalBars,
  toPixel,
} from './bar/interval-bars';
import { isInsidePolygon, ScreenIndex } from './points/point-overlay';
import { computeBounds, createDrawOrder, normalizePositions } from './points/point-scene';
import { PositionTransition } from './points/position-transition.svelte';
import { setPngResolution, SvgRenderer } from './renderer/image-export';
import { makePath, PixelColumns } from './renderer/renderer';
import { DEFAULT_ORBIT } from './webgl/orbit-camera';

describe('renderer', () => {
  function columnsOf(x: number[], low: number[], high: number[], count = 6): number[][] {
    const columns = new PixelColumns(count, 1);
    const [a, b, c] = [x, low, high].map((values) => Float32Array.from(values));
    if (a && b && c) columns.add({ x: a, low: b, high: c, length: x.length });
    const { points, length } = columns.toPath();
    const found: number[][] = [];
    for (let at = 0; at < length; at += 6)
      found.push([points[at] ?? NaN, points[at + 1] ?? NaN, points[at + 3] ?? NaN]);
    return found;
  }

  test('an area is interpolated linearly between points', () => {
    expect(columnsOf([0, 2], [0, 2], [10, 8])).toEqual([
      [0.5, 0, 10],
      [1.5, 1, 9],
      [2.5, 2, 8],
    ]);
  });

  test('a column with several points has their extremes', () => {
    expect(columnsOf([1.1, 1.2, 1.3], [5, 1, 5], [6, 6, 9])).toEqual([[1.5, 1, 9]]);
  });

  test('gaps and points outside are left out', () => {
    expect(columnsOf([-9, 0, 1, 2, 4, 90], [1, 1, NaN, 1, 1, 1], [2, 2, NaN, 2, 2, 2], 4)).toEqual([
      [0.5, 1, 2],
      [2.5, 1, 2],
      [3.5, 1, 2],
    ]);
  });

  const makeRenderer = (): SvgRenderer => new SvgRenderer((text) => text.length * 6);
  const label = { color: '#000', size: 10, align: 'left', baseline: 'top' } as const;

  test('names are escaped', () => {
    const drawn = makeRenderer();
    drawn.text('<b>&"\u0000\'', 0, 0, label);
    const file = drawn.toSvg(10, 10, '</svg>');
    expect(file).toContain('&#60;b&#62;&#38;&#34;&#39;');
    expect(file).not.toContain('<b>');
    expect(file).toContain('<title>&#60;/svg&#62;</title>');
  });

  test('a gap starts a new subpath', () => {
    const drawn = makeRenderer();
    drawn.stroke(makePath(0, 0, 1, 1, NaN, NaN, 3, 3.14159), { color: 'red', width: 1 });
    expect(drawn.toSvg(10, 10, '')).toContain('d="M0 0L1 1M3 3.1"');
  });

  test('each part of an area is a closed outline', () => {
    const drawn = makeRenderer();
    const x = Float32Array.of(0, 1, 2, 3, 4);
    const low = Float32Array.of(5, 5, NaN, 5, 5);
    const high = Float32Array.of(2, 2, 2, 2, 2);
    drawn.area({ x, low, high, length: 5 }, { color: 'red' });
    const file = drawn.toSvg(10, 10, '');
    expect(file).toContain('M0 2L1 2L1 5L0 5Z');
    expect(file).toContain('M3 2L4 2L4 5L3 5Z');
  });

  test('equal clip paths are shared', () => {
    const drawn = makeRenderer();
    const box = { left: 0, top: 0, width: 5, height: 5 };
    drawn.clip(box, () => drawn.dot(1, 1, 1, { color: 'red' }));
    drawn.clip(box, () => drawn.dot(2, 2, 1, { color: 'red' }));
    const file = drawn.toSvg(10, 10, '');
    expect(file.match(/<clipPath/g)).toHaveLength(1);
    expect(file.match(/<g clip-path="url\(#clip0\)">/g)).toHaveLength(2);
  });

  describe('png resolution', () => {
    test('a PNG states its resolution after its header', () => {
      const png = new Uint8Array(60).map((_, at) => at);
      const changed = setPngResolution(png, 300);
      const view = new DataView(changed.buffer);
      expect(new TextDecoder().decode(changed.subarray(37, 41))).toBe('pHYs');
      expect([view.getUint32(41), view.getUint32(45), view.getUint8(49)]).toEqual([
        11811, 11811, 1,
      ]);
      // As zlib.crc32 of Python computes it.
      expect(view.getUint32(50)).toBe(0x78a53f76);
      expect([...changed.subarray(0, 33), ...changed.subarray(54)]).toEqual([...png]);
    });
  });
});

describe('bar chart', () => {
  test('bars start at zero and the longest fills the width', () => {
    expect(layoutBars([{ value: 1 }, { value: 4 }])).toEqual({
      ...{ zero: 0, marks: [[], []] },
      bars: [
        { left: 0, width: 0.25 },
        { left: 0, width: 1 },
      ],
    });
  });

  test('negative bars point to the left', () => {
    const { zero, bars } = layoutBars([{ value: -1 }, { value: 3 }]);
    expect(zero).toBe(0.25);
    expect(bars).toEqual([
      { left: 0, width: 0.25 },
      { left: 0.25, width: 0.75 },
    ]);
  });

  test('marks share the scale of the bars', () => {
    const marks = [{ label: 'Threshold', value: 0.5 }];
    const layout = layoutBars([{ value: 0.25, marks }, { value: -0.5 }]);
    expect(layout).toEqual({
      zero: 0.5,
      bars: [
        { left: 0.5, width: 0.25 },
        { left: 0, width: 0.5 },
      ],
      marks: [[1], []],
    });
  });

  test('non-finite values have no bar', () => {
    const bars = [NaN, Infinity, 2].map((value) => ({ value }));
    expect(layoutBars(bars).bars.map(({ width }) => width)).toEqual([0, 0, 1]);
    expect(layoutBars([]).bars).toEqual([]);
  });

  describe('interval bars', () => {
    const measure = (text: string): number => text.length * 6;

    function group(id: string, ...values: readonly number[]): IntervalBarGroup {
      const bars = values.map((value, at) => ({
        ...{ id: `${id}${at}`, label: '', color: '#000', value },
        ...{ lower: value - 0.1, upper: value + 0.1 },
      }));
      return { id, label: id, bars };
    }

    test('the axis includes 0, all intervals and references', () => {
      const content = { groups: [group('a', 0.4)], references: [{ value: -0.3, color: '#000' }] };
      const layout = layoutIntervalBars(content, 400, measure);
      expect(layout.domain[0]).toBeLessThanOrEqual(-0.3);
      expect(layout.domain[1]).toBeGreaterThanOrEqual(0.5);
      expect(toPixel(layout, layout.domain[1])).toBeCloseTo(layout.plot.left + layout.plot.width);
    });

    test('each bar is found at its row', () => {
      const groups = [group('a', 0.4, 0.5), group('b', 0.1)];
      const layout = layoutIntervalBars({ groups, references: [] }, 400, measure);
      expect(layout.size.height).toBe(computeIntervalBarsHeight(groups));
      const found = layout.bars.map(({ row }) => findBarAt(layout, { x: 0, y: row.top + 2 }));
      expect(found).toEqual([0, 1, 2]);
      expect(findBarAt(layout, { x: 0, y: layout.size.height - 1 })).toBeNull();
    });

    test('long labels are shortened, and no value makes an empty chart', () => {
      const long = layoutIntervalBars(
        { groups: [group('x'.repeat(100), NaN)], references: [] },
        300,
        measure,
      );
      expect(long.labels[0]?.text).toMatch(/^x+…$/);
      expect(long.plot.width).toBeGreaterThan(150);
      expect(long.domain).toEqual([0, 1]);
    });
  });
});

describe('point overlay', () => {
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
    expect([isInsidePolygon(triangle, 2, 2), isInsidePolygon(triangle, 8, 8)]).toEqual([
      true,
      false,
    ]);
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
});
