import { nearestLine } from '../nearest';
import type { Point } from '../pen/pen';
import { findFlag } from '../picture/flags';
import { findMark } from '../picture/marks';
import { fitVertical } from '../picture/plan';
import type { Word } from '../picture/overlay';
import type { LineChartProps } from '../props';
import type { Extent } from '../types';
import type { Chart } from './chart.svelte';
import type { Hand } from './gestures';
import { axesAt, axesOfDrag, extentMoved, extentOfBox, extentZoomed } from './zoom';

/** What gestures do to a chart. `show` changes what is seen of it; null shows all. */
export function handOf(
  chart: Chart,
  given: () => LineChartProps,
  show: (extent: Extent | null) => void,
): Hand {
  // A step too fine for numbers leaves what is seen as it is.
  const showSome = (extent: Extent | null): void => void (extent && show(extent));
  const hover = (at: Point | null): void => {
    const { x, y } = chart.layout;
    chart.nearest = at && nearestLine(chart.content.lines, chart.layout, at);
    chart.word = at && wordAt(chart, at);
    given().onhover?.(at && x.scale.valueAt(at.x), at && y.scale.valueAt(at.y), chart.nearest);
  };
  return {
    hover,
    pick: (at) => given().onpick?.(chart.layout.x.scale.valueAt(at.x)),
    drag(from, to) {
      chart.drag = { from, to };
      hover(to);
    },
    drop(from, to) {
      chart.drag = null;
      const extent = extentOfBox(chart.layout, from, to);
      if (given().selecting) given().onrange?.(extent && extent.x);
      else if (axesOfDrag(chart.layout, from, to) === 'x') showSome(extent && refit(chart, extent));
      else showSome(extent);
    },
    cancel: () => void (chart.drag = null),
    pan: (dx, dy) => showSome(extentMoved(chart.layout, dx, dy)),
    zoom: (at, factor) =>
      showSome(extentZoomed(chart.layout, at, factor, axesAt(chart.layout, at))),
    fit: () => show(null),
    grabs: () => given().selecting ?? false,
  };
}

function wordAt({ content, layout }: Chart, at: Point): Word | null {
  return findMark(content.lines, layout, at) ?? findFlag(content.flags, layout, at);
}

/** Who zooms along the horizontal axis wants to see all there is at that place. */
function refit({ content, settings }: Chart, { x, y2 }: Extent): Extent {
  const y = fitVertical(content, settings, 0, x);
  return { x, y, ...(y2 ? { y2: fitVertical(content, settings, 1, x) } : {}) };
}
