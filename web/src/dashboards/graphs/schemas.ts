/** What the Graphs dashboard answers with, field for field as in `tracklight/dashboards/graphs`. */

import type { JsonNumber } from '../../api/schemas';

/** What became of a node or an edge from one of two graphs to the other. */
export type ChangeName = 'same' | 'added' | 'removed' | 'changed';

export interface GraphStepRow {
  readonly index: number;
  readonly step: number;
  readonly wall_time: number;
  readonly mark: number;
}

export interface GraphRow {
  readonly id: string;
  readonly run: string;
  readonly tag: string;
  readonly title: string;
  readonly kind: 'op' | 'profile' | 'conceptual' | 'upload';
  readonly bytes: number;
  readonly steps: readonly GraphStepRow[];
  /** Tags of the run whose times and memory can be laid over it. */
  readonly profiles: readonly string[];
}

export interface GraphsResponse {
  readonly graphs: readonly GraphRow[];
}

export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

export interface ChangeCounts {
  readonly same: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

export interface OverviewResponse {
  readonly nodes: number;
  readonly edges: number;
  readonly control_edges: number;
  readonly depth: number;
  readonly functions: readonly NamedCount[];
  readonly ops: readonly NamedCount[];
  readonly problems: readonly string[];
  readonly open: readonly string[];
  /** Of nodes, and of edges, in a comparison. */
  readonly changes: ChangeCounts | null;
  readonly edge_changes: ChangeCounts | null;
}

export interface ChildRow {
  readonly path: string;
  readonly label: string;
  readonly kind: 'op' | 'scope' | 'series' | 'input' | 'output';
  readonly op: string;
  readonly nodes: number;
  /** Where its operations stand in the order of all. */
  readonly first: number;
  readonly last: number;
  readonly shape: string;
  readonly dtype: string;
  readonly functions: readonly string[];
  readonly aux: '' | 'noop' | 'constant' | 'summary' | 'resource' | 'hub' | 'lonely';
  readonly structure: number;
  /** Less than nothing where nobody counted. */
  readonly parameters: number;
  readonly change: ChangeName | null;
  /** Groups inside of it that are best opened along with it. */
  readonly chain: readonly string[];
}

interface LinkColumns {
  readonly count: Int32Array;
  readonly control: Int32Array;
  /** NaN where it is not known. */
  readonly size: Float64Array;
  readonly label: readonly string[];
  readonly dtype: readonly string[];
  /** In a comparison. */
  readonly change: readonly (ChangeName | null)[];
}

export interface EdgeColumns extends LinkColumns {
  readonly source: Int32Array;
  readonly target: Int32Array;
}

export interface BoundaryColumns extends LinkColumns {
  readonly child: Int32Array;
  readonly partner: readonly string[];
}

export interface GroupResponse {
  readonly path: string;
  readonly kind: 'scope' | 'series' | 'function';
  readonly total: number;
  readonly offset: number;
  readonly children: readonly ChildRow[];
  readonly edges: EdgeColumns;
  readonly ins: BoundaryColumns;
  readonly outs: BoundaryColumns;
}

export interface GroupsResponse {
  readonly groups: readonly GroupResponse[];
}

/** How each child of a group is coloured, in the order of the children. */
export interface ColoringResponse {
  readonly by: string;
  readonly kind: 'category' | 'number';
  readonly names: readonly string[];
  /** Places in `names`, each with how many nodes of the child are of it. */
  readonly share: readonly (readonly (readonly [place: number, count: number])[])[];
  /** NaN for none. */
  readonly value: Float64Array | null;
}

/** Something that the graph can be coloured by, with its range over the first picture. */
export interface ScaleRow {
  readonly by: string;
  readonly title: string;
  readonly kind: 'category' | 'number';
  readonly unit: '' | 'us' | 'bytes';
  readonly low: number;
  readonly high: number;
  readonly categories: readonly NamedCount[];
}

export interface TensorRow {
  readonly path: string;
  readonly op: string;
  readonly dtype: string;
  readonly shape: string;
  readonly elements: number;
  readonly bytes: number;
  /** The groups to open so that it is seen. */
  readonly inside: readonly string[];
}

export interface RankedRow {
  readonly path: string;
  readonly op: string;
  readonly value: number;
  readonly inside: readonly string[];
}

/** A node in which what went through layers meets what it was before them. */
export interface SkipConnectionRow {
  readonly path: string;
  readonly op: string;
  /** Where the ways part. */
  readonly source: string;
  /** How many nodes the longer of them passes. */
  readonly passed: number;
  readonly inside: readonly string[];
}

/** A node with shapes that do not fit, or hardly were meant, in a sentence. */
export interface ShapeIssueRow {
  readonly path: string;
  readonly op: string;
  readonly what: string;
  readonly inside: readonly string[];
}

export interface StatisticsResponse {
  readonly scales: readonly ScaleRow[];
  readonly parameters: number;
  readonly largest: readonly TensorRow[];
  readonly owners: readonly RankedRow[];
  readonly slowest: readonly RankedRow[];
  readonly hungriest: readonly RankedRow[];
  readonly skips: readonly SkipConnectionRow[];
  readonly misfits: readonly ShapeIssueRow[];
}

/** A node or group that gives something to another, or takes something from it. */
export interface NeighborRow {
  readonly path: string;
  readonly op: string;
  /** Which input of the reader it is; -1 between groups. */
  readonly position: number;
  readonly output: string;
  readonly control: boolean;
  readonly shape: string;
  readonly dtype: string;
  readonly size: JsonNumber;
  readonly count: number;
  readonly inside: readonly string[];
  readonly change: ChangeName | null;
  /** What flowed before, where that is not what flows now. */
  readonly was: string;
}

export interface NodeResponse {
  readonly path: string;
  readonly name: string;
  readonly kind: ChildRow['kind'];
  readonly op: string;
  readonly device: string;
  /** The line of the program that made it. */
  readonly source: string;
  readonly nodes: number;
  readonly parameters: number;
  readonly attributes: readonly { readonly key: string; readonly value: string }[];
  readonly inputs: readonly NeighborRow[];
  readonly inputs_total: number;
  readonly outputs: readonly NeighborRow[];
  readonly outputs_total: number;
  readonly tensors: readonly {
    readonly dtype: string;
    readonly shape: string;
    readonly elements: number | null;
  }[];
  readonly functions: readonly string[];
  readonly ops: readonly NamedCount[];
  readonly inside: readonly string[];
  readonly ran: {
    readonly time_us: number;
    readonly memory_bytes: number;
    readonly start_us: number | null;
    readonly device: string;
    readonly outputs: readonly string[];
  } | null;
  readonly change: string;
  readonly changes: readonly {
    readonly what: string;
    readonly before: string;
    readonly after: string;
  }[];
}

export interface ChangedNodeRow {
  readonly path: string;
  readonly op: string;
  readonly change: ChangeName;
  readonly inside: readonly string[];
}

export interface ChangedEdgeRow {
  readonly source: string;
  readonly target: string;
  readonly control: boolean;
  readonly change: ChangeName;
  /** What flows. */
  readonly before: string;
  readonly after: string;
  readonly inside: readonly string[];
}

/** The first nodes and edges of each kind of change. */
export interface ChangesResponse {
  readonly nodes: readonly ChangedNodeRow[];
  readonly edges: readonly ChangedEdgeRow[];
}

export interface SearchHitRow {
  readonly path: string;
  readonly kind: ChildRow['kind'];
  readonly op: string;
  readonly where: string;
  readonly text: string;
  readonly first: number;
  readonly last: number;
  readonly body: string;
  readonly inside: readonly string[];
}

export interface SearchResponse {
  readonly total: number;
  readonly hits: readonly SearchHitRow[];
}

/** Operations as ranges of ranks, in the graph or in the body of one function. */
export interface TraceResponse {
  readonly total: number;
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly body: string;
  readonly ends: readonly string[];
}

export interface PathResponse {
  readonly direction: string;
  readonly total: number;
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly body: string;
  /** The first of them. */
  readonly nodes: readonly {
    readonly path: string;
    readonly op: string;
    readonly rank: number;
    readonly inside: readonly string[];
  }[];
}

/** What a copy of a board carries of a graph: groups that are not here cannot be opened. */
export interface StaticGraph {
  readonly about: OverviewResponse;
  readonly statistics: StatisticsResponse;
  readonly groups: readonly GroupResponse[];
  readonly paints: readonly {
    readonly group: string;
    readonly paints: readonly ColoringResponse[];
  }[];
  readonly nodes: readonly NodeResponse[];
}
