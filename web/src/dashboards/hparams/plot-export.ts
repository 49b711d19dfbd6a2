/** Export of the plots on screen as one image, with their texts and legend. */
import type { ImageExporter } from '../../cards/export';
import type { Size } from '../../charts/axes/plot-axes';
import {
  type ChartTheme,
  LIGHT_THEME,
  type Rect,
  type Renderer,
  type TextStyle,
} from '../../charts/renderer/renderer';
import { renderPng, renderSvg } from '../../charts/renderer/image-export';
import { type ColorLegend, drawColorLegend, getColorRamp } from './model/column-axes';

/** A plot that can be drawn again for an export. */
export interface PlotFigure {
  /** The image has the plot where the page has this element. */
  readonly element: HTMLElement;
  /** Draw relative to the corner of the element. */
  draw(renderer: Renderer, theme: ChartTheme, rampColors: readonly string[]): void;
}

/** The plots that are on screen. */
export class PlotFigures {
  /** The element with all plots and the texts around them. */
  root: HTMLElement | undefined;
  readonly #figures = new Set<PlotFigure>();

  get all(): readonly PlotFigure[] {
    return [...this.#figures];
  }

  /** Add a plot until the returned function is called. */
  add(figure: PlotFigure): () => void {
    this.#figures.add(figure);
    return () => this.#figures.delete(figure);
  }
}

const IMAGE_MARGIN_PX = 16;
const TITLE_FONT_PX = 15;
const TITLE_HEIGHT_PX = 36;
const LEGEND_HEIGHT_PX = 24;

/** Return an image of the plots in their layout on the page, in the light theme. */
export function makePlotImage(
  root: HTMLElement,
  figures: readonly PlotFigure[],
  legend: ColorLegend | null,
): ImageExporter | null {
  if (figures.length === 0) return null;
  const texts = readPageTexts(root);
  const bounds = computeBounds([
    ...figures.map(({ element }) => element.getBoundingClientRect()),
    ...texts.map(({ box }) => box),
  ]);
  const size = {
    width: Math.ceil(bounds.width + 2 * IMAGE_MARGIN_PX),
    height: Math.ceil(
      bounds.height + TITLE_HEIGHT_PX + (legend ? LEGEND_HEIGHT_PX : 0) + IMAGE_MARGIN_PX,
    ),
  };
  const draw = (title: string) => (renderer: Renderer) => {
    renderer.rect({ left: 0, top: 0, ...size }, { color: LIGHT_THEME.background });
    drawTitle(renderer, title);
    const offset = { x: IMAGE_MARGIN_PX - bounds.left, y: TITLE_HEIGHT_PX - bounds.top };
    renderer.translate(offset, () => drawPlots(renderer, figures, texts));
    if (legend) drawColorLegend(renderer, legend, getLegendPosition(size), LIGHT_THEME);
  };
  return {
    exportSvg: (title) => renderSvg(size, title, draw(title)),
    exportPng: (title) => renderPng(size, draw(title)),
  };
}

function drawTitle(renderer: Renderer, title: string): void {
  const style = { size: TITLE_FONT_PX, bold: true, color: LIGHT_THEME.text } as const;
  renderer.text(title, IMAGE_MARGIN_PX, 12, { ...style, align: 'left', baseline: 'top' });
}

function drawPlots(
  renderer: Renderer,
  figures: readonly PlotFigure[],
  texts: readonly PageText[],
): void {
  const rampColors = getColorRamp(false);
  for (const figure of figures) {
    const { left, top } = figure.element.getBoundingClientRect();
    renderer.translate({ x: left, y: top }, () => figure.draw(renderer, LIGHT_THEME, rampColors));
  }
  for (const text of texts) drawPageText(renderer, text, LIGHT_THEME);
}

function getLegendPosition({ width, height }: Size): { right: number; middle: number } {
  return { right: width - IMAGE_MARGIN_PX, middle: height - LEGEND_HEIGHT_PX / 2 - 4 };
}

function computeBounds(boxes: readonly Rect[]): Rect {
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const right = Math.max(...boxes.map((box) => box.left + box.width));
  const bottom = Math.max(...boxes.map((box) => box.top + box.height));
  return { left, top, width: right - left, height: bottom - top };
}

// ---- texts of the page

interface PageText {
  readonly text: string;
  readonly box: Rect;
  readonly size: number;
  readonly bold: boolean;
  readonly isVertical: boolean;
}

const LINE_HEIGHT = 1.4;
/** Fonts of other machines may be slightly wider. */
const WIDTH_TOLERANCE_PX = 3;

/** Return the texts of all elements with `data-export-text`. */
function readPageTexts(root: HTMLElement): PageText[] {
  return [...root.querySelectorAll<HTMLElement>('[data-export-text]')].map((element) => {
    const style = getComputedStyle(element);
    return {
      text: element.textContent.replace(/\s+/g, ' ').trim(),
      box: element.getBoundingClientRect(),
      size: parseFloat(style.fontSize),
      bold: Number(style.fontWeight) >= 600,
      isVertical: style.writingMode !== 'horizontal-tb',
    };
  });
}

function drawPageText(
  renderer: Renderer,
  { text, box, size, bold, isVertical }: PageText,
  theme: ChartTheme,
): void {
  const style = { size, bold, color: bold ? theme.text : theme.label } as const;
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (isVertical) {
    const position = { align: 'center', baseline: 'middle', vertical: true } as const;
    renderer.text(text, x, y, { ...style, ...position });
  } else if (box.height < 2 * LINE_HEIGHT * size) {
    const fitting = truncateToWidth(text, box.width, (part) => renderer.measureText(part, style));
    renderer.text(fitting, box.left, y, { ...style, align: 'left', baseline: 'middle' });
  } else drawWrappedText(renderer, text, box, style);
}

/** Truncate a text with an ellipsis, as on the page. */
function truncateToWidth(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width + WIDTH_TOLERANCE_PX) return text;
  let end = text.length - 1;
  while (end > 1 && measure(`${text.slice(0, end)}…`) > width + WIDTH_TOLERANCE_PX) end--;
  return `${text.slice(0, end)}…`;
}

function drawWrappedText(
  renderer: Renderer,
  text: string,
  { left, top, width }: Rect,
  style: Pick<TextStyle, 'size' | 'bold' | 'color'>,
): void {
  let [line, y] = ['', top];
  const writeLine = (): void => {
    renderer.text(line, left, y, { ...style, align: 'left', baseline: 'top' });
    y += LINE_HEIGHT * style.size;
  };
  for (const part of splitIntoParts(text)) {
    if (line !== '' && renderer.measureText(line + part.trimEnd(), style) > width) {
      writeLine();
      line = '';
    }
    line += part;
  }
  writeLine();
}

/** Split a text where lines may break: after spaces, and between Chinese characters. */
function splitIntoParts(text: string): string[] {
  return text.split(/(?<=\s)|(?<=\p{Script=Han}|[，。：（）])/u);
}
