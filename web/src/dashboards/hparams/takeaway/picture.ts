import { drawPng, drawSvg } from '../../../charts/export/paper';
import type { Box, Pen } from '../../../charts/pen/pen';
import type { Size } from '../../../charts/picture/layout';
import { LIGHT } from '../../../charts/picture/palette';
import type { Pictures } from '../../../wall/takeaway/pictures';
import { drawLegend, type Legend } from '../colour/legend';
import { inkColours } from '../model/ink';
import type { Figure } from './figures';
import { drawWord, readWords, type Word } from './words';

const MARGIN = 16;
const TITLE_SIZE = 15;
const TITLE_HEIGHT = 36;
const LEGEND_HEIGHT = 24;

/**
 * The plot as it stands on the page, on white paper: every figure at its place, the words around
 * them, and what their colours mean.
 */
export function pictureOf(
  root: HTMLElement,
  figures: readonly Figure[],
  legend: Legend | null,
): Pictures | null {
  if (figures.length === 0) return null;
  const words = readWords(root);
  const bounds = boundsOf([
    ...figures.map(({ element }) => element.getBoundingClientRect()),
    ...words.map(({ box }) => box),
  ]);
  const size = {
    width: Math.ceil(bounds.width + 2 * MARGIN),
    height: Math.ceil(bounds.height + TITLE_HEIGHT + (legend ? LEGEND_HEIGHT : 0) + MARGIN),
  };
  const draw = (title: string) => (pen: Pen) => {
    pen.box({ left: 0, top: 0, ...size }, { colour: LIGHT.paper });
    drawTitle(pen, title);
    const corner = { x: MARGIN - bounds.left, y: TITLE_HEIGHT - bounds.top };
    pen.moved(corner, () => drawPlot(pen, figures, words));
    if (legend) drawLegend(pen, legend, legendPlace(size), LIGHT);
  };
  return {
    exportSvg: (title) => drawSvg(size, title, draw(title)),
    exportPng: (title) => drawPng(size, draw(title)),
  };
}

function drawTitle(pen: Pen, title: string): void {
  const style = { size: TITLE_SIZE, bold: true, colour: LIGHT.text } as const;
  pen.text(title, MARGIN, 12, { ...style, align: 'left', baseline: 'top' });
}

function drawPlot(pen: Pen, figures: readonly Figure[], words: readonly Word[]): void {
  const inks = inkColours(false);
  for (const figure of figures) {
    const { left, top } = figure.element.getBoundingClientRect();
    pen.moved({ x: left, y: top }, () => figure.draw(pen, LIGHT, inks));
  }
  for (const word of words) drawWord(pen, word, LIGHT);
}

function legendPlace({ width, height }: Size): { right: number; middle: number } {
  return { right: width - MARGIN, middle: height - LEGEND_HEIGHT / 2 - 4 };
}

function boundsOf(boxes: readonly Box[]): Box {
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const right = Math.max(...boxes.map((box) => box.left + box.width));
  const foot = Math.max(...boxes.map((box) => box.top + box.height));
  return { left, top, width: right - left, height: foot - top };
}
