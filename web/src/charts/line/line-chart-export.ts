import * as common from '../../catalog/common';
import { type AxesSpec, layoutPlot, type PlotLayout, type Size } from '../axes/plot-axes';
import {
  type ChartTheme,
  LIGHT_THEME,
  makePath,
  measureText,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import { renderPng, renderSvg, SvgRenderer } from '../renderer/image-export';
import type { Band, Line } from '../types';
import { drawLineChart, getAnnotationSpace, type LineChartContent } from './line-renderer';

interface LegendEntry {
  readonly label: string;
  readonly color: string;
  readonly dash: readonly number[];
}

interface PlacedLegendEntry extends LegendEntry {
  readonly left: number;
  readonly top: number;
}

/** Legend entries in rows below a chart. */
export interface Legend {
  readonly entries: readonly PlacedLegendEntry[];
  readonly moreLabel: string;
  readonly height: number;
}

export const LEGEND_FONT_SIZE = 11;
const LEGEND_ROW_HEIGHT = 18;
const LINE_SAMPLE_WIDTH = 18;
const LINE_SAMPLE_GAP = 6;
const LEGEND_ENTRY_GAP = 18;
const MAX_LEGEND_ENTRIES = 60;

export function layoutLegend(
  lines: readonly Line[],
  bands: readonly Band[],
  width: number,
  measure: Renderer['measureText'],
): Legend {
  const all: LegendEntry[] = [
    ...bands.map((band) => ({ ...band, dash: band.dash ?? [] })),
    ...lines,
  ];
  const entries: PlacedLegendEntry[] = [];
  let [left, top] = [0, 0];
  for (const { label, color, dash } of all.slice(0, MAX_LEGEND_ENTRIES)) {
    const needed = LINE_SAMPLE_WIDTH + LINE_SAMPLE_GAP + measure(label, { size: LEGEND_FONT_SIZE });
    if (left > 0 && left + needed > width) [left, top] = [0, top + LEGEND_ROW_HEIGHT];
    entries.push({ label, color, dash, left, top });
    left += needed + LEGEND_ENTRY_GAP;
  }
  const more = all.length - MAX_LEGEND_ENTRIES;
  const rest = more > 0 ? common.andMore({ count: more }) : '';
  return { entries, moreLabel: rest, height: top + LEGEND_ROW_HEIGHT * (rest ? 2 : 1) };
}

export function drawLegend(
  renderer: Renderer,
  { entries, moreLabel, height }: Legend,
  left: number,
  top: number,
  { text, label: pale }: ChartTheme,
): void {
  const style = { size: LEGEND_FONT_SIZE, align: 'left', baseline: 'middle' } as const;
  for (const { label, color, dash, left: x, top: y } of entries) {
    const [from, middle] = [left + x, top + y + LEGEND_ROW_HEIGHT / 2];
    renderer.stroke(makePath(from, middle, from + LINE_SAMPLE_WIDTH, middle), {
      color,
      dash,
      width: 2,
    });
    renderer.text(label, from + LINE_SAMPLE_WIDTH + LINE_SAMPLE_GAP, middle, {
      ...style,
      color: text,
    });
  }
  if (moreLabel)
    renderer.text(moreLabel, left, top + height - LEGEND_ROW_HEIGHT / 2, { ...style, color: pale });
}

/** Content of an exported image. */
export interface LineChartExport extends Omit<LineChartContent, 'layout'> {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly y2Label: string;
  readonly axes: AxesSpec;
}

interface ExportLayout {
  readonly legend: Legend;
  readonly layout: PlotLayout;
}

/** Size and font of an image on paper. */
export interface PaperFormat {
  readonly widthMm: number;
  readonly heightMm: number;
  /** Size of the labels, in points. */
  readonly fontPt: number;
  /** As in CSS. */
  readonly fontFamily: string;
}

/** Millimeters and points in CSS pixels. */
const PX_PER_MM = 96 / 25.4;
const PX_PER_PT = 96 / 72;
const WIDTH = 880;
const HEIGHT = 460;
const MARGIN = 16;
const TITLE_SIZE = 15;
const TITLE_HEIGHT = 36;
const AXIS_TITLE_SIZE = 11.5;
const AXIS_TITLE_HEIGHT = 20;

export function exportLineChartSvg(
  content: LineChartExport,
  measure: Renderer['measureText'] = measureText,
): string {
  const layout = layoutExport(content, measure);
  return renderSvg(layout.layout.size, content.title, makeExportRenderer(content, layout), measure);
}

export function exportLineChartPng(content: LineChartExport): Promise<Blob> {
  const layout = layoutExport(content, measureText);
  return renderPng(layout.layout.size, makeExportRenderer(content, layout));
}

/** Return an SVG of a size in millimeters; labels have the size of the font, whatever the image has. */
export function exportLineChartForPaper(
  content: LineChartExport,
  { widthMm, heightMm, fontPt, fontFamily }: PaperFormat,
  measure: Renderer['measureText'] = createTextMeasure(fontFamily),
): string {
  // Drawn in units in which labels have their usual size, and scaled to the paper.
  const scale = (fontPt * PX_PER_PT) / LEGEND_FONT_SIZE;
  const [width, height] = [widthMm, heightMm].map((mm) => Math.round((mm * PX_PER_MM) / scale));
  const layout = layoutExport(content, measure, { width: width ?? 0, height: height ?? 0 });
  const renderer = new SvgRenderer(measure);
  makeExportRenderer(content, layout)(renderer);
  const { size } = layout.layout;
  return renderer.toSvg(size.width, size.height, content.title, {
    width: `${widthMm}mm`,
    height: `${heightMm}mm`,
    'font-family': fontFamily,
  });
}

function createTextMeasure(fontFamily: string): Renderer['measureText'] {
  const context = document.createElement('canvas').getContext('2d');
  if (!context) return measureText;
  return (text, { size, bold = false }) => {
    context.font = `${bold ? '600 ' : ''}${size}px ${fontFamily}`;
    return context.measureText(text).width;
  };
}

function layoutExport(
  content: LineChartExport,
  measure: Renderer['measureText'],
  total: Size | null = null,
): ExportLayout {
  const width = total?.width ?? WIDTH;
  const legend = layoutLegend(content.lines, content.bands, width - 2 * MARGIN, measure);
  const size: Size = total ?? { width, height: HEIGHT + legend.height };
  const margins = {
    top: (content.title ? TITLE_HEIGHT : MARGIN) + getAnnotationSpace(content.annotations),
    right: MARGIN + (content.axes.y2 && content.y2Label ? AXIS_TITLE_HEIGHT : 0),
    bottom: MARGIN + legend.height + (content.xLabel ? AXIS_TITLE_HEIGHT : 0),
    left: MARGIN + (content.yLabel ? AXIS_TITLE_HEIGHT - MARGIN / 2 : 0),
  };
  return { legend, layout: layoutPlot(content.axes, size, measure, margins) };
}

function makeExportRenderer(
  content: LineChartExport,
  { legend, layout }: ExportLayout,
): (renderer: Renderer) => void {
  const { size } = layout;
  return (renderer) => {
    renderer.rect({ left: 0, top: 0, ...size }, { color: LIGHT_THEME.background });
    drawLineChart(renderer, { ...content, layout }, LIGHT_THEME);
    drawTitles(renderer, content, layout.plotArea, size.width);
    drawLegend(renderer, legend, MARGIN, size.height - legend.height - MARGIN / 2, LIGHT_THEME);
  };
}

function drawTitles(
  renderer: Renderer,
  content: LineChartExport,
  frame: Rect,
  width: number,
): void {
  const { title, xLabel, yLabel, y2Label, axes } = content;
  const start = { align: 'left', baseline: 'top' } as const;
  const name = { size: AXIS_TITLE_SIZE, color: LIGHT_THEME.label, align: 'center' } as const;
  const [center, middle] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  renderer.text(title, MARGIN, 12, {
    ...start,
    size: TITLE_SIZE,
    bold: true,
    color: LIGHT_THEME.text,
  });
  renderer.text(xLabel, center, frame.top + frame.height + 24, { ...name, baseline: 'top' });
  renderer.text(yLabel, MARGIN, middle, { ...name, baseline: 'middle', vertical: true });
  if (axes.y2)
    renderer.text(y2Label, width - MARGIN, middle, { ...name, baseline: 'middle', vertical: true });
}
