/** What is laid out and what comes of it; nodes and ends of edges are places in lists. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
}

/** A node of one level; `pin` keeps a port of the group at its upper or lower edge. */
export interface Block extends Size {
  readonly pin?: 'top' | 'bottom';
}

/** Ends are in the middle of their block, or so far beside it as the offset says. */
export interface Link {
  readonly source: number;
  readonly target: number;
  readonly sourceOffset?: number | undefined;
  readonly targetOffset?: number | undefined;
}

/** One level of a graph, without what is inside its nodes. */
export interface Level {
  readonly blocks: readonly Block[];
  readonly links: readonly Link[];
}

/** Where the middle of each block is and through which spots each link leads, from its source. */
export interface LevelLayout extends Size {
  readonly middles: readonly Spot[];
  readonly routes: readonly (readonly Spot[])[];
}

/** Links that do not run against each other, as lists of neighbours. */
export interface Flow {
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
}

export const FLOW_GAP = 40;
export const SIDE_GAP = 22;
