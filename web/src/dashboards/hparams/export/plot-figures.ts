import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import type { Rect, Renderer, TextStyle } from '../../../charts/renderer/renderer';

/** Something that is drawn of the sessions. */
export interface PlotFigure {
  /** Where it stands on the page. */
  readonly element: HTMLElement;
  /** Draws it from its own corner, in the colours of a sheet of paper. */
  draw(pen: Renderer, palette: ChartTheme, inks: readonly string[]): void;
}

/** What is drawn at present, so that all of it can be taken away as it is seen. */
export class PlotFigures {
  /** What holds them, and the words around them. */
  root: HTMLElement | undefined;
  readonly #all = new Set<PlotFigure>();

  get all(): readonly PlotFigure[] {
    return [...this.#all];
  }

  /** Returns how to take it off again: for an effect. */
  add(figure: PlotFigure): () => void {
    this.#all.add(figure);
    return () => this.#all.delete(figure);
  }
}

/** A word that stands around figures on the page. */
export interface PageText {
  readonly text: string;
  readonly box: Rect;
  readonly size: number;
  readonly bold: boolean;
  readonly isVertical: boolean;
}

const LINE_HEIGHT = 1.4;
/** Other machines have other fonts, which are a little wider or narrower. */
const WIDTH_TOLERANCE_PX = 3;

/** All that is marked with `data-word` in an element, where and how it stands there. */
export function readPageTexts(root: HTMLElement): PageText[] {
  return [...root.querySelectorAll<HTMLElement>('[data-word]')].map((element) => {
    const look = getComputedStyle(element);
    return {
      text: element.textContent.replace(/\s+/g, ' ').trim(),
      box: element.getBoundingClientRect(),
      size: parseFloat(look.fontSize),
      bold: Number(look.fontWeight) >= 600,
      isVertical: look.writingMode !== 'horizontal-tb',
    };
  });
}

export function drawPageText(
  pen: Renderer,
  { text, box, size, bold, isVertical }: PageText,
  palette: ChartTheme,
): void {
  const style = { size, bold, color: bold ? palette.text : palette.label } as const;
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (isVertical)
    return pen.text(text, x, y, {
      ...style,
      align: 'center',
      baseline: 'middle',
      vertical: isVertical,
    });
  const isOne = box.height < 2 * LINE_HEIGHT * size;
  if (isOne) {
    const fitting = truncateToWidth(text, box.width, (part) => pen.measureText(part, style));
    return pen.text(fitting, box.left, y, { ...style, align: 'left', baseline: 'middle' });
  }
  drawWrappedText(pen, text, box, style);
}

/** On the page such a text ends in an ellipsis as well. */
function truncateToWidth(text: string, width: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= width + WIDTH_TOLERANCE_PX) return text;
  let end = text.length - 1;
  while (end > 1 && widthOf(`${text.slice(0, end)}…`) > width + WIDTH_TOLERANCE_PX) end--;
  return `${text.slice(0, end)}…`;
}

/** A sentence, broken where it is too wide. */
function drawWrappedText(
  pen: Renderer,
  text: string,
  { left, top, width }: Rect,
  style: Pick<TextStyle, 'size' | 'bold' | 'color'>,
): void {
  let [line, y] = ['', top];
  const write = (): void => {
    pen.text(line, left, y, { ...style, align: 'left', baseline: 'top' });
    y += LINE_HEIGHT * style.size;
  };
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && pen.measureText(longer, style) > width) {
      write();
      line = word;
    } else line = longer;
  }
  write();
}
