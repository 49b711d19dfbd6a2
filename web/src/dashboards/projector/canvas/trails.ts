import type { Point } from '../../../charts/pen/pen';
import type { Projector } from '../projector.svelte';
import type { Sight } from './sight.svelte';

/** More lines than these would be a blot. */
const MOST = 5_000;

/** Lines from each point to the one that its labels say is next. */
export function trailsOf({ about, columns }: Projector, sight: Sight): [Point, Point][] {
  const next = columns.find(about.answer?.sequence ?? null)?.numbers;
  if (!next) return [];
  const trails: [Point, Point][] = [];
  for (let row = 0; row < next.length && trails.length < MOST; row++) {
    const to = next[row] ?? NaN;
    if (Number.isNaN(to)) continue;
    const ends = [sight.at(row), sight.at(to)] as const;
    if (ends[0] && ends[1]) trails.push([ends[0], ends[1]]);
  }
  return trails;
}
