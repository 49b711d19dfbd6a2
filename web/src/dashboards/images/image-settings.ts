import { choice, type Codec, flag, list, number, optionalNumber } from '../../lib/codecs';
import type { UrlState } from '../../plugin/context';
import { FIT_VIEWPORT, type Viewport } from './image-geometry';

/** One of two compared images. Without a step, it follows the step slider. */
export interface ImageRef {
  readonly run: string;
  readonly step: number | null;
  readonly part: number;
}

export type ImagePair = readonly [ImageRef, ImageRef];

/** Format: `run,step,part` for each image. */
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

/** Format: `x,y,zoom`. */
export const viewportCodec: Codec<Viewport> = {
  parse(text) {
    const [x, y, zoom] = text.split(',').map(Number);
    const isValid = [x, y, zoom].every((value) => value !== undefined && Number.isFinite(value));
    if (!isValid || x === undefined || y === undefined || !zoom || zoom <= 0) return FIT_VIEWPORT;
    return { x, y, zoom };
  },
  format: ({ x, y, zoom }) => [x, y, zoom].map((value) => Number(value.toPrecision(5))).join(','),
};

function parseImageRef(run: string, step = '', part = ''): ImageRef {
  const number = Number(step);
  const index = Math.max(0, Math.trunc(Number(part)) || 0);
  return { run, step: step === '' || !Number.isFinite(number) ? null : number, part: index };
}

/** The images of one step, or of several steps side by side. */
export type ImageLayout = 'images' | 'grid';
export type ComparisonMode = 'beside' | 'swipe' | 'difference' | 'blink';
/** How enlarged images are drawn. */
export type Scaling = 'crisp' | 'smooth';

export const COMPARISON_MODES: readonly [ComparisonMode, ...ComparisonMode[]] = [
  'beside',
  'swipe',
  'difference',
  'blink',
];

/** Factors: 1 leaves images unchanged. */
export const BRIGHTNESS_RANGE = { min: 0, max: 3, step: 0.05 };
export const CONTRAST_RANGE = { min: 0, max: 5, step: 0.1 };

export type ImageSettings = ReturnType<typeof createImageSettings>;

/** Settings of the dashboard, in the URL. */
export function createImageSettings(url: UrlState) {
  return {
    brightness: url.param('brightness', number(1), 1),
    contrast: url.param('contrast', number(1), 1),
    scaling: url.param<Scaling>('scaling', choice(['crisp', 'smooth'], 'crisp'), 'crisp'),
    /** One image pixel per screen pixel. */
    actualSize: url.param('actual-size', flag, false),
    playAnimations: url.param('animate', flag, true),
    layout: url.param<ImageLayout>('image-layout', choice(['images', 'grid'], 'images'), 'images'),
    /** The grid has all steps instead of as many as fit. */
    showAllSteps: url.param('all-steps', flag, false),
    /** Index of the shown image of a step; null: all images. */
    imageIndex: url.param('image-index', optionalNumber, null),
    viewport: url.param('image-viewport', viewportCodec, FIT_VIEWPORT),
    comparedPair: url.param('image-compare', imagePairCodec, null),
    comparisonMode: url.param<ComparisonMode>(
      'image-compare-mode',
      choice(COMPARISON_MODES, 'beside'),
      'beside',
    ),
    /** Factor by which differences are amplified. */
    differenceGain: url.param('difference-gain', number(1), 1),
  };
}
