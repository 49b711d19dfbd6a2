/** A graph as the page knows it: the groups that somebody opened, and what they hold. */

import type { Change } from './answers';

/** `function` runs a body that can be opened; `rest` stands for nodes that are not shown. */
export type NodeKind = 'op' | 'group' | 'series' | 'function' | 'input' | 'output' | 'rest';

/** Why a node better stands aside. */
export type Role = 'noop' | 'constant' | 'summary' | 'resource' | 'hub' | 'lonely';

export interface GraphNode {
  /** Where it is: all scopes and its own name. */
  readonly id: string;
  /** Its own name. */
  readonly label: string;
  readonly kind: NodeKind;
  readonly op: string;
  /** How many operations are in it, and where they stand in the order of all. */
  readonly leaves: number;
  readonly first: number;
  readonly last: number;
  /** Of the tensor that it gives, or the first of them. */
  readonly shape: string;
  readonly dtype: string;
  /** Trained numbers in it; null where nobody counted. */
  readonly parameters: number | null;
  readonly role: Role | null;
  /** The same number for groups that look alike inside. */
  readonly structure: number | null;
  readonly change: Change | null;
  /** Groups to ask for when it is opened; the bodies of functions have names of their own. */
  readonly bodies: readonly string[];
  /** Groups inside that are best opened along with it. */
  readonly chain: readonly string[];
}

/** A link of one level. Where one end is null it goes on outside the group, to or from `key`. */
export interface GraphLink {
  readonly source: number | null;
  readonly target: number | null;
  readonly key: string;
  /** How many tensors, or orders to wait, it stands for. */
  readonly count: number;
  /** How many numbers flow; null where that is not known. */
  readonly elements: number | null;
  /** Nothing flows, but the order of the two matters. */
  readonly isControl: boolean;
  readonly label: string;
  readonly dtype: string;
  /** In a comparison. */
  readonly change: Change | null;
}

export interface Group {
  readonly id: string;
  /** How many nodes it has, of which `nodes` may be the first. */
  readonly total: number;
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
}

export const canOpen = ({ kind }: GraphNode): boolean =>
  kind === 'group' || kind === 'series' || kind === 'function';
