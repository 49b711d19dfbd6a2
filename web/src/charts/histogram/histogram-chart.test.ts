import { describe, expect, test } from 'vitest';

import type { Renderer } from '../renderer/renderer';
import { SvgRenderer } from '../renderer/svg-renderer';
import { LIGHT_THEME } from '../renderer/chart-theme';
import {
  drawHistograms,
  findNearestSteps,
  getAgeOpacity,
  renderHeatMap,
  traceBand,
  traceRidge,
} from './histogram-renderer';
import {
  computeExtents,
  findFiniteRange,
  type HistogramData,
  type HistogramMode,
  type HistogramSeries,
  type HistogramViewOptions,
  makeCountScale,
} from './histogram-model';
import {
  findNearestStepIndex,
  findPanelAt,
  findPointAt,
  getBinIndex,
  movePoint,
  zoomHistogramAround,
  zoomHistogramToRect,
} from './histogram-interaction';
import { findIndexAt } from './histogram-overlay';
import { choosePanelGrid, layoutPanels } from './panel-layout';
import { exportHistogramSvg } from './histogram-chart-export';

const widthOf: Renderer['measureText'] = (text, { size }) => text.length * size * 0.5;
const SIZE = { width: 400, height: 300 };
const BASIC: HistogramViewOptions = {
  mode: 'offset',
  format: 'step',
  log: false,
  ignoreOutliers: true,
  steps: null,
  values: null,
};

/** Three histograms of four bins; the peak moves to the right. */
function makeSpread(id = 'a'): HistogramSeries {
  const nine = [0, 1, 2].flatMap((step) =>
    [0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8, 3.2].map((v) => v + step / 5),
  );
  return {
    id,
    label: id,
    color: '#4269d0',
    x: Float64Array.of(0, 100, 200),
    counts: Float32Array.of(8, 2, 0, 0, 1, 8, 1, 0, 0, 0, 2, 10),
    percentiles: Float64Array.from(nine),
  };
}

const GRID = Float64Array.of(0, 1, 2, 3, 4);
const ONE: HistogramData = { binEdges: GRID, series: [makeSpread()] };
const THREE: HistogramData = { binEdges: GRID, series: ['a', 'b', 'c'].map(makeSpread) };

const view = (
  mode: HistogramMode,
  rest: Partial<HistogramViewOptions> = {},
): HistogramViewOptions => ({
  ...BASIC,
  mode,
  ...rest,
});
const layOut = (content: HistogramData, how: HistogramViewOptions) =>
  layoutPanels(content, how, SIZE, widthOf);
const frameOf = (content: HistogramData, how: HistogramViewOptions, number = 0) => {
  const panel = layOut(content, how).panels[number];
  if (!panel) throw new Error('no such panel');
  return panel;
};

describe('ends', () => {
  test('the grid decides about values and the columns about steps', () => {
    expect(computeExtents(ONE, BASIC)).toMatchObject({
      steps: [0, 200],
      values: [0, 4],
      maxCount: 10,
    });
  });

  test('bands that spread much wider for one step do not decide about height', () => {
    const spread = makeSpread();
    const many = {
      ...spread,
      x: Float64Array.from({ length: 12 }, (_, at) => at),
      percentiles: Float64Array.from(
        { length: 108 },
        (_, at) => ((at % 9) - 4) * (at < 99 ? 1 : 1000),
      ),
    };
    const content = { binEdges: GRID, series: [many] };
    expect(computeExtents(content, view('bands')).values[1]).toBeLessThan(10);
    expect(
      computeExtents(content, view('bands', { ignoreOutliers: false })).values[1],
    ).toBeGreaterThan(4000);
  });

  test('a log scale of values begins above zero, and is no log scale without any such value', () => {
    const [low] = computeExtents(ONE, view('bands', { log: true })).values;
    expect(low).toBeGreaterThan(0);
    const below = { ...makeSpread(), percentiles: new Float64Array(27).fill(-1) };
    expect(
      computeExtents({ binEdges: GRID, series: [below] }, view('bands', { log: true })).isLog,
    ).toBe(false);
  });

  test('what is not finite counts for nothing', () => {
    expect(findFiniteRange([Float64Array.of(NaN, 2, Infinity, -3)])).toEqual([-3, 2]);
    expect(findFiniteRange([Float64Array.of(NaN)])).toBeNull();
  });

  test('levels run from nothing to all', () => {
    expect([0, 5, 10].map(makeCountScale(10, false))).toEqual([0, 0.5, 1]);
    const log = makeCountScale(999, true);
    expect(log(999)).toBe(1);
    expect(log(9)).toBeCloseTo(1 / 3);
    expect(makeCountScale(0, false)(3)).toBe(0);
  });
});

describe('panels', () => {
  test('each has a pleasant shape', () => {
    expect(choosePanelGrid(1, 400, 260)).toEqual([1, 1]);
    expect(choosePanelGrid(4, 400, 260)).toEqual([2, 2]);
    expect(choosePanelGrid(8, 400, 330)).toEqual([2, 4]);
    expect(choosePanelGrid(3, 1200, 260)).toEqual([3, 1]);
  });

  test('they are within the chart, beside each other and of one size', () => {
    for (const mode of ['offset', 'overlay', 'heat', 'bands'] as const) {
      const { panels } = layOut(THREE, view(mode));
      expect(panels).toHaveLength(3);
      for (const { layout, title } of panels) {
        const { left, top, width, height } = layout.plotArea;
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left + width).toBeLessThanOrEqual(SIZE.width);
        expect(top + height).toBeLessThanOrEqual(SIZE.height);
        expect(title?.top).toBeLessThan(top);
        expect(height).toBeCloseTo(panels[0]?.layout.plotArea.height ?? 0);
      }
    }
    expect(layOut(THREE, view('together')).panels).toHaveLength(1);
  });

  test('the newest ridge stands at the foot and reaches no higher than the panel', () => {
    const { layout } = frameOf(ONE, BASIC);
    const { extents } = layOut(ONE, BASIC);
    const last = traceRidge(makeSpread(), 2, GRID, layout, extents);
    expect(last.low[0]).toBeCloseTo(layout.plotArea.top + layout.plotArea.height, 3);
    const first = traceRidge(makeSpread(), 0, GRID, layout, extents);
    expect(Math.min(...first.high)).toBeGreaterThanOrEqual(layout.plotArea.top - 1);
    expect(first.low[0]).toBeLessThan(last.low[0] ?? 0);
    expect(getAgeOpacity(0, [0, 200])).toBeLessThan(getAgeOpacity(200, [0, 200]));
  });
});

describe('pointing', () => {
  test('the ridge in front whose colour is under the pointer', () => {
    const { layout } = frameOf(ONE, BASIC);
    const foot = layout.plotArea.top + layout.plotArea.height;
    const spot = findPointAt(ONE, layOut(ONE, BASIC), 'offset', {
      x: layout.x.scale.toPixel(3.5),
      y: foot - 10,
    });
    expect(spot).toMatchObject({ seriesIndex: 0, index: 2 });
    expect(spot?.value).toBeCloseTo(3.5);
    const back = { x: layout.x.scale.toPixel(0.5), y: layout.y.scale.toPixel(0) - 20 };
    expect(findPointAt(ONE, layOut(ONE, BASIC), 'offset', back)?.index).toBe(0);
  });

  test('the nearest step of a heat map, in the panel under the pointer', () => {
    const how = view('heat');
    const panel = frameOf(THREE, how, 2);
    const { plotArea, x, y } = panel.layout;
    const point = { x: x.scale.toPixel(110), y: y.scale.toPixel(2.5) };
    expect(findPanelAt(layOut(THREE, how), point)?.seriesIndexes).toEqual([2]);
    const spot = findPointAt(THREE, layOut(THREE, how), 'heat', point);
    expect(spot).toMatchObject({ seriesIndex: 2, index: 1 });
    expect(spot?.value).toBeCloseTo(2.5);
    expect(plotArea.width).toBeGreaterThan(0);
  });

  test('bins and steps', () => {
    expect([-1, 0, 0.9, 3.99, 4, 9].map((value) => getBinIndex(GRID, value))).toEqual([
      0, 0, 0, 3, 3, 3,
    ]);
    const x = Float64Array.of(0, 10, 20);
    expect([-5, 4, 6, 99].map((place) => findNearestStepIndex(x, place))).toEqual([0, 0, 1, 2]);
    expect(findNearestStepIndex(new Float64Array(), 1)).toBe(-1);
  });

  test('keys lead from histogram to histogram and from bin to bin', () => {
    const set = layOut(ONE, BASIC);
    const first = movePoint('ArrowUp', ONE, set, 'offset', null);
    expect(first?.point).toEqual({ seriesIndex: 0, index: 2, value: 2.5 });
    const before = movePoint('ArrowUp', ONE, set, 'offset', first?.point ?? null);
    expect(before?.point.index).toBe(1);
    expect(movePoint('ArrowRight', ONE, set, 'offset', before?.point ?? null)?.point.value).toBe(
      3.5,
    );
    expect(movePoint('Home', ONE, set, 'offset', null)?.point.index).toBe(0);
    expect(movePoint('x', ONE, set, 'offset', null)).toBeNull();
  });
});

test('a run that ended long before is not lit', () => {
  const x = Float64Array.of(0, 10, 20);
  expect([4, 24, 31, -11].map((place) => findIndexAt(x, place))).toEqual([0, 2, -1, -1]);
  expect(findIndexAt(Float64Array.of(7), 7)).toBe(0);
});

describe('zooming', () => {
  test('a box over ridges holds values and steps', () => {
    const { layout } = frameOf(ONE, BASIC);
    const [from, to] = [
      { x: layout.x.scale.toPixel(1), y: layout.y.scale.toPixel(100) },
      { x: layout.x.scale.toPixel(3), y: layout.y.scale.toPixel(200) },
    ];
    const zoom = zoomHistogramToRect(layout, 'offset', BASIC, from, to);
    expect(zoom?.values?.map((end) => Math.round(end * 100) / 100)).toEqual([1, 3]);
    expect(zoom?.steps?.map(Math.round)).toEqual([100, 200]);
  });

  test('a drag along the foot of bands leaves values as they are', () => {
    const how = view('bands');
    const { layout } = frameOf(ONE, how);
    const y = layout.plotArea.top + 50;
    const from = { x: layout.x.scale.toPixel(50), y };
    const zoom = zoomHistogramToRect(layout, 'bands', how, from, {
      x: layout.x.scale.toPixel(150),
      y,
    });
    expect(zoom?.values).toBeNull();
    expect(zoom?.steps?.map(Math.round)).toEqual([50, 150]);
  });

  test('lines over each other are zoomed along their values only', () => {
    const how = view('overlay');
    const { layout } = frameOf(ONE, how);
    const at = { x: layout.x.scale.toPixel(2), y: layout.plotArea.top + 20 };
    const zoom = zoomHistogramAround(layout, 'overlay', how, at, 2);
    expect(zoom?.steps).toBeNull();
    expect(zoom?.values).toEqual([1, 3]);
  });
});

describe('drawing', () => {
  test('a heat map has a column of pixels for each place and is clear where nothing was counted', () => {
    const raster = renderHeatMap(
      makeSpread(),
      GRID,
      6,
      [0, 200],
      computeExtents(ONE, view('heat')),
    );
    expect([raster.width, raster.height]).toEqual([6, 4]);
    const alpha = (column: number, row: number) => raster.pixels[4 * (row * 6 + column) + 3];
    expect(alpha(0, 0)).toBe(0); // the uppermost bin at the first step
    expect(alpha(5, 0)).toBe(255); // and at the last, which has the largest count
    expect(alpha(0, 3)).toBeGreaterThan(180);
  });

  test('a step reaches half way to its neighbours', () => {
    expect([...findNearestSteps(Float64Array.of(0, 10), 4, [-5, 15])]).toEqual([0, 0, 1, 1]);
    expect([...findNearestSteps(Float64Array.of(0, 10), 4, [-25, 15])]).toEqual([-1, -1, 0, 1]);
    expect([...findNearestSteps(Float64Array.of(3), 2, [0, 9])]).toEqual([0, 0]);
  });

  test('bands lie within each other', () => {
    const { layout } = frameOf(ONE, view('bands'));
    const [outer, inner] = [
      traceBand(makeSpread(), 0, 8, layout),
      traceBand(makeSpread(), 3, 5, layout),
    ];
    inner.low.forEach((low, at) => {
      expect(low).toBeLessThan(outer.low[at] ?? 0); // pixels grow downwards
      expect(inner.high[at]).toBeGreaterThan(outer.high[at] ?? 0);
    });
  });

  test.each(['offset', 'overlay', 'bands', 'together'] as const)('%s as SVG, by name', (mode) => {
    const svg = exportHistogramSvg(
      { title: 'conv/weights', content: THREE, view: view(mode) },
      widthOf,
    );
    expect(svg).toContain('<title>conv/weights</title>');
    for (const name of ['a', 'b', 'c']) expect(svg).toContain(`>${name}</text>`);
    expect(svg).not.toContain('NaN');
  });

  test('nothing, one step and nothing but zeros can be drawn', () => {
    const zeros = {
      ...makeSpread(),
      counts: new Float32Array(12),
      percentiles: new Float64Array(27).fill(NaN),
    };
    const single = { ...makeSpread(), x: Float64Array.of(7), counts: Float32Array.of(1, 2, 3, 4) };
    for (const series of [[], [zeros], [single]])
      for (const binEdges of [GRID, new Float64Array()])
        for (const mode of ['offset', 'overlay', 'bands', 'together'] as const) {
          const content = { binEdges, series };
          const pen = new SvgRenderer(widthOf);
          drawHistograms(pen, content, layOut(content, view(mode)), mode, LIGHT_THEME);
          expect(pen.toSvg(400, 300, '')).not.toContain('NaN');
        }
  });
});
