import type { Model } from '../state/model.svelte';
import { levelOf, type TilesAsk, tilesOf } from '../tiles/store';
import type { Band } from '../view/layout';
import { lengthOf, type Span } from '../view/span';

/** The strip above has room for this many tracks. */
export const STRIP_TRACKS = 8;
/** What lies a little below or above the screen is wanted as well. */
const MARGIN_PX = 200;

/** The tiles to ask for: what is seen, the whole for the strip above, then what is beside. */
export function wantedOf(model: Model, span: Span, whole: Span, width: number): TilesAsk[] {
  const level = levelOf(lengthOf(span) / width / devicePixelRatio);
  const [first, last] = tilesOf(level, span);
  const tracks = seenTracks(model);
  const strip = model.tracks.slice(0, STRIP_TRACKS).map(({ id }) => id);
  const coarse = levelOf(lengthOf(whole) / width / devicePixelRatio);
  const [from, to] = tilesOf(coarse, whole);
  return [
    { level: coarse, first: from, last: to, tracks: strip },
    { level, first, last, tracks },
    { level: coarse, first: from, last: to, tracks },
    { level, first: first - 1, last: last + 1, tracks },
  ];
}

function seenTracks({ layout, scroll, height }: Model): number[] {
  const { pinned, rest } = layout;
  const isSeen = ({ top, height: high }: Band): boolean =>
    top + high > scroll - MARGIN_PX && top < scroll + height + MARGIN_PX;
  return [...pinned, ...rest.filter(isSeen)].map(({ track }) => track.id);
}
