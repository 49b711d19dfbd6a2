import { describe, expect, it } from 'vitest';

import {
  addMargin,
  clampSpan,
  formatDurationPs,
  formatExactPs,
  getSpanLength,
  layoutSteps,
  looksEqual,
  makeTimeTicks,
  padSpan,
  zoomSpan,
} from './time-axis';

const WHOLE = { start: 0, end: 1e9 };

describe('a stretch of time', () => {
  it('keeps the place that it is zoomed around', () => {
    const near = zoomSpan({ start: 100, end: 300 }, 0.5, 150);
    expect(near).toEqual({ start: 125, end: 225 });
    expect((150 - near.start) / getSpanLength(near)).toBe((150 - 100) / 200);
  });

  it('never leaves the trace, nor becomes longer than it or shorter than anything', () => {
    expect(clampSpan({ start: -5e8, end: 5e8 }, WHOLE)).toEqual(WHOLE);
    expect(clampSpan({ start: 2e9, end: 2.1e9 }, WHOLE)).toEqual({ start: 9e8, end: 1e9 });
    expect(getSpanLength(clampSpan({ start: 7, end: 7 }, WHOLE))).toBe(500);
    expect(clampSpan({ start: -1e12, end: 1e12 }, WHOLE)).toEqual(WHOLE);
  });

  it('has air around a trace and around an event, even around one that takes no time', () => {
    expect(addMargin(WHOLE)).toEqual({ start: -2e7, end: 1.02e9 });
    expect(getSpanLength(padSpan({ start: 5e8, end: 5e8 }))).toBe(4e6);
    expect(padSpan({ start: 1e8, end: 2e8 })).toEqual({ start: 0, end: 3e8 });
  });

  it('looks like another that differs by less than a pixel', () => {
    expect(looksEqual(WHOLE, { start: 1e5, end: 1e9 })).toBe(true);
    expect(looksEqual(WHOLE, { start: 1e6, end: 1e9 })).toBe(false);
  });
});

describe('times', () => {
  it('have four digits and the unit that suits them', () => {
    expect([0, 5, 1234, 7_444_000, 49_216_000_000, 2.705e12, -3e9].map(formatDurationPs)).toEqual([
      '0',
      '5 ps',
      '1.234 ns',
      '7.444 µs',
      '49.22 ms',
      '2.705 s',
      '−3 ms',
    ]);
  });

  it('can be told to the last digit', () => {
    expect(formatExactPs(49_216_000_123)).toBe('49.216000123 ms');
  });

  it('along the axis share one unit and as many digits as tell them apart', () => {
    const texts = (start: number, end: number): string[] =>
      makeTimeTicks({ start, end }, 5).map(({ text }) => text);
    expect(texts(0, 6e11)).toEqual([
      '0 ms',
      '100 ms',
      '200 ms',
      '300 ms',
      '400 ms',
      '500 ms',
      '600 ms',
    ]);
    expect(texts(1.4e12, 1.4e12 + 4e6)).toContain('1400.001 ms');
  });
});

const STEPS = {
  rule: '',
  names: ['train 7', 'train 8', 'train 9'],
  start: Float64Array.of(0, 500, 900),
  end: Float64Array.of(500, 900, 1000),
};

it('says of steps what there is room for', () => {
  const boxes = layoutSteps(STEPS, { start: 0, end: 1000 }, 170);
  expect(boxes.map(({ left, width, text }) => [left, width, text])).toEqual([
    [0, 85, 'train 7'],
    [85, 68, '8'],
    [153, 17, ''],
  ]);
});

it('leaves out what is too narrow or not seen, and cuts what reaches out', () => {
  const boxes = layoutSteps(STEPS, { start: 400, end: 920 }, 520);
  expect(boxes.map(({ name, left, width }) => [name, left, width])).toEqual([
    ['train 7', 0, 100],
    ['train 8', 100, 400],
    ['train 9', 500, 20],
  ]);
  expect(layoutSteps(STEPS, { start: 600, end: 700 }, 13)).toEqual([]);
});
