import { describe, expect, test } from 'vitest';

import { LIGHT_THEME, type Renderer } from '../renderer/renderer';
import { SvgRenderer } from '../renderer/image-export';
import {
  drawHistograms,
  exportHistogramSvg,
  findNearestSteps,
  getAgeOpacity,
  renderHeatMap,
  traceBand,
  traceRidge,
} from './histogram-renderer';
import {
  choosePanelGrid,
  computeExtents,
  findFiniteRange,
  type HistogramData,
  type HistogramMode,
  type HistogramSeries,
  type HistogramViewOptions,
  layoutPanels,
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

const measure: Renderer['measureText'] = (text, { size }) => text.length * size * 0.5;
const SIZE = { width: 400, height: 300 };
const BASIC: HistogramViewOptions = {
  mode: 'offset',
  format: 'step',
  log: false,
  ignoreOutliers: true,
  steps: null,
  values: null,
};

/** Three histograms with four bins; the peak moves to the right. */
function makeSeries(id = 'a'): HistogramSeries {
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
const ONE: HistogramData = { binEdges: GRID, series: [makeSeries()] };
const THREE: HistogramData = { binEdges: GRID, series: ['a', 'b', 'c'].map(makeSeries) };

const view = (
  mode: HistogramMode,
  rest: Partial<HistogramViewOptions> = {},
): HistogramViewOptions => ({
  ...BASIC,
  mode,
  ...rest,
});
const layOut = (content: HistogramData, how: HistogramViewOptions) =>
  layoutPanels(content, how, SIZE, measure);
const frameOf = (content: HistogramData, how: HistogramViewOptions, number = 0) => {
  const panel = layOut(content, how).panels[number];
  if (!panel) throw new Error('no such panel');
  return panel;
};

describe('extents', () => {
  test('values come from the bin edges, steps from the columns', () => {
    expect(computeExtents(ONE, BASIC)).toMatchObject({
      steps: [0, 200],
      values: [0, 4],
      maxCount: 10,
    });
  });

  test('a single wide step does not determine the value range', () => {
    const entry = makeSeries();
    const many = {
      ...entry,
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

  test('a log scale starts above zero and needs positive values', () => {
    const [low] = computeExtents(ONE, view('bands', { log: true })).values;
    expect(low).toBeGreaterThan(0);
    const below = { ...makeSeries(), percentiles: new Float64Array(27).fill(-1) };
    expect(
      computeExtents({ binEdges: GRID, series: [below] }, view('bands', { log: true })).isLog,
    ).toBe(false);
  });

  test('non-finite values are ignored', () => {
    expect(findFiniteRange([Float64Array.of(NaN, 2, Infinity, -3)])).toEqual([-3, 2]);
    expect(findFiniteRange([Float64Array.of(NaN)])).toBeNull();
  });

  test('the count scale runs from 0 to 1', () => {
    expect([0, 5, 10].map(makeCountScale(10, false))).toEqual([0, 0.5, 1]);
    const log = makeCountScale(999, true);
    expect(log(999)).toBe(1);
    expect(log(9)).toBeCloseTo(1 / 3);
    expect(makeCountScale(0, false)(3)).toBe(0);
  });
});

describe('panels', () => {
  test('have a suitable aspect ratio', () => {
    expect(choosePanelGrid(1, 400, 260)).toEqual([1, 1]);
    expect(choosePanelGrid(4, 400, 260)).toEqual([2, 2]);
    expect(choosePanelGrid(8, 400, 330)).toEqual([2, 4]);
    expect(choosePanelGrid(3, 1200, 260)).toEqual([3, 1]);
  });

  test('are inside the chart, side by side, with equal sizes', () => {
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

  test('the newest ridge is at the bottom and stays within the panel', () => {
    const { layout } = frameOf(ONE, BASIC);
    const { extents } = layOut(ONE, BASIC);
    const last = traceRidge(makeSeries(), 2, GRID, layout, extents);
    expect(last.low[0]).toBeCloseTo(layout.plotArea.top + layout.plotArea.height, 3);
    const first = traceRidge(makeSeries(), 0, GRID, layout, extents);
    expect(Math.min(...first.high)).toBeGreaterThanOrEqual(layout.plotArea.top - 1);
    expect(first.low[0]).toBeLessThan(last.low[0] ?? 0);
    expect(getAgeOpacity(0, [0, 200])).toBeLessThan(getAgeOpacity(200, [0, 200]));
  });
});

describe('hit testing', () => {
  test('finds the front ridge under the pointer', () => {
    const { layout } = frameOf(ONE, BASIC);
    const bottom = layout.plotArea.top + layout.plotArea.height;
    const point = findPointAt(ONE, layOut(ONE, BASIC), 'offset', {
      x: layout.x.scale.toPixel(3.5),
      y: bottom - 10,
    });
    expect(point).toMatchObject({ seriesIndex: 0, index: 2 });
    expect(point?.value).toBeCloseTo(3.5);
    const back = { x: layout.x.scale.toPixel(0.5), y: layout.y.scale.toPixel(0) - 20 };
    expect(findPointAt(ONE, layOut(ONE, BASIC), 'offset', back)?.index).toBe(0);
  });

  test('finds the nearest step of a heat map in the hovered panel', () => {
    const how = view('heat');
    const panel = frameOf(THREE, how, 2);
    const { plotArea, x, y } = panel.layout;
    const point = { x: x.scale.toPixel(110), y: y.scale.toPixel(2.5) };
    expect(findPanelAt(layOut(THREE, how), point)?.seriesIndexes).toEqual([2]);
    const found = findPointAt(THREE, layOut(THREE, how), 'heat', point);
    expect(found).toMatchObject({ seriesIndex: 2, index: 1 });
    expect(found?.value).toBeCloseTo(2.5);
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

  test('arrow keys move between histograms and bins', () => {
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

test('a run that ended earlier is not highlighted', () => {
  const x = Float64Array.of(0, 10, 20);
  expect([4, 24, 31, -11].map((place) => findIndexAt(x, place))).toEqual([0, 2, -1, -1]);
  expect(findIndexAt(Float64Array.of(7), 7)).toBe(0);
});

describe('zooming', () => {
  test('a rectangle over ridges selects values and steps', () => {
    const { layout } = frameOf(ONE, BASIC);
    const [from, to] = [
      { x: layout.x.scale.toPixel(1), y: layout.y.scale.toPixel(100) },
      { x: layout.x.scale.toPixel(3), y: layout.y.scale.toPixel(200) },
    ];
    const zoom = zoomHistogramToRect(layout, 'offset', BASIC, from, to);
    expect(zoom?.values?.map((end) => Math.round(end * 100) / 100)).toEqual([1, 3]);
    expect(zoom?.steps?.map(Math.round)).toEqual([100, 200]);
  });

  test('a drag along the x axis of bands keeps the values', () => {
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

  test('overlaid lines are zoomed along values only', () => {
    const how = view('overlay');
    const { layout } = frameOf(ONE, how);
    const at = { x: layout.x.scale.toPixel(2), y: layout.plotArea.top + 20 };
    const zoom = zoomHistogramAround(layout, 'overlay', how, at, 2);
    expect(zoom?.steps).toBeNull();
    expect(zoom?.values).toEqual([1, 3]);
  });
});

describe('drawing', () => {
  test('a heat map is transparent where counts are zero', () => {
    const raster = renderHeatMap(
      makeSeries(),
      GRID,
      6,
      [0, 200],
      computeExtents(ONE, view('heat')),
    );
    expect([raster.width, raster.height]).toEqual([6, 4]);
    const alpha = (column: number, row: number) => raster.pixels[4 * (row * 6 + column) + 3];
    expect(alpha(0, 0)).toBe(0); // The top bin at the first step.
    expect(alpha(5, 0)).toBe(255); // And at the last step, which has the largest count.
    expect(alpha(0, 3)).toBeGreaterThan(180);
  });

  test('a step extends halfway to its neighbors', () => {
    expect([...findNearestSteps(Float64Array.of(0, 10), 4, [-5, 15])]).toEqual([0, 0, 1, 1]);
    expect([...findNearestSteps(Float64Array.of(0, 10), 4, [-25, 15])]).toEqual([-1, -1, 0, 1]);
    expect([...findNearestSteps(Float64Array.of(3), 2, [0, 9])]).toEqual([0, 0]);
  });

  test('bands are nested', () => {
    const { layout } = frameOf(ONE, view('bands'));
    const [outer, inner] = [
      traceBand(makeSeries(), 0, 8, layout),
      traceBand(makeSeries(), 3, 5, layout),
    ];
    inner.low.forEach((low, at) => {
      expect(low).toBeLessThan(outer.low[at] ?? 0); // Pixels increase downwards.
      expect(inner.high[at]).toBeGreaterThan(outer.high[at] ?? 0);
    });
  });

  test.each(['offset', 'overlay', 'bands', 'together'] as const)('%s as SVG, by name', (mode) => {
    const svg = exportHistogramSvg(
      { title: 'conv/weights', content: THREE, view: view(mode) },
      measure,
    );
    expect(svg).toContain('<title>conv/weights</title>');
    for (const name of ['a', 'b', 'c']) expect(svg).toContain(`>${name}</text>`);
    expect(svg).not.toContain('NaN');
  });

  test('no data, one step and all zeros can be drawn', () => {
    const zeros = {
      ...makeSeries(),
      counts: new Float32Array(12),
      percentiles: new Float64Array(27).fill(NaN),
    };
    const single = { ...makeSeries(), x: Float64Array.of(7), counts: Float32Array.of(1, 2, 3, 4) };
    for (const series of [[], [zeros], [single]])
      for (const binEdges of [GRID, new Float64Array()])
        for (const mode of ['offset', 'overlay', 'bands', 'together'] as const) {
          const content = { binEdges, series };
          const renderer = new SvgRenderer(measure);
          drawHistograms(renderer, content, layOut(content, view(mode)), mode, LIGHT_THEME);
          expect(renderer.toSvg(400, 300, '')).not.toContain('NaN');
        }
  });
});
