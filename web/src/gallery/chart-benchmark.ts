/** Measures how long a chart with many lines takes to draw and to follow the pointer. */

import { findNearestLine, getValuesAt } from '../charts/line/line-hit-test';
import { LIGHT_THEME, measureText } from '../charts/renderer/renderer';
import { drawLineChart } from '../charts/line/line-renderer';
import { layoutPlot, type PlotLayout, type Size } from '../charts/axes/plot-axes';
import { drawLineOverlay } from '../charts/line/line-overlay';
import { resolveAxes, type AxisSettings } from '../charts/axes/domain';
import { drawOnCanvas } from '../charts/surface/canvas-surface.svelte';
import type { Line } from '../charts/types';
import { makeLearningCurves, makeLine } from './sample-data';

export interface BenchmarkResult {
  readonly name: string;
  readonly median_ms: number;
  readonly worst_ms: number;
}

const UNLIMITED = { low: null, high: null };
const SETTINGS: AxisSettings = {
  xFormat: 'number',
  xScale: 'linear',
  yScale: 'linear',
  y2Scale: 'linear',
  xLimits: UNLIMITED,
  yLimits: UNLIMITED,
  y2Limits: UNLIMITED,
  ignoreOutliers: true,
  yTickCount: 4,
};
const ROUNDS = 30;

export function runChartBenchmark(size: Size): BenchmarkResult[] {
  return [1, 8, 20, 100, 500].flatMap((count) => benchmarkLines(count, size));
}

function benchmarkLines(count: number, size: Size): BenchmarkResult[] {
  const drawn = makeLearningCurves(count, 400, true);
  // With hundreds of lines, there are no raw values behind them.
  const lines = drawn.map(count > 100 ? ({ y }, index) => makeLine(index, y) : addEnvelope);
  const content = { lines, bands: [], annotations: [] };
  const arrange = (): PlotLayout =>
    layoutPlot(resolveAxes(content, SETTINGS, null), size, measureText);
  const layout = arrange();
  const canvas = document.createElement('canvas');
  const draw = (): void => {
    drawOnCanvas(canvas, size, devicePixelRatio, (renderer) =>
      drawLineChart(renderer, { ...content, layout }, LIGHT_THEME),
    );
    flushCanvas(canvas);
  };
  const over = document.createElement('canvas');
  const name = `${count} × 400`;
  return [
    timeRounds(`${name}: fit and lay out`, () => void arrange()),
    timeRounds(`${name}: draw`, draw),
    timeRounds(`${name}: hover`, (round) => simulateHover(over, lines, layout, round)),
  ];
}

/** A downsampled line, with the minimum and maximum of each pixel column. */
function addEnvelope(line: Line): Line {
  return { ...line, low: line.y.map((y) => y * 0.9), high: line.y.map((y) => y * 1.1) };
}

/** Everything that one pointer move triggers. */
function simulateHover(
  canvas: HTMLCanvasElement,
  lines: Line[],
  layout: PlotLayout,
  round: number,
): void {
  const { plotArea, size } = layout;
  const at = {
    x: plotArea.left + (round / ROUNDS) * plotArea.width,
    y: plotArea.top + plotArea.height / 2,
  };
  const id = findNearestLine(lines, layout, at);
  const cursor = layout.x.scale.toValue(at.x);
  getValuesAt(lines, cursor);
  const overlay = {
    cursor,
    pinned: null,
    range: null,
    hoverPoints: [],
    dragRect: null,
    label: null,
    highlighted: lines.filter((line) => line.id === id),
    dimsOthers: true,
  };
  drawOnCanvas(canvas, size, devicePixelRatio, (renderer) =>
    drawLineOverlay(renderer, layout, lines, overlay, LIGHT_THEME),
  );
  flushCanvas(canvas);
}

/** Canvases defer drawing; reading a pixel forces it. */
function flushCanvas(canvas: HTMLCanvasElement): void {
  canvas.getContext('2d')?.getImageData(0, 0, 1, 1);
}

function timeRounds(what: string, work: (round: number) => void): BenchmarkResult {
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    work(round);
    taken.push(performance.now() - began);
  }
  taken.sort((one, other) => one - other);
  return { name: what, median_ms: taken[ROUNDS >> 1] ?? NaN, worst_ms: taken[ROUNDS - 1] ?? NaN };
}
