import { choice, flag, number, optionalNumber } from '../../../base/codec';
import type { Address } from '../../../plugin/context';
import { WHOLE } from '../geometry/viewport';
import { pair, viewport } from './codecs';

/** The pictures of one step, or of many steps side by side. */
export type Layout = 'pictures' | 'grid';
export type Comparison = 'beside' | 'swipe' | 'difference' | 'blink';
/** How a picture is drawn that is larger than it is. */
export type Scaling = 'crisp' | 'smooth';

export const COMPARISONS: readonly [Comparison, ...Comparison[]] = [
  'beside',
  'swipe',
  'difference',
  'blink',
];

/** As factors: 1 leaves pictures as they are. */
export const LIGHT = { lowest: 0, highest: 3, step: 0.05 };
export const CONTRAST = { lowest: 0, highest: 5, step: 0.1 };

export type ImageSettings = ReturnType<typeof openImageSettings>;

/** What pictures are looked at with; all of it is in the address. */
export function openImageSettings(address: Address) {
  return {
    brightness: address.param('bright', number(1), 1),
    contrast: address.param('contrast', number(1), 1),
    scaling: address.param<Scaling>('scaling', choice(['crisp', 'smooth'], 'crisp'), 'crisp'),
    /** One pixel of the picture for one of the screen. */
    actual: address.param('actual', flag, false),
    /** Whether pictures that move do. */
    moving: address.param('moving', flag, true),
    layout: address.param<Layout>('pictures', choice(['pictures', 'grid'], 'pictures'), 'pictures'),
    /** Whether a grid has all steps instead of as many as fit. */
    everyStep: address.param('every', flag, false),
    /** Which of the pictures of a step is looked at; null: all of them. */
    part: address.param('part', optionalNumber, null),
    viewport: address.param('spot', viewport, WHOLE),
    compared: address.param('cmp', pair, null),
    comparison: address.param<Comparison>('cmp-as', choice(COMPARISONS, 'beside'), 'beside'),
    /** How often larger differences are drawn than they are. */
    gain: address.param('gain', number(1), 1),
  };
}
