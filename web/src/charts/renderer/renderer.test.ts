import { describe, expect, test } from 'vitest';

import { makePath, PixelColumns } from './renderer';
import { setPngResolution, SvgRenderer } from './image-export';

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
    expect([view.getUint32(41), view.getUint32(45), view.getUint8(49)]).toEqual([11811, 11811, 1]);
    // As zlib.crc32 of Python computes it.
    expect(view.getUint32(50)).toBe(0x78a53f76);
    expect([...changed.subarray(0, 33), ...changed.subarray(54)]).toEqual([...png]);
  });
});
