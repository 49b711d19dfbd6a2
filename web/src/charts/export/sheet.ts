import { CanvasPen } from '../pen/canvas';
import { widthOf } from '../pen/measure';
import type { Box, Pen } from '../pen/pen';
import { SvgPen } from '../pen/svg';
import { drawPicture, type Picture } from '../picture/draw';
import { type Layout, layOut, type Plan, type Size } from '../picture/layout';
import { LIGHT } from '../picture/palette';
import { drawLegend, layOutLegend, type Legend } from './legend';

/** A chart as it is taken away: on white, with what a page says around it. */
export interface Sheet extends Omit<Picture, 'layout'> {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly y2Label: string;
  readonly plan: Plan;
}

interface Arrangement {
  readonly legend: Legend;
  readonly layout: Layout;
}

const WIDTH = 880;
const HEIGHT = 460;
const MARGIN = 16;
const TITLE_SIZE = 15;
const TITLE_HEIGHT = 36;
const LABEL_SIZE = 11.5;
const LABEL_HEIGHT = 20;
const PNG_DENSITY = 2;

export function sheetToSvg(sheet: Sheet, measure: Pen['widthOf'] = widthOf): string {
  const pen = new SvgPen(measure);
  const { width, height } = drawSheet(pen, sheet);
  return pen.finish(width, height, sheet.title);
}

export async function sheetToPng(sheet: Sheet): Promise<Blob> {
  const { width, height } = arrange(sheet, widthOf).layout.size;
  const canvas = new OffscreenCanvas(width * PNG_DENSITY, height * PNG_DENSITY);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser gives no more canvases');
  context.scale(PNG_DENSITY, PNG_DENSITY);
  drawSheet(new CanvasPen(context, PNG_DENSITY), sheet);
  return canvas.convertToBlob({ type: 'image/png' });
}

function arrange(sheet: Sheet, measure: Pen['widthOf']): Arrangement {
  const legend = layOutLegend(sheet.lines, sheet.bands, WIDTH - 2 * MARGIN, measure);
  const size: Size = { width: WIDTH, height: HEIGHT + legend.height };
  const margins = {
    top: sheet.title ? TITLE_HEIGHT : MARGIN,
    right: MARGIN + (sheet.plan.y2 && sheet.y2Label ? LABEL_HEIGHT : 0),
    bottom: MARGIN + legend.height + (sheet.xLabel ? LABEL_HEIGHT : 0),
    left: MARGIN + (sheet.yLabel ? LABEL_HEIGHT - MARGIN / 2 : 0),
  };
  return { legend, layout: layOut(sheet.plan, size, measure, margins) };
}

function drawSheet(pen: Pen, sheet: Sheet): Size {
  const { legend, layout } = arrange(sheet, (text, style) => pen.widthOf(text, style));
  const { size } = layout;
  pen.box({ left: 0, top: 0, ...size }, { colour: LIGHT.paper });
  drawPicture(pen, { ...sheet, layout }, LIGHT);
  drawLabels(pen, sheet, layout.frame);
  drawLegend(pen, legend, MARGIN, size.height - legend.height - MARGIN / 2, LIGHT);
  return size;
}

function drawLabels(pen: Pen, sheet: Sheet, frame: Box): void {
  const { title, xLabel, yLabel, y2Label, plan } = sheet;
  const start = { align: 'left', baseline: 'top' } as const;
  const name = { size: LABEL_SIZE, colour: LIGHT.label, align: 'center' } as const;
  const [center, middle] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  pen.text(title, MARGIN, 12, { ...start, size: TITLE_SIZE, bold: true, colour: LIGHT.text });
  pen.text(xLabel, center, frame.top + frame.height + 24, { ...name, baseline: 'top' });
  pen.text(yLabel, MARGIN, middle, { ...name, baseline: 'middle', upwards: true });
  if (plan.y2)
    pen.text(y2Label, WIDTH - MARGIN, middle, { ...name, baseline: 'middle', upwards: true });
}
