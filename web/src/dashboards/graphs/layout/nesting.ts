import type { Size, Spot } from './types';

/** A node; with `inside` it is open, and its size follows from what it holds. */
export interface NestedNode extends Size {
  readonly id: string;
  /** It stands beside the others and its links are not laid out. */
  readonly aside: boolean;
  readonly inside: Interior | null;
}

/** A link of one level. Where one end is null the link goes on outside, through the port `key`. */
export interface NestedLink {
  readonly source: number | null;
  readonly target: number | null;
  readonly key: string;
}

export interface Interior {
  readonly id: string;
  readonly nodes: readonly NestedNode[];
  readonly links: readonly NestedLink[];
}

export type Direction = 'down' | 'right';

export interface PlacedNode extends Size, Spot {
  readonly id: string;
  readonly depth: number;
}

/** `place` is that of the link in the list of the group `owner`. */
export interface PlacedLink {
  readonly owner: string;
  readonly place: number;
  readonly route: readonly Spot[];
  /** One of its ends stands aside. */
  readonly aside: boolean;
}

/** The whole picture: nodes by their middles, groups before what is in them. */
export interface Placed extends Size {
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
}
