"""Requests and responses of the Graphs dashboard."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec

from tracklight.analysis.graphs.comparison import ChangeName
from tracklight.analysis.graphs.graph_index import Direction, SearchField
from tracklight.analysis.graphs.groups import ChildKind, ChildRole
from tracklight.analysis.graphs.statistics import ScaleName, ScaleUnit
from tracklight.analysis.source import Sentence
from tracklight.types import Float64, Int32

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]

NodePath = Annotated[str, msgspec.Meta(max_length=20_000)]

#: How the values of the nodes in a group are combined; ``max`` is the largest by magnitude.
CombineMode = Literal["mean", "max", "sum"]

#: A column of uploaded data of nodes, as ``id:column``.
OverlayColumn = Annotated[str, msgspec.Meta(max_length=10_000)]


class GraphRequest(msgspec.Struct):
    """A graph by its ``id`` in the list of graphs; without ``index`` the last logged one."""

    id: Annotated[str, msgspec.Meta(max_length=200)]
    index: Count | None = None
    fingerprint: int | None = None
    """The fingerprint of the logged value; with it the response never changes."""


class GroupRequest(GraphRequest):
    """One group: the root, a scope, a series or the body of a function."""

    group: NodePath = ""
    fold: bool = True
    """Show each series of numbered siblings as one child."""
    offset: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400
    """Maximum number of children, from ``offset`` on."""


class GroupsRequest(GraphRequest):
    """Several groups at once."""

    groups: Annotated[list[NodePath], msgspec.Meta(max_length=500)] = []
    fold: bool = True
    limit: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400


class ColoringRequest(GroupRequest):
    """The colors of the children of a group."""

    by: str = "structure"
    profile: str | None = None
    overlay: OverlayColumn | None = None
    """The column of uploaded data to color by, if ``by`` is "overlay"."""
    baseline: OverlayColumn | None = None
    """A column to subtract."""
    combine: CombineMode = "max"
    """How the values of the nodes in a group are combined."""


class OverlayRequest(GraphRequest, kw_only=True):
    """A column of uploaded data of nodes, less ``baseline`` if it is given."""

    overlay: OverlayColumn
    baseline: OverlayColumn | None = None
    combine: CombineMode = "max"


class StatisticsRequest(GraphRequest):
    """``profile`` is a tag of the run with execution times and memory."""

    profile: str | None = None


class NodeRequest(GraphRequest):
    """A node or group, with at most ``limit`` of its edges from ``offset`` on."""

    path: NodePath = ""
    fold: bool = True
    offset: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    profile: str | None = None


class WeightsRequest(GraphRequest):
    """The weights of a node."""

    path: NodePath = ""


class WeightsFileRequest(WeightsRequest, kw_only=True):
    """One tensor of the weights of a node, by name."""

    name: Annotated[str, msgspec.Meta(max_length=10_000)]


class SearchRequest(GraphRequest):
    """A query; all of its words must match."""

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    fold: bool = True
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class TraceRequest(GraphRequest):
    """All nodes that a node or group depends on, or that depend on it."""

    path: NodePath = ""
    direction: Literal["inputs", "outputs"] = "inputs"
    control: bool = True
    """Follow control edges."""


class PathRequest(GraphRequest):
    """The shortest path between two nodes or groups of the same graph or function body."""

    start: NodePath = ""
    end: NodePath = ""
    fold: bool = True


class ChangesRequest(GraphRequest):
    """The differences of two graphs: at most ``limit`` nodes and edges for each kind of change."""

    fold: bool = True
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class GraphFileRequest(GraphRequest):
    """A graph or group as a file."""

    group: NodePath = ""
    format: Literal["json", "dot"] = "json"
    title: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    """What the file is called; by default the name of the run and the title of the graph."""


class UploadRequest(msgspec.Struct):
    """An uploaded file; ``body`` is its content."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]
    body: bytes


class GraphStepRow(msgspec.Struct):
    """One logged graph of a tag."""

    index: int
    step: int
    wall_time: float
    fingerprint: int


class GraphRow(msgspec.Struct):
    """A graph that can be opened."""

    id: str
    run: str
    tag: str
    title: str
    kind: Literal["op", "profile", "conceptual", "upload"]
    plugin: str
    bytes: int
    """The size of the last logged graph."""
    steps: list[GraphStepRow]
    profiles: list[str]
    """Tags of the run with execution times and memory for this graph."""


class OverlayRow(msgspec.Struct):
    """An uploaded file with numbers for nodes."""

    id: str
    name: str
    columns: list[str]


class GraphsResponse(msgspec.Struct):
    cursor: str
    graphs: list[GraphRow]
    overlays: list[OverlayRow] = []
    """The uploaded data of nodes, which can be shown on any graph."""


class NamedCount(msgspec.Struct):
    name: str
    count: int


class ChangeCounts(msgspec.Struct):
    """Number of nodes or edges for each kind of change."""

    same: int
    added: int
    removed: int
    changed: int


class OverviewResponse(msgspec.Struct):
    """Totals of a graph that are known without describing every node."""

    nodes: int
    edges: int
    control_edges: int
    depth: int
    functions: list[NamedCount]
    """With the number of nodes of each."""
    ops: list[NamedCount]
    """The most frequent first."""
    problems: list[Sentence]
    default_groups: list[str]
    """Groups that are open in the default view."""
    changes: ChangeCounts | None
    edge_changes: ChangeCounts | None
    properties: list[AttributeRow] = []
    """What the header of a model file says, such as its format and who wrote it."""


class ChildRow(msgspec.Struct):
    """A child of a group: one box in the drawing."""

    path: str
    label: str
    kind: ChildKind
    op: str
    nodes: int
    first: int
    last: int
    shape: str
    """Of the first output."""
    dtype: str
    functions: list[str]
    """Called functions; the body of each is the group ``path|name|``."""
    role: ChildRole
    """Why it is drawn aside; empty for most children."""
    inputs: int
    outputs: int
    """Number of edges into it and out of it."""
    structure_id: int
    """Scopes with the same number have the same structure; -1 if it is unique."""
    parameters: int
    """Number of trainable values inside; -1 in graphs that are too large to count."""
    change: ChangeName | None
    """Set in comparisons; "changed" if the nodes inside have different changes."""
    single_child_chain: list[str]
    """Groups to open together with it, each the only child of the one before."""


class EdgeColumns(msgspec.Struct):
    """Bundles of edges between two children, given by their indexes."""

    source: Int32
    target: Int32
    count: Int32
    control: Int32
    """How many of the edges are control edges."""
    size: Float64
    """Number of elements of the tensors; NaN if unknown. Estimated for large bundles."""
    label: list[str]
    dtype: list[str]
    change: list[ChangeName | None]
    """Set in comparisons; "changed" if the edges have different changes."""


class BoundaryColumns(msgspec.Struct):
    """Bundles of edges that cross the boundary of the group.

    The partner is the box on the other side in the innermost group that contains both ends, so it
    is the same at each boundary that an edge crosses. Edges to children that are not in this
    response are included, with that child as the partner.
    """

    child: Int32
    partner: list[str]
    count: Int32
    control: Int32
    size: Float64
    label: list[str]
    dtype: list[str]
    change: list[ChangeName | None]


class GroupResponse(msgspec.Struct):
    """The content of an open group."""

    path: str
    kind: Literal["scope", "series", "function"]
    total: int
    """Number of children; this response has those from ``offset`` on."""
    offset: int
    children: list[ChildRow]
    edges: EdgeColumns
    incoming: BoundaryColumns
    outgoing: BoundaryColumns


class GroupsResponse(msgspec.Struct):
    groups: list[GroupResponse]


class CategoryCount(NamedTuple):
    """The number of nodes in a category, which is an index in ``names``; an array in JSON."""

    category: int
    node_count: int


class ColoringResponse(msgspec.Struct):
    """The category or number of each child; the scale is in the statistics."""

    by: ScaleName
    kind: Literal["category", "number"]
    names: list[str]
    counts: list[list[CategoryCount]]
    """For each child, the categories of its nodes."""
    value: Float64 | None
    """For each child a number; NaN if unknown."""
    overlay_value: Float64 | None = None
    baseline_value: Float64 | None = None
    """The numbers of which ``value`` is the difference, if two columns of data are compared."""


class OverlayNodeRow(msgspec.Struct):
    """A node with its value, or with the difference of two."""

    path: str
    op: str
    value: float
    overlay_value: float
    baseline_value: float | None
    ancestors: list[str]


class OverlayResponse(msgspec.Struct):
    """A column of uploaded data on a graph."""

    low: float
    high: float
    """The range of the values of all nodes and of the groups at the top level."""
    nodes: int
    groups: int
    """Number of nodes and groups that the file has values for."""
    top: list[OverlayNodeRow]
    """The nodes with the largest values by magnitude."""
    unknown: list[str]
    """Names in the file that the graph does not have, at most 20."""
    unknown_total: int


class ScaleRow(msgspec.Struct):
    """A property that nodes can be colored by, with its range in the default view."""

    by: ScaleName
    kind: Literal["category", "number"]
    unit: ScaleUnit
    low: float
    high: float
    categories: list[NamedCount]
    """The names of ``tpu`` are "compatible" and "incompatible", those of ``change`` are changes."""


class TensorRow(msgspec.Struct):
    """A large output of a node."""

    path: str
    op: str
    dtype: str
    shape: str
    elements: int
    bytes: float
    ancestors: list[str]


class RankedRow(msgspec.Struct):
    """A node of a ranking."""

    path: str
    op: str
    value: float
    ancestors: list[str]


class SkipConnectionRow(msgspec.Struct):
    """A node that joins the output of layers with their input."""

    path: str
    op: str
    source: str
    """The node where the two paths start."""
    passed: int
    """Number of nodes on the longer path."""
    ancestors: list[str]


class ShapeIssueRow(msgspec.Struct):
    """A node whose input shapes are incompatible or probably unintended."""

    path: str
    op: str
    message: Sentence
    ancestors: list[str]


class StatisticsResponse(msgspec.Struct):
    """Statistics over all nodes of a graph."""

    scales: list[ScaleRow]
    parameters: int
    largest: list[TensorRow]
    most_parameters: list[RankedRow]
    """The nodes with the most parameters."""
    slowest: list[RankedRow]
    most_memory: list[RankedRow]
    """The nodes that used the most memory."""
    skip_connections: list[SkipConnectionRow]
    shape_issues: list[ShapeIssueRow]
    """Both are computed for graphs of up to 50,000 nodes, with at most 200 rows each."""


class AttributeRow(msgspec.Struct):
    key: str
    value: str


class NeighborRow(msgspec.Struct):
    """A node or group on the other end of an edge."""

    path: str
    op: str
    position: int
    """Which input of the target it is; -1 between groups."""
    input_name: str
    """The name of that input in the documentation of the operation; empty if unknown."""
    output: str
    """Which output of the source it is."""
    control: bool
    shape: str
    dtype: str
    size: float | None
    """Number of elements, if known."""
    count: int
    """Number of edges."""
    ancestors: list[str]
    change: ChangeName | None
    previous: str
    """The tensor before the change, if it differs."""


class OutputRow(msgspec.Struct):
    dtype: str
    shape: str
    elements: int | None


class ExecutionRow(msgspec.Struct):
    """Execution of a node, or of all nodes in a group together."""

    time_us: float
    memory_bytes: float
    start_us: float | None
    device: str
    outputs: list[str]


class DifferenceRow(msgspec.Struct):
    property_name: str
    """A property of nodes, such as ``operation`` or ``inputs``, or the name of an attribute."""
    before: str
    after: str


class NodeResponse(msgspec.Struct):
    """The details of a node or group."""

    path: str
    name: str
    kind: ChildKind
    op: str
    op_summary: str
    """What the operation does, in a line of English; empty if unknown."""
    device: str
    source: str
    """The source line that created it."""
    nodes: int
    parameters: int
    attributes: list[AttributeRow]
    inputs: list[NeighborRow]
    inputs_total: int
    outputs: list[NeighborRow]
    outputs_total: int
    tensors: list[OutputRow]
    weights: bool
    """Whether the file has the weights of the node; see ``weights``."""
    functions: list[str]
    ops: list[NamedCount]
    ancestors: list[str]
    """The groups to open so that it is visible, outermost first."""
    first: int
    last: int
    body: str
    execution: ExecutionRow | None
    change: ChangeName | None
    changes: list[DifferenceRow]


class WeightsRow(msgspec.Struct):
    """A tensor of weights. Statistics are of finite values, null if there are none.

    ``edges`` has one more element than ``counts``; both are empty without finite values.
    """

    name: str
    dtype: str
    shape: str
    elements: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    zeros: int
    nonfinite: int
    edges: Float64
    counts: Float64
    values: str = ""
    """All values of a small tensor, the first and last ones of a larger one."""


class WeightsResponse(msgspec.Struct):
    """The weights of a node."""

    tensors: list[WeightsRow]


class ChangedNodeRow(msgspec.Struct):
    """A node that was added, removed or changed."""

    path: str
    op: str
    change: ChangeName
    ancestors: list[str]


class ChangedEdgeRow(msgspec.Struct):
    """An edge that was added, removed or changed, with the tensors it carries."""

    source: str
    target: str
    control: bool
    change: ChangeName
    before: str
    after: str
    ancestors: list[str]
    """The groups to open so that the target is visible."""


class ChangesResponse(msgspec.Struct):
    """The differences of two graphs, within the requested limit for each kind."""

    nodes: list[ChangedNodeRow]
    edges: list[ChangedEdgeRow]


class SearchHitRow(msgspec.Struct):
    """A search result and the text that matched."""

    path: str
    kind: ChildKind
    op: str
    field: SearchField
    text: str
    first: int
    last: int
    body: str
    ancestors: list[str]


class SearchResponse(msgspec.Struct):
    total: int
    hits: list[SearchHitRow]


class TraceResponse(msgspec.Struct):
    """Leaves as ranges of ranks in the function body ``body`` (empty: the graph)."""

    total: int
    first: Int32
    last: Int32
    body: str
    ends: list[str]
    """The nodes where it ends, at most 20."""


class PathNodeRow(msgspec.Struct):
    path: str
    op: str
    rank: int
    ancestors: list[str]


class PathResponse(msgspec.Struct):
    """The path including both ends; empty if there is none."""

    direction: Direction
    total: int
    first: Int32
    last: Int32
    """Its nodes as ranges of ranks in the function body ``body`` (empty: the graph)."""
    body: str
    nodes: list[PathNodeRow]
    """The nodes in order, at most 500."""
