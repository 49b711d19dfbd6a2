/** How long a crowded chart takes to draw and to follow a pointer, in this browser. */

import { nearestLine, valuesAt } from '../charts/nearest';
import { widthOf } from '../charts/pen/measure';
import { drawPicture } from '../charts/picture/draw';
import { type Layout, layOut, type Size } from '../charts/picture/layout';
import { drawOverlay } from '../charts/picture/overlay';
import { LIGHT } from '../charts/picture/palette';
import { planAxes, type Settings } from '../charts/picture/plan';
import { paint } from '../charts/stage/stage.svelte';
import type { Line } from '../charts/types';
import { learningCurves, makeLine } from './samples';

export interface Figures {
  readonly what: string;
  readonly median_ms: number;
  readonly worst_ms: number;
}

const FREE = { low: null, high: null };
const SETTINGS: Settings = {
  xFormat: 'number',
  xScale: 'linear',
  yScale: 'linear',
  y2Scale: 'linear',
  xLimits: FREE,
  yLimits: FREE,
  y2Limits: FREE,
  ignoreOutliers: true,
  rows: 4,
};
const ROUNDS = 30;

export function measureCharts(size: Size): Figures[] {
  return [1, 8, 20, 100, 500].flatMap((count) => measureLines(count, size));
}

function measureLines(count: number, size: Size): Figures[] {
  const drawn = learningCurves(count, 400, true);
  // Hundreds of lines come without all that lies behind each of them.
  const lines = drawn.map(count > 100 ? ({ y }, index) => makeLine(index, y) : withEnvelope);
  const content = { lines, bands: [], flags: [] };
  const arrange = (): Layout => layOut(planAxes(content, SETTINGS, null), size, widthOf);
  const layout = arrange();
  const canvas = document.createElement('canvas');
  const draw = (): void => {
    paint(canvas, size, devicePixelRatio, (pen) => drawPicture(pen, { ...content, layout }, LIGHT));
    finish(canvas);
  };
  const over = document.createElement('canvas');
  const name = `${count} × 400`;
  return [
    time(`${name}: fit and lay out`, () => void arrange()),
    time(`${name}: draw`, draw),
    time(`${name}: hover`, (round) => hover(over, lines, layout, round)),
  ];
}

/** As a line of many points comes: with the lowest and highest value of each column. */
function withEnvelope(line: Line): Line {
  return { ...line, low: line.y.map((y) => y * 0.9), high: line.y.map((y) => y * 1.1) };
}

/** Everything that one move of the pointer sets going. */
function hover(canvas: HTMLCanvasElement, lines: Line[], layout: Layout, round: number): void {
  const { frame, size } = layout;
  const at = { x: frame.left + (round / ROUNDS) * frame.width, y: frame.top + frame.height / 2 };
  const id = nearestLine(lines, layout, at);
  const cursor = layout.x.scale.valueAt(at.x);
  valuesAt(lines, cursor);
  const overlay = {
    cursor,
    pinned: null,
    range: null,
    spots: [],
    box: null,
    word: null,
    highlighted: lines.filter((line) => line.id === id),
    veiled: true,
  };
  paint(canvas, size, devicePixelRatio, (pen) => drawOverlay(pen, layout, lines, overlay, LIGHT));
  finish(canvas);
}

/** Canvases put drawing off; who asks for a pixel has to be given it. */
function finish(canvas: HTMLCanvasElement): void {
  canvas.getContext('2d')?.getImageData(0, 0, 1, 1);
}

function time(what: string, work: (round: number) => void): Figures {
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    work(round);
    taken.push(performance.now() - began);
  }
  taken.sort((one, other) => one - other);
  return { what, median_ms: taken[ROUNDS >> 1] ?? NaN, worst_ms: taken[ROUNDS - 1] ?? NaN };
}
