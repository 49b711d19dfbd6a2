import { describe, expect, test } from 'vitest';

import type { Pen } from '../pen/pen';
import { SvgPen } from '../pen/svg';
import { LIGHT } from '../picture/palette';
import { bandOf } from './bands';
import { drawSpread } from './draw';
import { findEnds, makeLevel, spanOf } from './ends';
import { binAt, findSpot, nearestIndex, panelAt } from './find';
import { nearestOf, paintHeat } from './heat';
import { moveSpot } from './keys';
import { indexAt } from './lit';
import { gridOf, layOutPanels } from './panels';
import { ridgeOf, strengthOf } from './ridges';
import { sheetToSvg } from './sheet';
import type { Spread, SpreadContent, SpreadMode, SpreadView } from './types';
import { zoomAround, zoomToBox } from './zoom';

const widthOf: Pen['widthOf'] = (text, { size }) => text.length * size * 0.5;
const SIZE = { width: 400, height: 300 };
const BASIC: SpreadView = {
  mode: 'offset',
  format: 'step',
  log: false,
  ignoreOutliers: true,
  steps: null,
  values: null,
};

/** Three histograms of four bins; the peak moves to the right. */
function makeSpread(id = 'a'): Spread {
  const nine = [0, 1, 2].flatMap((step) =>
    [0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8, 3.2].map((v) => v + step / 5),
  );
  return {
    id,
    label: id,
    colour: '#4269d0',
    x: Float64Array.of(0, 100, 200),
    rows: Float32Array.of(8, 2, 0, 0, 1, 8, 1, 0, 0, 0, 2, 10),
    nine: Float64Array.from(nine),
  };
}

const GRID = Float64Array.of(0, 1, 2, 3, 4);
const ONE: SpreadContent = { grid: GRID, spreads: [makeSpread()] };
const THREE: SpreadContent = { grid: GRID, spreads: ['a', 'b', 'c'].map(makeSpread) };

const view = (mode: SpreadMode, rest: Partial<SpreadView> = {}): SpreadView => ({
  ...BASIC,
  mode,
  ...rest,
});
const layOut = (content: SpreadContent, how: SpreadView) =>
  layOutPanels(content, how, SIZE, widthOf);
const frameOf = (content: SpreadContent, how: SpreadView, number = 0) => {
  const panel = layOut(content, how).panels[number];
  if (!panel) throw new Error('no such panel');
  return panel;
};

describe('ends', () => {
  test('the grid decides about values and the columns about steps', () => {
    expect(findEnds(ONE, BASIC)).toMatchObject({ steps: [0, 200], values: [0, 4], most: 10 });
  });

  test('bands that spread much wider for one step do not decide about height', () => {
    const spread = makeSpread();
    const many = {
      ...spread,
      x: Float64Array.from({ length: 12 }, (_, at) => at),
      nine: Float64Array.from({ length: 108 }, (_, at) => ((at % 9) - 4) * (at < 99 ? 1 : 1000)),
    };
    const content = { grid: GRID, spreads: [many] };
    expect(findEnds(content, view('bands')).values[1]).toBeLessThan(10);
    expect(findEnds(content, view('bands', { ignoreOutliers: false })).values[1]).toBeGreaterThan(
      4000,
    );
  });

  test('a log scale of values begins above zero, and is no log scale without any such value', () => {
    const [low] = findEnds(ONE, view('bands', { log: true })).values;
    expect(low).toBeGreaterThan(0);
    const below = { ...makeSpread(), nine: new Float64Array(27).fill(-1) };
    expect(findEnds({ grid: GRID, spreads: [below] }, view('bands', { log: true })).log).toBe(
      false,
    );
  });

  test('what is not finite counts for nothing', () => {
    expect(spanOf([Float64Array.of(NaN, 2, Infinity, -3)])).toEqual([-3, 2]);
    expect(spanOf([Float64Array.of(NaN)])).toBeNull();
  });

  test('levels run from nothing to all', () => {
    expect([0, 5, 10].map(makeLevel(10, false))).toEqual([0, 0.5, 1]);
    const log = makeLevel(999, true);
    expect(log(999)).toBe(1);
    expect(log(9)).toBeCloseTo(1 / 3);
    expect(makeLevel(0, false)(3)).toBe(0);
  });
});

describe('panels', () => {
  test('each has a pleasant shape', () => {
    expect(gridOf(1, 400, 260)).toEqual([1, 1]);
    expect(gridOf(4, 400, 260)).toEqual([2, 2]);
    expect(gridOf(8, 400, 330)).toEqual([2, 4]);
    expect(gridOf(3, 1200, 260)).toEqual([3, 1]);
  });

  test('they are within the chart, beside each other and of one size', () => {
    for (const mode of ['offset', 'overlay', 'heat', 'bands'] as const) {
      const { panels } = layOut(THREE, view(mode));
      expect(panels).toHaveLength(3);
      for (const { layout, title } of panels) {
        const { left, top, width, height } = layout.frame;
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left + width).toBeLessThanOrEqual(SIZE.width);
        expect(top + height).toBeLessThanOrEqual(SIZE.height);
        expect(title?.top).toBeLessThan(top);
        expect(height).toBeCloseTo(panels[0]?.layout.frame.height ?? 0);
      }
    }
    expect(layOut(THREE, view('together')).panels).toHaveLength(1);
  });

  test('the newest ridge stands at the foot and reaches no higher than the panel', () => {
    const { layout } = frameOf(ONE, BASIC);
    const { ends } = layOut(ONE, BASIC);
    const last = ridgeOf(makeSpread(), 2, GRID, layout, ends);
    expect(last.low[0]).toBeCloseTo(layout.frame.top + layout.frame.height, 3);
    const first = ridgeOf(makeSpread(), 0, GRID, layout, ends);
    expect(Math.min(...first.high)).toBeGreaterThanOrEqual(layout.frame.top - 1);
    expect(first.low[0]).toBeLessThan(last.low[0] ?? 0);
    expect(strengthOf(0, [0, 200])).toBeLessThan(strengthOf(200, [0, 200]));
  });
});

describe('pointing', () => {
  test('the ridge in front whose colour is under the pointer', () => {
    const { layout } = frameOf(ONE, BASIC);
    const foot = layout.frame.top + layout.frame.height;
    const spot = findSpot(ONE, layOut(ONE, BASIC), 'offset', {
      x: layout.x.scale.at(3.5),
      y: foot - 10,
    });
    expect(spot).toMatchObject({ spread: 0, at: 2 });
    expect(spot?.value).toBeCloseTo(3.5);
    const back = { x: layout.x.scale.at(0.5), y: layout.y.scale.at(0) - 20 };
    expect(findSpot(ONE, layOut(ONE, BASIC), 'offset', back)?.at).toBe(0);
  });

  test('the nearest step of a heat map, in the panel under the pointer', () => {
    const how = view('heat');
    const panel = frameOf(THREE, how, 2);
    const { frame, x, y } = panel.layout;
    const point = { x: x.scale.at(110), y: y.scale.at(2.5) };
    expect(panelAt(layOut(THREE, how), point)?.spreads).toEqual([2]);
    const spot = findSpot(THREE, layOut(THREE, how), 'heat', point);
    expect(spot).toMatchObject({ spread: 2, at: 1 });
    expect(spot?.value).toBeCloseTo(2.5);
    expect(frame.width).toBeGreaterThan(0);
  });

  test('bins and steps', () => {
    expect([-1, 0, 0.9, 3.99, 4, 9].map((value) => binAt(GRID, value))).toEqual([0, 0, 0, 3, 3, 3]);
    const x = Float64Array.of(0, 10, 20);
    expect([-5, 4, 6, 99].map((place) => nearestIndex(x, place))).toEqual([0, 0, 1, 2]);
    expect(nearestIndex(new Float64Array(), 1)).toBe(-1);
  });

  test('keys lead from histogram to histogram and from bin to bin', () => {
    const set = layOut(ONE, BASIC);
    const first = moveSpot('ArrowUp', ONE, set, 'offset', null);
    expect(first?.spot).toEqual({ spread: 0, at: 2, value: 2.5 });
    const before = moveSpot('ArrowUp', ONE, set, 'offset', first?.spot ?? null);
    expect(before?.spot.at).toBe(1);
    expect(moveSpot('ArrowRight', ONE, set, 'offset', before?.spot ?? null)?.spot.value).toBe(3.5);
    expect(moveSpot('Home', ONE, set, 'offset', null)?.spot.at).toBe(0);
    expect(moveSpot('x', ONE, set, 'offset', null)).toBeNull();
  });
});

test('a run that ended long before is not lit', () => {
  const x = Float64Array.of(0, 10, 20);
  expect([4, 24, 31, -11].map((place) => indexAt(x, place))).toEqual([0, 2, -1, -1]);
  expect(indexAt(Float64Array.of(7), 7)).toBe(0);
});

describe('zooming', () => {
  test('a box over ridges holds values and steps', () => {
    const { layout } = frameOf(ONE, BASIC);
    const [from, to] = [
      { x: layout.x.scale.at(1), y: layout.y.scale.at(100) },
      { x: layout.x.scale.at(3), y: layout.y.scale.at(200) },
    ];
    const zoom = zoomToBox(layout, 'offset', BASIC, from, to);
    expect(zoom?.values?.map((end) => Math.round(end * 100) / 100)).toEqual([1, 3]);
    expect(zoom?.steps?.map(Math.round)).toEqual([100, 200]);
  });

  test('a drag along the foot of bands leaves values as they are', () => {
    const how = view('bands');
    const { layout } = frameOf(ONE, how);
    const y = layout.frame.top + 50;
    const from = { x: layout.x.scale.at(50), y };
    const zoom = zoomToBox(layout, 'bands', how, from, { x: layout.x.scale.at(150), y });
    expect(zoom?.values).toBeNull();
    expect(zoom?.steps?.map(Math.round)).toEqual([50, 150]);
  });

  test('lines over each other are zoomed along their values only', () => {
    const how = view('overlay');
    const { layout } = frameOf(ONE, how);
    const at = { x: layout.x.scale.at(2), y: layout.frame.top + 20 };
    const zoom = zoomAround(layout, 'overlay', how, at, 2);
    expect(zoom?.steps).toBeNull();
    expect(zoom?.values).toEqual([1, 3]);
  });
});

describe('drawing', () => {
  test('a heat map has a column of pixels for each place and is clear where nothing was counted', () => {
    const raster = paintHeat(makeSpread(), GRID, 6, [0, 200], findEnds(ONE, view('heat')));
    expect([raster.width, raster.height]).toEqual([6, 4]);
    const alpha = (column: number, row: number) => raster.pixels[4 * (row * 6 + column) + 3];
    expect(alpha(0, 0)).toBe(0); // the uppermost bin at the first step
    expect(alpha(5, 0)).toBe(255); // and at the last, which has the largest count
    expect(alpha(0, 3)).toBeGreaterThan(180);
  });

  test('a step reaches half way to its neighbours', () => {
    expect([...nearestOf(Float64Array.of(0, 10), 4, [-5, 15])]).toEqual([0, 0, 1, 1]);
    expect([...nearestOf(Float64Array.of(0, 10), 4, [-25, 15])]).toEqual([-1, -1, 0, 1]);
    expect([...nearestOf(Float64Array.of(3), 2, [0, 9])]).toEqual([0, 0]);
  });

  test('bands lie within each other', () => {
    const { layout } = frameOf(ONE, view('bands'));
    const [outer, inner] = [bandOf(makeSpread(), 0, 8, layout), bandOf(makeSpread(), 3, 5, layout)];
    inner.low.forEach((low, at) => {
      expect(low).toBeLessThan(outer.low[at] ?? 0); // pixels grow downwards
      expect(inner.high[at]).toBeGreaterThan(outer.high[at] ?? 0);
    });
  });

  test.each(['offset', 'overlay', 'bands', 'together'] as const)('%s as SVG, by name', (mode) => {
    const svg = sheetToSvg({ title: 'conv/weights', content: THREE, view: view(mode) }, widthOf);
    expect(svg).toContain('<title>conv/weights</title>');
    for (const name of ['a', 'b', 'c']) expect(svg).toContain(`>${name}</text>`);
    expect(svg).not.toContain('NaN');
  });

  test('nothing, one step and nothing but zeros can be drawn', () => {
    const zeros = {
      ...makeSpread(),
      rows: new Float32Array(12),
      nine: new Float64Array(27).fill(NaN),
    };
    const single = { ...makeSpread(), x: Float64Array.of(7), rows: Float32Array.of(1, 2, 3, 4) };
    for (const spreads of [[], [zeros], [single]])
      for (const grid of [GRID, new Float64Array()])
        for (const mode of ['offset', 'overlay', 'bands', 'together'] as const) {
          const content = { grid, spreads };
          const pen = new SvgPen(widthOf);
          drawSpread(pen, content, layOut(content, view(mode)), mode, LIGHT);
          expect(pen.finish(400, 300, '')).not.toContain('NaN');
        }
  });
});
