import { findBackward, flowOf } from './cycles';
import { foldFans } from './fans';
import { orderRows } from './order';
import { findRanks } from './ranks';
import { routeLinks } from './routes';
import { buildRows, type Rows } from './rows';
import { placeSideways } from './sideways';
import { type Block, FLOW_GAP, type Level, type LevelLayout, type Link } from './types';

/**
 * Lays out one level from top to bottom. Which row a node is in and who stands beside whom depends
 * on links alone, not on sizes: a group that is opened pushes others aside and reorders none.
 */
export function layOutLevel(level: Level): LevelLayout {
  const folded = foldFans(level);
  return folded.unfold(layOutFolded(folded.level));
}

function layOutFolded({ blocks, links }: Level): LevelLayout {
  const backward = findBackward(blocks.length, links);
  const downward = links.map((link, place) => (backward.has(place) ? turned(link) : link));
  const ranks = findRanks(blocks, flowOf(blocks.length, downward));
  const lying = findUpward(downward, ranks);
  const drawn = downward.map((link, place) => (lying.has(place) ? turned(link) : link));
  const rows = buildRows(ranks, drawn, new Set([...backward, ...lying]));
  const order = orderRows(rows);
  const x = placeSideways(blocks, rows, order);
  const bands = stack(blocks, rows);
  const shift = leftmost(blocks, x);
  for (let item = 0; item < x.length; item++) x[item] = (x[item] ?? 0) - shift;
  const middles = blocks.map((_, node) => ({
    x: x[node] ?? 0,
    y: bands[rows.rowOf[node] ?? 0]?.middle ?? 0,
  }));
  const isTurned = (place: number): boolean => backward.has(place) !== lying.has(place);
  const routes = routeLinks({ blocks, links: drawn, rows, x, bands, middles, isTurned });
  return { ...extentOf(blocks, x, bands), middles, routes };
}

export interface Band {
  readonly top: number;
  readonly middle: number;
  readonly bottom: number;
}

function turned({ source, target, sourceOffset, targetOffset }: Link): Link {
  return {
    source: target,
    target: source,
    sourceOffset: targetOffset,
    targetOffset: sourceOffset,
  };
}

/** Links that lead up since one end is a port, which has no choice where it stands. */
function findUpward(links: readonly Link[], ranks: Int32Array): Set<number> {
  const isUp = ({ source, target }: Link): boolean =>
    source !== target && (ranks[source] ?? 0) > (ranks[target] ?? 0);
  return new Set(links.flatMap((link, place) => (isUp(link) ? [place] : [])));
}

function stack(blocks: readonly Block[], { rows }: Rows): Band[] {
  let top = 0;
  return rows.map((row) => {
    const height = row.reduce((most, item) => Math.max(most, blocks[item]?.height ?? 0), 0);
    const band = { top, middle: top + height / 2, bottom: top + height };
    top += height + FLOW_GAP;
    return band;
  });
}

function leftmost(blocks: readonly Block[], x: Float64Array): number {
  let left = Infinity;
  x.forEach((at, item) => (left = Math.min(left, at - (blocks[item]?.width ?? 0) / 2)));
  return Number.isFinite(left) ? left : 0;
}

function extentOf(
  blocks: readonly Block[],
  x: Float64Array,
  bands: readonly Band[],
): { width: number; height: number } {
  let width = 0;
  x.forEach((at, item) => (width = Math.max(width, at + (blocks[item]?.width ?? 0) / 2)));
  return { width, height: bands.at(-1)?.bottom ?? 0 };
}
