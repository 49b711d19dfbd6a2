import { expect, test } from 'vitest';

import { nearestLine, nextX, valuesAt } from './nearest';
import { layOut } from './picture/layout';
import type { Line } from './types';

function line(id: string, x: number[], y: number[], more: Partial<Line> = {}): Line {
  const base = { id, label: id, colour: '#000000', dash: [], axis: 0 as const };
  return { ...base, x: Float64Array.from(x), y: Float64Array.from(y), ...more };
}

const layout = layOut(
  {
    x: { kind: 'linear', domain: [0, 100], format: 'number' },
    y: { kind: 'linear', domain: [0, 10] },
    y2: null,
  },
  { width: 448, height: 230 },
  (text) => text.length * 6,
);
const at = (x: number, y: number): { x: number; y: number } => ({
  x: layout.x.scale.at(x),
  y: layout.y.scale.at(y),
});

test('of each line the point nearest in x is told, with its raw value', () => {
  const lines = [
    line('a', [0, 10, 20], [1, 2, 3], { raw: Float64Array.of(1.5, 2.5, 3.5) }),
    line('b', [12, 30], [7, 8]),
    line('empty', [], []),
  ];
  expect(valuesAt(lines, 14)).toEqual([
    { id: 'a', x: 10, y: 2, raw: 2.5 },
    { id: 'b', x: 12, y: 7, raw: null },
  ]);
});

test('before the first and after the last point these are the nearest', () => {
  const lines = [line('a', [5, 6, 7], [1, 2, 3])];
  expect(valuesAt(lines, -100)[0]?.x).toBe(5);
  expect(valuesAt(lines, 100)[0]?.x).toBe(7);
});

test('x in any order is searched through', () => {
  const lines = [line('a', [9, 1, 5], [1, 2, 3], { scatter: true })];
  expect(valuesAt(lines, 2)[0]).toMatchObject({ x: 1, y: 2 });
});

test('of all linear searches over random lines the result is the same', () => {
  const x = Array.from({ length: 400 }, (_, index) => index * 3 + ((index * 7) % 3));
  const column = line('a', x, x);
  for (let wanted = -5; wanted < 1210; wanted += 3.7) {
    const best = Math.min(...x.map((value) => Math.abs(value - wanted)));
    expect(Math.abs((valuesAt([column], wanted)[0]?.x ?? NaN) - wanted)).toBe(best);
  }
});

test('the nearest line is that with the shortest way to it, also between its points', () => {
  const lines = [line('flat', [0, 100], [5, 5]), line('steep', [40, 60], [0, 10])];
  expect(nearestLine(lines, layout, at(20, 5.2))).toBe('flat');
  expect(nearestLine(lines, layout, at(57, 8))).toBe('steep');
});

test('far from all lines there is none, and gaps are no lines', () => {
  const lines = [line('a', [0, 50, 100], [1, NaN, 1])];
  expect(nearestLine(lines, layout, at(50, 9))).toBe(null);
  expect(nearestLine(lines, layout, at(50, 1))).toBe(null);
  expect(nearestLine(lines, layout, at(1, 1.2))).toBe('a');
});

test('arrows go to the next point of any line that is far enough', () => {
  const lines = [line('a', [0, 10, 20], [1, 1, 1]), line('b', [13, 14], [1, 1])];
  expect(nextX(lines, 10, 1)).toBe(13);
  expect(nextX(lines, 10, 5)).toBe(20);
  expect(nextX(lines, 13, -1)).toBe(10);
  expect(nextX(lines, 0, -1)).toBe(null);
  expect(nextX(lines, 20, 1)).toBe(null);
});

test('a curve that runs in any direction is found along all of it', () => {
  const upright = line('a', [50, 50, 50], [0, 5, 10], { scatter: true });
  const other = line('b', [20, 60, 20], [2, 3, 4], { scatter: true });
  expect(nearestLine([upright, other], layout, at(51, 8))).toBe('a');
  expect(nearestLine([upright, other], layout, at(22, 3.9))).toBe('b');
  expect(nearestLine([line('lone', [NaN, 30, NaN], [1, 5, 1])], layout, at(31, 5))).toBe('lone');
});
