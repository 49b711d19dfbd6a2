import type { Block, Level, LevelLayout, Link, Spot } from './types';

/** So many nodes with the very same neighbours stand in a grid rather than in one endless row. */
const FEWEST = 7;
const GRID_GAP = 10;
/** How much wider than high a grid is. */
const ASPECT = 2.4;

/** A level in which grids of nodes stand as one block. */
export interface Folded {
  readonly level: Level;
  unfold(layout: LevelLayout): LevelLayout;
}

interface Grid extends Block {
  readonly members: readonly number[];
  readonly columns: number;
  readonly cell: Block;
}

export function foldFans(level: Level): Folded {
  const grids = findFans(level).map((members) => gridOf(members, level.blocks));
  if (grids.length === 0) return { level, unfold: (layout) => layout };
  const inGrid = new Map(grids.flatMap((grid) => grid.members.map((node) => [node, grid])));
  const alone = level.blocks.flatMap((_, node) => (inGrid.has(node) ? [] : [node]));
  const places = new Map(alone.map((node, place) => [node, place]));
  grids.forEach((grid, at) => grid.members.forEach((node) => places.set(node, alone.length + at)));
  const blocks = [...alone.flatMap((node) => level.blocks[node] ?? []), ...grids];
  const links = level.links.map(({ source, target, ...offsets }) => ({
    ...offsets,
    source: places.get(source) ?? 0,
    target: places.get(target) ?? 0,
  }));
  const unfold = (layout: LevelLayout): LevelLayout => {
    const middles = level.blocks.map((_, node) => {
      const middle = layout.middles[places.get(node) ?? 0] ?? { x: 0, y: 0 };
      const grid = inGrid.get(node);
      return grid ? inside(grid, node, middle) : middle;
    });
    const routes = layout.routes.map((route, link) =>
      extend(route, level.links[link], middles, inGrid, level.blocks),
    );
    return { ...layout, middles, routes };
  };
  return { level: { blocks, links }, unfold };
}

/** Lists of nodes that lead to the same nodes and are led to by the same ones. */
function findFans({ blocks, links }: Level): number[][] {
  const ends: string[][] = blocks.map(() => []);
  for (const { source, target } of links) {
    ends[source]?.push(`>${target}`);
    ends[target]?.push(`<${source}`);
  }
  const fans = new Map<string, number[]>();
  blocks.forEach(({ pin }, node) => {
    const key = [...new Set(ends[node])].sort().join();
    // With many neighbours of their own they are no leaves, and a grid would hide how they are linked.
    if (pin !== undefined || (ends[node]?.length ?? 0) > 2) return;
    fans.set(key, [...(fans.get(key) ?? []), node]);
  });
  return [...fans.values()].filter((members) => members.length >= FEWEST);
}

function gridOf(members: readonly number[], blocks: readonly Block[]): Grid {
  const sizes = members.flatMap((node) => blocks[node] ?? []);
  const cell = {
    width: Math.max(...sizes.map(({ width }) => width)) + GRID_GAP,
    height: Math.max(...sizes.map(({ height }) => height)) + GRID_GAP,
  };
  const across = Math.sqrt((members.length * ASPECT * cell.height) / cell.width);
  const columns = Math.min(members.length, Math.max(2, Math.round(across)));
  const rows = Math.ceil(members.length / columns);
  return { members, columns, cell, width: columns * cell.width, height: rows * cell.height };
}

function inside({ members, columns, cell, width, height }: Grid, node: number, at: Spot): Spot {
  const place = members.indexOf(node);
  return {
    x: at.x - width / 2 + ((place % columns) + 0.5) * cell.width,
    y: at.y - height / 2 + (Math.floor(place / columns) + 0.5) * cell.height,
  };
}

/** The link of a node in a grid leads on to the node itself. */
function extend(
  route: readonly Spot[],
  link: Link | undefined,
  middles: readonly Spot[],
  inGrid: ReadonlyMap<number, Grid>,
  blocks: readonly Block[],
): readonly Spot[] {
  if (!link) return route;
  const { source, target } = link;
  const [from, to] = [middles[source], middles[target]];
  const half = (node: number): number => (blocks[node]?.height ?? 0) / 2;
  const begin = inGrid.has(source) && from ? [{ x: from.x, y: from.y + half(source) }] : [];
  const end = inGrid.has(target) && to ? [{ x: to.x, y: to.y - half(target) }] : [];
  return [...begin, ...route, ...end];
}
