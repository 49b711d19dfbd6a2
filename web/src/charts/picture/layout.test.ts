import { expect, test } from 'vitest';

import { layOut, type Plan } from './layout';

const widthOf = (text: string): number => text.length * 6;
const plan = (high: number, more: Partial<Plan> = {}): Plan => ({
  x: { kind: 'linear', domain: [0, 10_000], format: 'number' },
  y: { kind: 'linear', domain: [0, high] },
  y2: null,
  ...more,
});

test('charts with short numbers line up, long numbers take what they need', () => {
  const size = { width: 400, height: 210 };
  expect(layOut(plan(1), size, widthOf).frame.left).toBe(
    layOut(plan(50), size, widthOf).frame.left,
  );
  const wide = layOut(plan(1, { y: { kind: 'linear', domain: [1000, 1000.0001] } }), size, widthOf);
  expect(wide.frame.left).toBeGreaterThan(60);
});

test('the scales fill the frame', () => {
  const { frame, x, y } = layOut(plan(1), { width: 400, height: 210 }, widthOf);
  expect(x.scale.at(0)).toBe(frame.left);
  expect(x.scale.at(10_000)).toBe(frame.left + frame.width);
  expect(y.scale.at(0)).toBe(frame.top + frame.height);
  expect(y.scale.at(1)).toBe(frame.top);
});

test.each([120, 200, 380, 1200])('labels of a chart %d wide do not touch', (width) => {
  const { x } = layOut(plan(1), { width, height: 210 }, widthOf);
  const gaps = x.ticks.slice(1).map((tick, at) => {
    const before = x.ticks[at] ?? tick;
    const room = x.scale.at(tick.value) - x.scale.at(before.value);
    return room - (widthOf(tick.text) + widthOf(before.text)) / 2;
  });
  expect(Math.min(...gaps, 99)).toBeGreaterThan(4);
});

test('a second axis takes room on the right', () => {
  const size = { width: 400, height: 210 };
  const y2 = { kind: 'linear', domain: [0, 5] } as const;
  const two = layOut(plan(1, { y2 }), size, widthOf);
  expect(two.frame.width).toBeLessThan(layOut(plan(1), size, widthOf).frame.width);
  expect(two.y2?.scale.at(5)).toBe(two.frame.top);
});

test('a chart without room is still a chart', () => {
  const { frame } = layOut(plan(1), { width: 0, height: 0 }, widthOf);
  expect(frame.width).toBeGreaterThan(0);
  expect(frame.height).toBeGreaterThan(0);
});
