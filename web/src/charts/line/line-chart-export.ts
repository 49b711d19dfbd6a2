import { type AxesSpec, layoutPlot, type PlotLayout, type Size } from '../axes/plot-layout';
import { type ChartTheme, LIGHT_THEME } from '../renderer/chart-theme';
import { renderPng, renderSvg } from '../renderer/image-export';
import { makePath, measureText, type Rect, type Renderer } from '../renderer/renderer';
import type { Band, Line } from '../types';
import { drawLineChart, type LineChartContent } from './line-renderer';

interface LegendEntry {
  readonly label: string;
  readonly color: string;
  readonly dash: readonly number[];
}

interface PlacedLegendEntry extends LegendEntry {
  readonly left: number;
  readonly top: number;
}

/** Who is who, in rows below a chart. */
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
/** More names than this would be a book below a picture. */
const MAX_LEGEND_ENTRIES = 60;

export function layoutLegend(
  lines: readonly Line[],
  bands: readonly Band[],
  width: number,
  widthOf: Renderer['measureText'],
): Legend {
  const all: LegendEntry[] = [...bands.map((band) => ({ ...band, dash: [] })), ...lines];
  const entries: PlacedLegendEntry[] = [];
  let [left, top] = [0, 0];
  for (const { label, color, dash } of all.slice(0, MAX_LEGEND_ENTRIES)) {
    const needed = LINE_SAMPLE_WIDTH + LINE_SAMPLE_GAP + widthOf(label, { size: LEGEND_FONT_SIZE });
    if (left > 0 && left + needed > width) [left, top] = [0, top + LEGEND_ROW_HEIGHT];
    entries.push({ label, color, dash, left, top });
    left += needed + LEGEND_ENTRY_GAP;
  }
  const more = all.length - MAX_LEGEND_ENTRIES;
  const rest = more > 0 ? `and ${more} more` : '';
  return { entries, moreLabel: rest, height: top + LEGEND_ROW_HEIGHT * (rest ? 2 : 1) };
}

export function drawLegend(
  pen: Renderer,
  { entries, moreLabel, height }: Legend,
  left: number,
  top: number,
  { text, label: pale }: ChartTheme,
): void {
  const style = { size: LEGEND_FONT_SIZE, align: 'left', baseline: 'middle' } as const;
  for (const { label, color, dash, left: x, top: y } of entries) {
    const [from, middle] = [left + x, top + y + LEGEND_ROW_HEIGHT / 2];
    pen.stroke(makePath(from, middle, from + LINE_SAMPLE_WIDTH, middle), { color, dash, width: 2 });
    pen.text(label, from + LINE_SAMPLE_WIDTH + LINE_SAMPLE_GAP, middle, { ...style, color: text });
  }
  if (moreLabel)
    pen.text(moreLabel, left, top + height - LEGEND_ROW_HEIGHT / 2, { ...style, color: pale });
}

/** A chart as it is taken away: on white, with what a page says around it. */
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

const WIDTH = 880;
const HEIGHT = 460;
const MARGIN = 16;
const TITLE_SIZE = 15;
const TITLE_HEIGHT = 36;
const AXIS_TITLE_SIZE = 11.5;
const AXIS_TITLE_HEIGHT = 20;

export function exportLineChartSvg(
  sheet: LineChartExport,
  measure: Renderer['measureText'] = measureText,
): string {
  const arranged = layoutExport(sheet, measure);
  return renderSvg(arranged.layout.size, sheet.title, makeExportRenderer(sheet, arranged), measure);
}

export function exportLineChartPng(sheet: LineChartExport): Promise<Blob> {
  const arranged = layoutExport(sheet, measureText);
  return renderPng(arranged.layout.size, makeExportRenderer(sheet, arranged));
}

function layoutExport(sheet: LineChartExport, measure: Renderer['measureText']): ExportLayout {
  const legend = layoutLegend(sheet.lines, sheet.bands, WIDTH - 2 * MARGIN, measure);
  const size: Size = { width: WIDTH, height: HEIGHT + legend.height };
  const margins = {
    top: sheet.title ? TITLE_HEIGHT : MARGIN,
    right: MARGIN + (sheet.axes.y2 && sheet.y2Label ? AXIS_TITLE_HEIGHT : 0),
    bottom: MARGIN + legend.height + (sheet.xLabel ? AXIS_TITLE_HEIGHT : 0),
    left: MARGIN + (sheet.yLabel ? AXIS_TITLE_HEIGHT - MARGIN / 2 : 0),
  };
  return { legend, layout: layoutPlot(sheet.axes, size, measure, margins) };
}

function makeExportRenderer(
  sheet: LineChartExport,
  { legend, layout }: ExportLayout,
): (pen: Renderer) => void {
  const { size } = layout;
  return (pen) => {
    pen.rect({ left: 0, top: 0, ...size }, { color: LIGHT_THEME.background });
    drawLineChart(pen, { ...sheet, layout }, LIGHT_THEME);
    drawTitles(pen, sheet, layout.plotArea);
    drawLegend(pen, legend, MARGIN, size.height - legend.height - MARGIN / 2, LIGHT_THEME);
  };
}

function drawTitles(pen: Renderer, sheet: LineChartExport, frame: Rect): void {
  const { title, xLabel, yLabel, y2Label, axes } = sheet;
  const start = { align: 'left', baseline: 'top' } as const;
  const name = { size: AXIS_TITLE_SIZE, color: LIGHT_THEME.label, align: 'center' } as const;
  const [center, middle] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  pen.text(title, MARGIN, 12, { ...start, size: TITLE_SIZE, bold: true, color: LIGHT_THEME.text });
  pen.text(xLabel, center, frame.top + frame.height + 24, { ...name, baseline: 'top' });
  pen.text(yLabel, MARGIN, middle, { ...name, baseline: 'middle', vertical: true });
  if (axes.y2)
    pen.text(y2Label, WIDTH - MARGIN, middle, { ...name, baseline: 'middle', vertical: true });
}
