import { renderPng, renderSvg } from '../renderer/image-export';
import type { Renderer } from '../renderer/renderer';
import { LIGHT_THEME } from '../renderer/chart-theme';
import { drawHistograms } from './histogram-renderer';
import { layoutPanels } from './panel-layout';
import type { HistogramData, HistogramViewOptions } from './histogram-model';

/** A chart as it is taken away: on white, with what a page says around it. */
export interface HistogramExport {
  readonly title: string;
  readonly content: HistogramData;
  readonly view: HistogramViewOptions;
}

const SIZE = { width: 880, height: 520 };
const MARGINS = { top: 40, right: 8, bottom: 8, left: 8 };
const LEGEND_HEIGHT = 20;

export function exportHistogramSvg(
  sheet: HistogramExport,
  measure?: Renderer['measureText'],
): string {
  return renderSvg(SIZE, sheet.title, (pen) => drawExport(pen, sheet), measure);
}

export function exportHistogramPng(sheet: HistogramExport): Promise<Blob> {
  return renderPng(SIZE, (pen) => drawExport(pen, sheet));
}

function drawExport(pen: Renderer, { title, content, view }: HistogramExport): void {
  pen.rect({ left: 0, top: 0, ...SIZE }, { color: LIGHT_THEME.background });
  const measure: Renderer['measureText'] = (text, style) => pen.measureText(text, style);
  const hasLegend = view.mode === 'together' || content.series.length === 1;
  const margins = hasLegend ? { ...MARGINS, bottom: MARGINS.bottom + LEGEND_HEIGHT } : MARGINS;
  const set = layoutPanels(content, view, SIZE, measure, margins);
  drawHistograms(pen, content, set, view.mode, LIGHT_THEME);
  const style = {
    size: 15,
    bold: true,
    color: LIGHT_THEME.text,
    align: 'left',
    baseline: 'top',
  } as const;
  pen.text(title, 16, 12, style);
  if (hasLegend) drawSeriesLegend(pen, content);
}

function drawSeriesLegend(pen: Renderer, { series }: HistogramData): void {
  const style = { size: 11, color: LIGHT_THEME.text, align: 'left', baseline: 'middle' } as const;
  const middle = SIZE.height - LEGEND_HEIGHT / 2 - 4;
  let left = 16;
  for (const { label, color } of series) {
    pen.rect({ left, top: middle - 4, width: 8, height: 8 }, { color, radius: 2 });
    pen.text(label, left + 13, middle, style);
    left += 13 + pen.measureText(label, style) + 18;
  }
}
