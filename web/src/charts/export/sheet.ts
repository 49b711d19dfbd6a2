import { widthOf } from '../pen/measure';
import type { Box, Pen } from '../pen/pen';
import { drawPicture, type Picture } from '../picture/draw';
import { type Layout, layOut, type Plan, type Size } from '../picture/layout';
import { LIGHT } from '../picture/palette';
import { drawLegend, layOutLegend, type Legend } from './legend';
import { drawPng, drawSvg } from './paper';

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

export function sheetToSvg(sheet: Sheet, measure: Pen['widthOf'] = widthOf): string {
  const arranged = arrange(sheet, measure);
  return drawSvg(arranged.layout.size, sheet.title, draw(sheet, arranged), measure);
}

export function sheetToPng(sheet: Sheet): Promise<Blob> {
  const arranged = arrange(sheet, widthOf);
  return drawPng(arranged.layout.size, draw(sheet, arranged));
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

function draw(sheet: Sheet, { legend, layout }: Arrangement): (pen: Pen) => void {
  const { size } = layout;
  return (pen) => {
    pen.box({ left: 0, top: 0, ...size }, { colour: LIGHT.paper });
    drawPicture(pen, { ...sheet, layout }, LIGHT);
    drawLabels(pen, sheet, layout.frame);
    drawLegend(pen, legend, MARGIN, size.height - legend.height - MARGIN / 2, LIGHT);
  };
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
