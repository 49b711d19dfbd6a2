import { flag, list, number, optionalText } from '../base/codec';
import type { Context } from '../plugin/context';
import { FilterParam } from './filter/param';

/** How wide cards can be made, in pixels. */
export const CARD_WIDTHS = { smallest: 240, largest: 900 };

export type WallSettings = ReturnType<typeof openWallSettings>;

/** What any wall of cards is set to: in the address, but for what is a matter of taste. */
export function openWallSettings(
  { address, tastes }: Pick<Context, 'address' | 'tastes'>,
  name: string,
  usualWidth: number,
) {
  return {
    filter: new FilterParam(address),
    pinned: address.param('pin', list, []),
    folded: address.param('fold', list, []),
    /** Cards that have a row of their own. */
    wide: address.param('wide', list, []),
    fullScreen: address.param('card', optionalText, null),
    panel: tastes.param(`${name}-panel`, flag, false),
    cardWidth: tastes.param(`${name}-card`, number(usualWidth), usualWidth),
  };
}
