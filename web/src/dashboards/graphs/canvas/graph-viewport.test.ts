import { expect, test } from 'vitest';

import type { Box, Size } from '../layout/layout-types';
import type { DrawnNode } from './graph-drawing';
import { avoidLegend, type ViewTransform } from './graph-viewport.svelte';

const SCREEN: Size = { width: 800, height: 600 };
const LEGEND: Size = { width: 200, height: 150 };

/** Show the whole drawing in the middle. */
function fit(drawing: Size, screen: Size): ViewTransform {
  const scale = Math.min(1, screen.width / drawing.width, screen.height / drawing.height);
  const x = (screen.width - drawing.width * scale) / 2;
  return { scale, x, y: (screen.height - drawing.height * scale) / 2 };
}

function makeDrawing(size: Size, boxes: readonly Box[]): Parameters<typeof avoidLegend>[1] {
  return { ...size, nodes: boxes as readonly DrawnNode[] };
}

test('keeps a view in which the legend covers no node', () => {
  const narrow = makeDrawing({ width: 200, height: 600 }, [
    { x: 100, y: 580, width: 80, height: 40 },
  ]);
  expect(avoidLegend(fit, narrow, SCREEN, LEGEND)).toEqual(fit(narrow, SCREEN));
});

test('moves a graph beside the legend, or above it if the graph is larger there', () => {
  const tall = makeDrawing({ width: 500, height: 600 }, [{ x: 40, y: 580, width: 80, height: 40 }]);
  expect(avoidLegend(fit, tall, SCREEN, LEGEND)).toEqual({ scale: 1, x: 250, y: 0 });
  const wide = makeDrawing({ width: 800, height: 440 }, [{ x: 40, y: 420, width: 80, height: 40 }]);
  expect(avoidLegend(fit, wide, { ...SCREEN, height: 590 }, LEGEND)).toEqual({
    scale: 1,
    x: 0,
    y: 0,
  });
});

test('keeps the view if there is no room beside the legend', () => {
  const drawing = makeDrawing(SCREEN, [{ x: 400, y: 300, width: 800, height: 600 }]);
  const legend = { width: 500, height: 400 };
  expect(avoidLegend(fit, drawing, SCREEN, legend)).toEqual(fit(drawing, SCREEN));
});
