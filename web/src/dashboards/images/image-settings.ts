import { choice, type Codec, flag, list, number, optionalNumber } from '../../lib/codecs';
import type { UrlState } from '../../plugin/context';
import { FIT_VIEWPORT, type Viewport } from './image-geometry';

/** A picture that is compared: null stands for what the step slider says, and for the first part. */
export interface ImageRef {
  readonly run: string;
  readonly step: number | null;
  readonly part: number;
}

export type ImagePair = readonly [ImageRef, ImageRef];

/** Two pictures, `run,step,part` each. */
export const imagePairCodec: Codec<ImagePair | null> = {
  parse(text) {
    const [runA, stepA, partA, runB, stepB, partB] = list.parse(text);
    if (runA === undefined || runB === undefined) return null;
    return [parseImageRef(runA, stepA, partA), parseImageRef(runB, stepB, partB)];
  },
  format: (value) =>
    value === null
      ? ''
      : list.format(
          value.flatMap(({ run, step, part }) => [run, step === null ? '' : `${step}`, `${part}`]),
        ),
};

/** Where a picture is looked at: `x,y,zoom`. */
export const viewportCodec: Codec<Viewport> = {
  parse(text) {
    const [x, y, zoom] = text.split(',').map(Number);
    const isWhole = [x, y, zoom].every((value) => value !== undefined && Number.isFinite(value));
    if (!isWhole || x === undefined || y === undefined || !zoom || zoom <= 0) return FIT_VIEWPORT;
    return { x, y, zoom };
  },
  format: ({ x, y, zoom }) => [x, y, zoom].map((value) => Number(value.toPrecision(5))).join(','),
};

function parseImageRef(run: string, step = '', part = ''): ImageRef {
  const number = Number(step);
  const place = Math.max(0, Math.trunc(Number(part)) || 0);
  return { run, step: step === '' || !Number.isFinite(number) ? null : number, part: place };
}

/** The pictures of one step, or of many steps side by side. */
export type ImageLayout = 'pictures' | 'grid';
export type ComparisonMode = 'beside' | 'swipe' | 'difference' | 'blink';
/** How a picture is drawn that is larger than it is. */
export type Scaling = 'crisp' | 'smooth';

export const COMPARISON_MODES: readonly [ComparisonMode, ...ComparisonMode[]] = [
  'beside',
  'swipe',
  'difference',
  'blink',
];

/** As factors: 1 leaves pictures as they are. */
export const BRIGHTNESS_RANGE = { lowest: 0, highest: 3, step: 0.05 };
export const CONTRAST_RANGE = { lowest: 0, highest: 5, step: 0.1 };

export type ImageSettings = ReturnType<typeof createImageSettings>;

/** What pictures are looked at with; all of it is in the address. */
export function createImageSettings(address: UrlState) {
  return {
    brightness: address.param('bright', number(1), 1),
    contrast: address.param('contrast', number(1), 1),
    scaling: address.param<Scaling>('scaling', choice(['crisp', 'smooth'], 'crisp'), 'crisp'),
    /** One pixel of the picture for one of the screen. */
    actualSize: address.param('actual', flag, false),
    /** Whether pictures that move do. */
    playAnimations: address.param('moving', flag, true),
    layout: address.param<ImageLayout>(
      'pictures',
      choice(['pictures', 'grid'], 'pictures'),
      'pictures',
    ),
    /** Whether a grid has all steps instead of as many as fit. */
    showAllSteps: address.param('every', flag, false),
    /** Which of the pictures of a step is looked at; null: all of them. */
    part: address.param('part', optionalNumber, null),
    viewport: address.param('spot', viewportCodec, FIT_VIEWPORT),
    comparedPair: address.param('cmp', imagePairCodec, null),
    comparisonMode: address.param<ComparisonMode>(
      'cmp-as',
      choice(COMPARISON_MODES, 'beside'),
      'beside',
    ),
    /** How often larger differences are drawn than they are. */
    differenceGain: address.param('gain', number(1), 1),
  };
}
