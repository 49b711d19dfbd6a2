/** The plot of datapoints as an image with its legend, in the light theme. */
import {
  LIGHT_THEME,
  type Point,
  type Raster,
  type Rect,
  type Renderer,
} from '../../../charts/renderer/renderer';
import { renderPng, renderSvg } from '../../../charts/renderer/image-export';
import type { DatapointColors } from './datapoint-colors';
import { type AxesContent, drawAxes } from './plot-axes';

export interface PlotImage {
  /** The axes; their theme is replaced. */
  readonly axes: Omit<AxesContent, 'theme'>;
  /** `x y` of each point; NaN if it is not visible. */
  readonly xy: Float32Array;
  readonly colors: DatapointColors;
  readonly colorTitle: string;
  readonly pointSize: number;
  /** Circles around chosen points. */
  readonly rings: readonly {
    readonly at: Point;
    readonly radius: number;
    readonly color: string;
    readonly label: string;
  }[];
  /** The points as drawn, if there are too many for single shapes, or images in their place. */
  readonly raster: Raster | null;
}

/** With more points, an SVG has them as one picture; it would take seconds to open otherwise. */
export const MAX_SHAPES = 20_000;

const MARGIN = 16;
const TITLE_HEIGHT = 36;
const LEGEND_HEIGHT = 24;
const FONT = { size: 11.5 };
const RAMP_WIDTH = 120;

export function exportPlotSvg(
  content: PlotImage,
  title: string,
  measure?: Renderer['measureText'],
): string {
  const draw = (renderer: Renderer) => drawPlot(renderer, content, title);
  return renderSvg(getSize(content), title, draw, measure);
}

export function exportPlotPng(content: PlotImage, title: string): Promise<Blob> {
  return renderPng(getSize(content), (renderer) => drawPlot(renderer, content, title));
}

function getSize({ axes }: PlotImage): { width: number; height: number } {
  return { width: axes.width, height: axes.height + TITLE_HEIGHT + LEGEND_HEIGHT };
}

function drawPlot(renderer: Renderer, content: PlotImage, title: string): void {
  const size = getSize(content);
  const { background, text } = LIGHT_THEME;
  renderer.rect({ left: 0, top: 0, ...size }, { color: background });
  renderer.text(title, MARGIN, 12, {
    ...{ size: 15, bold: true, color: text, align: 'left', baseline: 'top' },
  });
  drawLegend(renderer, content, size.width);
  renderer.translate({ x: 0, y: TITLE_HEIGHT + LEGEND_HEIGHT }, () => {
    drawPoints(renderer, content);
    drawAxes(renderer, { ...content.axes, theme: LIGHT_THEME });
    drawRings(renderer, content);
  });
}

function drawPoints(renderer: Renderer, { axes, xy, colors, pointSize, raster }: PlotImage): void {
  const { margins, width, height } = axes;
  const plot: Rect = {
    left: margins.left,
    top: margins.top,
    width: width - margins.left - margins.right,
    height: height - margins.top - margins.bottom,
  };
  renderer.clip(plot, () => {
    if (raster) {
      renderer.image(raster, { left: 0, top: 0, width, height });
      return;
    }
    for (let at = 0; 2 * at < xy.length; at++) {
      const [x = NaN, y = NaN] = [xy[2 * at], xy[2 * at + 1]];
      const alpha = colors.rgba[4 * at + 3] ?? 0;
      if (Number.isNaN(x + y) || alpha === 0) continue;
      renderer.dot(x, y, pointSize / 2, { color: formatColor(colors.rgba, at) });
    }
  });
}

function formatColor(rgba: Uint8Array, at: number): string {
  const [red = 0, green = 0, blue = 0, alpha = 255] = rgba.subarray(4 * at, 4 * at + 4);
  const parts = alpha === 255 ? [red, green, blue] : [red, green, blue, alpha];
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function drawRings(renderer: Renderer, { rings }: PlotImage): void {
  for (const { at, radius, color, label } of rings) {
    const points = Array.from({ length: 33 }, (_, step) => {
      const angle = (step / 32) * 2 * Math.PI;
      return [at.x + radius * Math.cos(angle), at.y + radius * Math.sin(angle)];
    });
    const outline = Float32Array.from(points.flat());
    renderer.stroke({ points: outline, length: outline.length }, { color, width: 1.75 });
    renderer.text(label, at.x + radius + 3, at.y, {
      ...{ size: 12, bold: true, color: LIGHT_THEME.text, align: 'left', baseline: 'middle' },
    });
  }
}

function drawLegend(renderer: Renderer, { colors, colorTitle }: PlotImage, width: number): void {
  const { entries, more, ramp } = colors;
  if (entries.length === 0 && !ramp) return;
  const middle = TITLE_HEIGHT + LEGEND_HEIGHT / 2;
  let left = MARGIN;
  const write = (text: string, gap: number, style = { color: LIGHT_THEME.text, bold: false }) => {
    renderer.text(text, left, middle, { ...FONT, ...style, align: 'left', baseline: 'middle' });
    left += renderer.measureText(text, { ...FONT, bold: style.bold }) + gap;
  };
  write(colorTitle, 12, { color: LIGHT_THEME.text, bold: true });
  if (ramp) {
    write(ramp.from, 6);
    const step = RAMP_WIDTH / ramp.colors.length;
    for (const color of ramp.colors) {
      renderer.rect({ left, top: middle - 5, width: step + 0.5, height: 10 }, { color });
      left += step;
    }
    left += 6;
    write(ramp.to, 0);
    return;
  }
  for (const [at, { name, color }] of entries.entries()) {
    const end = left + 14 + renderer.measureText(name, FONT);
    if (end > width - MARGIN) {
      write(`+${entries.length - at + more}`, 0);
      return;
    }
    renderer.dot(left + 5, middle, 5, { color });
    left += 14;
    write(name, 14);
  }
  if (more > 0) write(`+${more}`, 0);
}
