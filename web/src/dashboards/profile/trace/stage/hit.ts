import type { Model } from '../state/model.svelte';
import { type Entry, entryOf, firstAfter, type Part } from '../tiles/part';
import { levelOf } from '../tiles/store';
import { type Band, bandAt, laneAt } from '../view/layout';
import { lengthOf, type Span } from '../view/span';

/** What is at a place of the stage. */
export interface Hit {
  readonly band: Band;
  readonly lane: number | null;
  readonly parts: readonly Part[];
  readonly entry: Entry | null;
}

/** A bar this close is meant: most are narrower than a pointer is steady. */
const REACH_PX = 2;

export function hit(
  model: Model,
  span: Span,
  width: number,
  place: { readonly x: number; readonly y: number },
): Hit | null {
  const { pinned, pinnedHeight, rest } = model.layout;
  const isPinned = place.y < pinnedHeight;
  const y = isPinned ? place.y : place.y - pinnedHeight + model.scroll;
  const band = bandAt(isPinned ? pinned : rest, y);
  if (!band || !model.store) return null;
  const lane = laneAt(band, y);
  const perPixel = lengthOf(span) / width;
  const parts = model.store.find(levelOf(perPixel / devicePixelRatio), span, band.track.id);
  const moment = span.start + place.x * perPixel;
  return { band, lane, parts, entry: lane === null ? null : at(parts, lane, moment, perPixel) };
}

function at(parts: readonly Part[], lane: number, moment: number, perPixel: number): Entry | null {
  const reach = REACH_PX * perPixel;
  let nearest: Entry | null = null;
  let distance = reach;
  for (const part of parts) {
    const to = part.lanes[lane + 1] ?? 0;
    for (
      let each = firstAfter(part, part.lanes[lane] ?? 0, to, moment - reach);
      each < to;
      each++
    ) {
      const entry = entryOf(part, each);
      if (entry.start > moment + reach) break;
      const end = entry.start + entry.duration;
      const away = Math.max(0, entry.start - moment, moment - end);
      if (away > distance || (nearest && away === distance)) continue;
      [nearest, distance] = [entry, away];
    }
  }
  return nearest;
}
