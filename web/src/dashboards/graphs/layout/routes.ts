import type { Band } from './level';
import type { Rows } from './rows';
import type { Block, Link, Spot } from './types';

interface Drawn {
  readonly blocks: readonly Block[];
  /** All lead down; `isTurned` tells which were turned for that. */
  readonly links: readonly Link[];
  readonly rows: Rows;
  readonly x: Float64Array;
  readonly bands: readonly Band[];
  readonly middles: readonly Spot[];
  readonly isTurned: (place: number) => boolean;
}

/** Ends of links stand apart by this, or by less where a node is narrow. */
const END_GAP = 14;
/** Which part of the width of a node its ends may take. */
const END_SHARE = 0.7;
const LOOP = 16;

export function routeLinks(drawn: Drawn): Spot[][] {
  const { links, rows, isTurned } = drawn;
  const leaving = spreadEnds(drawn, 'source');
  const arriving = spreadEnds(drawn, 'target');
  return links.map((link, place) => {
    if (link.source === link.target) return loopAt(drawn, link.source);
    const bends = (rows.bends[place] ?? []).flatMap((bend) => passBand(drawn, bend));
    const [from, to] = [link.sourceOffset ?? leaving[place], link.targetOffset ?? arriving[place]];
    const begin = endAt(drawn, link.source, from ?? 0, 'bottom');
    const end = endAt(drawn, link.target, to ?? 0, 'top');
    const route = [begin, ...bends, end];
    return isTurned(place) ? route.reverse() : route;
  });
}

/** Straight through the row that it passes, so that it does not touch what is in it. */
function passBand({ x, rows, bands }: Drawn, bend: number): Spot[] {
  const band = bands[rows.rowOf[bend] ?? 0];
  const at = x[bend] ?? 0;
  return band
    ? [
        { x: at, y: band.top },
        { x: at, y: band.bottom },
      ]
    : [];
}

function endAt(
  { blocks, middles }: Drawn,
  node: number,
  offset: number,
  side: 'top' | 'bottom',
): Spot {
  const middle = middles[node] ?? { x: 0, y: 0 };
  const half = (blocks[node]?.height ?? 0) / 2;
  return { x: middle.x + offset, y: middle.y + (side === 'top' ? -half : half) };
}

/** Out of the right side and back into it. */
function loopAt({ blocks, middles }: Drawn, node: number): Spot[] {
  const middle = middles[node] ?? { x: 0, y: 0 };
  const right = middle.x + (blocks[node]?.width ?? 0) / 2;
  const reach = Math.min(LOOP, (blocks[node]?.height ?? 0) / 2);
  return [
    { x: right, y: middle.y + reach / 2 },
    { x: right + LOOP, y: middle.y + reach / 2 },
    { x: right + LOOP, y: middle.y - reach / 2 },
    { x: right, y: middle.y - reach / 2 },
  ];
}

/**
 * How far from the middle of its node each link ends: in the order in which they go on, with the
 * one that leads straight on in the middle.
 */
function spreadEnds(drawn: Drawn, end: 'source' | 'target'): number[] {
  const { links, blocks, rows, x } = drawn;
  const isSource = end === 'source';
  const onward = links.map((link, place) => {
    const bends = rows.bends[place] ?? [];
    return isSource ? (bends[0] ?? link.target) : (bends.at(-1) ?? link.source);
  });
  const byNode = new Map<number, Set<number>>();
  links.forEach((link, place) => {
    const found = byNode.get(link[end]) ?? new Set<number>();
    byNode.set(link[end], found.add(onward[place] ?? 0));
  });
  const offsets = new Map<string, number>();
  for (const [node, items] of byNode) {
    const sorted = [...items].sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
    const ahead = sorted.findIndex((item) => Math.abs((x[item] ?? 0) - (x[node] ?? 0)) < 1);
    const centre = ahead < 0 ? (sorted.length - 1) / 2 : ahead;
    const sides = Math.max(centre, sorted.length - 1 - centre, 0.5);
    const gap = Math.min(END_GAP, ((blocks[node]?.width ?? 0) * END_SHARE) / 2 / sides);
    sorted.forEach((item, at) => offsets.set(`${node} ${item}`, (at - centre) * gap));
  }
  return links.map((link, place) => offsets.get(`${link[end]} ${onward[place]}`) ?? 0);
}
