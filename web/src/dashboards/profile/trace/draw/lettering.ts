import { FONT } from '../../../../charts/pen/pen';
import type { Wide } from './bars';

const SIZE = 11;
const INSET = 5;
const FEWEST_LETTERS = 3;

/** Words on bars; how wide each is, is measured once. */
export class Lettering {
  readonly #widths = new Map<string, number>();

  /** Writes on those of the bars that have names, cut to what there is room for. */
  write(
    context: CanvasRenderingContext2D,
    wides: readonly Wide[],
    words: ReadonlyMap<number, string>,
    colour: string,
    ratio: number,
  ): void {
    context.font = `${SIZE * ratio}px ${FONT}`;
    context.textBaseline = 'middle';
    context.fillStyle = colour;
    for (const { name, left, right, top, height } of wides) {
      const word = words.get(name);
      if (word === undefined) continue;
      const room = right - left - 2 * INSET * ratio;
      const text = this.#cut(context, word, room, ratio);
      if (text) context.fillText(text, left + INSET * ratio, top + height / 2 + ratio / 2);
    }
  }

  #cut(context: CanvasRenderingContext2D, word: string, room: number, ratio: number): string {
    const width = this.#widthOf(context, word, ratio);
    if (width <= room) return word;
    const letters = Math.floor((word.length * room) / width) - 1;
    return letters < FEWEST_LETTERS ? '' : `${word.slice(0, letters)}…`;
  }

  #widthOf(context: CanvasRenderingContext2D, word: string, ratio: number): number {
    const key = `${ratio} ${word}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = context.measureText(word).width;
      this.#widths.set(key, width);
    }
    return width;
  }
}
