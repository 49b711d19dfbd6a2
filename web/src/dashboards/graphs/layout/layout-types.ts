/** What is laid out and what comes of it; nodes and ends of edges are places in lists. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface LayoutPoint {
  readonly x: number;
  readonly y: number;
}

/** A node of one level; `pin` keeps a port of the group at its upper or lower edge. */
export interface LayoutNode extends Size {
  readonly pin?: 'top' | 'bottom';
}

/** Ends are in the middle of their block, or so far beside it as the offset says. */
export interface LayoutEdge {
  readonly source: number;
  readonly target: number;
  readonly sourceOffset?: number | undefined;
  readonly targetOffset?: number | undefined;
}

/** One level of a graph, without what is inside its nodes. */
export interface LayoutLevel {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly LayoutEdge[];
}

/** Where the middle of each block is and through which spots each link leads, from its source. */
export interface LevelLayout extends Size {
  readonly centers: readonly LayoutPoint[];
  readonly routes: readonly (readonly LayoutPoint[])[];
}

/** Links that do not run against each other, as lists of neighbours. */
export interface Adjacency {
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
}

export const LAYER_GAP_PX = 40;
export const NODE_GAP_PX = 22;

/** A node; with `inside` it is open, and its size follows from what it holds. */
export interface NestedNode extends Size {
  readonly id: string;
  /** It stands beside the others and its links are not laid out. */
  readonly isAuxiliary: boolean;
  readonly content: NestedGraph | null;
}

/** A link of one level. Where one end is null the link goes on outside, through the port `key`. */
export interface NestedEdge {
  readonly source: number | null;
  readonly target: number | null;
  readonly portKey: string;
}

export interface NestedGraph {
  readonly id: string;
  readonly nodes: readonly NestedNode[];
  readonly edges: readonly NestedEdge[];
}

export type Direction = 'down' | 'right';

export interface PlacedNode extends Size, LayoutPoint {
  readonly id: string;
  readonly depth: number;
}

/** `place` is that of the link in the list of the group `owner`. */
export interface PlacedEdge {
  readonly owner: string;
  readonly index: number;
  readonly route: readonly LayoutPoint[];
  /** One of its ends stands aside. */
  readonly isAuxiliary: boolean;
}

/** The whole picture: nodes by their middles, groups before what is in them. */
export interface NestedLayout extends Size {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}
