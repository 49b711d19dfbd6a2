import { drawPng, drawSvg } from '../export/paper';
import type { Pen } from '../pen/pen';
import { LIGHT } from '../picture/palette';
import { drawSpread } from './draw';
import { layOutPanels } from './panels';
import type { SpreadContent, SpreadView } from './types';

/** A chart as it is taken away: on white, with what a page says around it. */
export interface SpreadSheet {
  readonly title: string;
  readonly content: SpreadContent;
  readonly view: SpreadView;
}

const SIZE = { width: 880, height: 520 };
const MARGINS = { top: 40, right: 8, bottom: 8, left: 8 };
const LEGEND = 20;

export function sheetToSvg(sheet: SpreadSheet, measure?: Pen['widthOf']): string {
  return drawSvg(SIZE, sheet.title, (pen) => drawSheet(pen, sheet), measure);
}

export function sheetToPng(sheet: SpreadSheet): Promise<Blob> {
  return drawPng(SIZE, (pen) => drawSheet(pen, sheet));
}

function drawSheet(pen: Pen, { title, content, view }: SpreadSheet): void {
  pen.box({ left: 0, top: 0, ...SIZE }, { colour: LIGHT.paper });
  const measure: Pen['widthOf'] = (text, style) => pen.widthOf(text, style);
  const hasLegend = view.mode === 'together' || content.spreads.length === 1;
  const margins = hasLegend ? { ...MARGINS, bottom: MARGINS.bottom + LEGEND } : MARGINS;
  const set = layOutPanels(content, view, SIZE, measure, margins);
  drawSpread(pen, content, set, view.mode, LIGHT);
  const style = {
    size: 15,
    bold: true,
    colour: LIGHT.text,
    align: 'left',
    baseline: 'top',
  } as const;
  pen.text(title, 16, 12, style);
  if (hasLegend) drawNames(pen, content);
}

function drawNames(pen: Pen, { spreads }: SpreadContent): void {
  const style = { size: 11, colour: LIGHT.text, align: 'left', baseline: 'middle' } as const;
  const middle = SIZE.height - LEGEND / 2 - 4;
  let left = 16;
  for (const { label, colour } of spreads) {
    pen.box({ left, top: middle - 4, width: 8, height: 8 }, { colour, radius: 2 });
    pen.text(label, left + 13, middle, style);
    left += 13 + pen.widthOf(label, style) + 18;
  }
}
