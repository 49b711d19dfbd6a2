import { describe, expect, test } from 'vitest';

import { layoutBars } from './BarChart.svelte';
import {
  computeIntervalBarsHeight,
  findBarAt,
  type IntervalBarGroup,
  layoutIntervalBars,
  toPixel,
} from './interval-bars';

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
