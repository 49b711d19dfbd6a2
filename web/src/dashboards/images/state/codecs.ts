import { type Codec, list } from '../../../base/codec';
import { type Viewport, WHOLE } from '../geometry/viewport';

/** A picture that is compared: null stands for what the step slider says, and for the first part. */
export interface Side {
  readonly run: string;
  readonly step: number | null;
  readonly part: number;
}

export type Pair = readonly [Side, Side];

/** Two pictures, `run,step,part` each. */
export const pair: Codec<Pair | null> = {
  parse(text) {
    const [runA, stepA, partA, runB, stepB, partB] = list.parse(text);
    if (runA === undefined || runB === undefined) return null;
    return [sideOf(runA, stepA, partA), sideOf(runB, stepB, partB)];
  },
  format: (value) =>
    value === null
      ? ''
      : list.format(
          value.flatMap(({ run, step, part }) => [run, step === null ? '' : `${step}`, `${part}`]),
        ),
};

/** Where a picture is looked at: `x,y,zoom`. */
export const viewport: Codec<Viewport> = {
  parse(text) {
    const [x, y, zoom] = text.split(',').map(Number);
    const isWhole = [x, y, zoom].every((value) => value !== undefined && Number.isFinite(value));
    if (!isWhole || x === undefined || y === undefined || !zoom || zoom <= 0) return WHOLE;
    return { x, y, zoom };
  },
  format: ({ x, y, zoom }) => [x, y, zoom].map((value) => Number(value.toPrecision(5))).join(','),
};

function sideOf(run: string, step = '', part = ''): Side {
  const number = Number(step);
  const place = Math.max(0, Math.trunc(Number(part)) || 0);
  return { run, step: step === '' || !Number.isFinite(number) ? null : number, part: place };
}
