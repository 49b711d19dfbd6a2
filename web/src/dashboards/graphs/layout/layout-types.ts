/** Input and output of the layout. Edges refer to nodes by index. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface LayoutPoint {
  readonly x: number;
  readonly y: number;
}

/** A rectangle by its center. */
export interface Box extends LayoutPoint, Size {}

export function areBoxesOverlapping(one: Box, other: Box): boolean {
  return (
    Math.abs(one.x - other.x) * 2 <= one.width + other.width &&
    Math.abs(one.y - other.y) * 2 <= one.height + other.height
  );
}

/** The direction in which edges lead. */
export type Direction = 'down' | 'right';

// ---- One level

/** A node of one level; `pin` keeps a port at the upper or lower border of its group. */
export interface LayoutNode extends Size {
  readonly pin?: 'top' | 'bottom';
}

/** Offsets move the ends of an edge from the centers of its nodes. */
export interface LayoutEdge {
  readonly source: number;
  readonly target: number;
  readonly sourceOffset?: number | undefined;
  readonly targetOffset?: number | undefined;
}

/** One level of a graph, without the content of its nodes. */
export interface LayoutLevel {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly LayoutEdge[];
}

/** The centers of the nodes and the points of each edge, from its source. */
export interface LevelLayout extends Size {
  readonly centers: readonly LayoutPoint[];
  readonly routes: readonly (readonly LayoutPoint[])[];
}

/** The neighbors of each node in an acyclic graph. */
export interface Adjacency {
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
}

export const LAYER_GAP_PX = 40;
export const NODE_GAP_PX = 22;

// ---- Nested graphs

/** With content the node is expanded, and its size follows from the content. */
export interface NestedNode extends Size {
  readonly id: string;
  /** Drawn beside the other nodes, without edges. */
  readonly isAuxiliary: boolean;
  readonly content: NestedGraph | null;
}

/** If one end is null, the edge crosses the border of the group at the port `portKey`. */
export interface NestedEdge {
  readonly source: number | null;
  readonly target: number | null;
  readonly portKey: string;
}

export interface NestedGraph {
  readonly id: string;
  /** The group is at least this wide if edges lead down. */
  readonly titleWidth?: number;
  readonly nodes: readonly NestedNode[];
  readonly edges: readonly NestedEdge[];
}

export interface PlacedNode extends Box {
  readonly id: string;
  readonly depth: number;
}

/** The edge at `index` in the graph with the id `owner`. */
export interface PlacedEdge {
  readonly owner: string;
  readonly index: number;
  readonly route: readonly LayoutPoint[];
}

/** All nodes and edges; groups come before their content. */
export interface NestedLayout extends Size {
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}
