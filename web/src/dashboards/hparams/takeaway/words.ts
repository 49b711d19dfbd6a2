import type { Box, Lettering, Pen } from '../../../charts/pen/pen';
import type { Palette } from '../../../charts/picture/palette';

/** A word that stands around figures on the page. */
export interface Word {
  readonly text: string;
  readonly box: Box;
  readonly size: number;
  readonly bold: boolean;
  readonly upwards: boolean;
}

const LINE = 1.4;
/** Other machines have other fonts, which are a little wider or narrower. */
const SLACK = 3;

/** All that is marked with `data-word` in an element, where and how it stands there. */
export function readWords(root: HTMLElement): Word[] {
  return [...root.querySelectorAll<HTMLElement>('[data-word]')].map((element) => {
    const look = getComputedStyle(element);
    return {
      text: element.textContent.replace(/\s+/g, ' ').trim(),
      box: element.getBoundingClientRect(),
      size: parseFloat(look.fontSize),
      bold: Number(look.fontWeight) >= 600,
      upwards: look.writingMode !== 'horizontal-tb',
    };
  });
}

export function drawWord(
  pen: Pen,
  { text, box, size, bold, upwards }: Word,
  palette: Palette,
): void {
  const style = { size, bold, colour: bold ? palette.text : palette.label } as const;
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (upwards)
    return pen.text(text, x, y, { ...style, align: 'center', baseline: 'middle', upwards });
  const isOne = box.height < 2 * LINE * size;
  if (isOne) {
    const fitting = fit(text, box.width, (part) => pen.widthOf(part, style));
    return pen.text(fitting, box.left, y, { ...style, align: 'left', baseline: 'middle' });
  }
  drawLines(pen, text, box, style);
}

/** On the page such a text ends in an ellipsis as well. */
function fit(text: string, width: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= width + SLACK) return text;
  let end = text.length - 1;
  while (end > 1 && widthOf(`${text.slice(0, end)}…`) > width + SLACK) end--;
  return `${text.slice(0, end)}…`;
}

/** A sentence, broken where it is too wide. */
function drawLines(
  pen: Pen,
  text: string,
  { left, top, width }: Box,
  style: Pick<Lettering, 'size' | 'bold' | 'colour'>,
): void {
  let [line, y] = ['', top];
  const write = (): void => {
    pen.text(line, left, y, { ...style, align: 'left', baseline: 'top' });
    y += LINE * style.size;
  };
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && pen.widthOf(longer, style) > width) {
      write();
      line = word;
    } else line = longer;
  }
  write();
}
