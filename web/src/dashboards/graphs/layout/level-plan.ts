import type { Interior, NestedLink } from './nesting';
import type { Block, LevelLayout, Size, Spot } from './types';

const PORT_WIDTH = 8;

/** The level as the layout knows it: nodes that do not stand aside, then ports. */
export interface LevelPlan {
  readonly blocks: readonly Block[];
  readonly links: readonly { readonly source: number; readonly target: number }[];
  /** Which link of the group each one is, and which node each block. */
  readonly linkPlaces: readonly number[];
  readonly nodePlaces: readonly number[];
  readonly portNames: readonly string[];
}

export const inPort = (key: string): string => `in ${key}`;
export const outPort = (key: string): string => `out ${key}`;

export function planLevel({ nodes, links }: Interior, sizes: readonly Size[]): LevelPlan {
  const nodePlaces = nodes.flatMap(({ aside }, place) => (aside ? [] : [place]));
  const blockOf = new Map(nodePlaces.map((place, block) => [place, block]));
  const drawn = links.flatMap((link, place) => (isDrawn(link, nodes) ? [{ link, place }] : []));
  const names = drawn.map(({ link }) => portOf(link)).filter((name) => name !== null);
  const portNames = [...new Set(names)];
  const portBlocks = new Map(portNames.map((name, at) => [name, nodePlaces.length + at]));
  const blocks: Block[] = [
    ...nodePlaces.flatMap((place) => sizes[place] ?? []),
    ...portNames.map((name) => portBlock(name)),
  ];
  const end = (node: number | null, name: string): number =>
    (node === null ? portBlocks.get(name) : blockOf.get(node)) ?? 0;
  return {
    ...{ blocks, nodePlaces, portNames },
    links: drawn.map(({ link: { source, target, key } }) => ({
      source: end(source, inPort(key)),
      target: end(target, outPort(key)),
    })),
    linkPlaces: drawn.map(({ place }) => place),
  };
}

function isDrawn({ source, target }: NestedLink, nodes: Interior['nodes']): boolean {
  return [source, target].every((end) => end === null || nodes[end]?.aside === false);
}

function portOf({ source, target, key }: NestedLink): string | null {
  if (source === null) return inPort(key);
  return target === null ? outPort(key) : null;
}

function portBlock(name: string): Block {
  return { width: PORT_WIDTH, height: 0, pin: name.startsWith('in ') ? 'top' : 'bottom' };
}

export function transposedSize(block: Block): Block {
  return block.pin === undefined ? { width: block.height, height: block.width } : block;
}

export function transposed({ width, height, middles, routes }: LevelLayout): LevelLayout {
  const turn = ({ x, y }: Spot): Spot => ({ x: y, y: x });
  return {
    width: height,
    height: width,
    middles: middles.map(turn),
    routes: routes.map((route) => route.map(turn)),
  };
}
