"""What the page asks of the Graphs dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.graphs.comparison import ChangeName
from tracklight.analysis.graphs.groups import ChildKind, ChildRole
from tracklight.analysis.graphs.queries import Direction, SearchField
from tracklight.types import Float64, Int32

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]

NodePath = Annotated[str, msgspec.Meta(max_length=20_000)]


class GraphRequest(msgspec.Struct):
    """A graph by the ``id`` that the listing gives it; ``index`` null stands for the last one."""

    id: Annotated[str, msgspec.Meta(max_length=200)]
    index: Count | None = None
    mark: int | None = None
    """With it, the answer can never be another one."""


class GroupRequest(GraphRequest):
    """One open group: the root, a scope, a series or the body of a function."""

    group: NodePath = ""
    fold: bool = True
    """Whether series are shown as one."""
    offset: Count = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400
    """Of more children, so many from the ``offset`` on."""


class GroupsRequest(GraphRequest):
    """Several open groups at once."""

    groups: Annotated[list[NodePath], msgspec.Meta(max_length=500)] = []
    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400


class ColoringRequest(GroupRequest):
    """How the children of a group are coloured."""

    by: str = "structure"
    profile: str | None = None


class StatisticsRequest(GraphRequest):
    """``profile`` is a tag of the run whose times and memory are laid over the graph."""

    profile: str | None = None


class NodeRequest(GraphRequest):
    """A node or a group, with so many of its edges from the ``offset`` on."""

    path: NodePath = ""
    fold: bool = True
    offset: Count = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    profile: str | None = None


class SearchRequest(GraphRequest):
    """Words that all have to be there; see the documentation for ``op:`` and the like."""

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class TraceRequest(GraphRequest):
    """All that a node or group depends on, or all that depends on it."""

    path: NodePath = ""
    direction: Literal["inputs", "outputs"] = "inputs"
    control: bool = True
    """Whether edges are followed in which nothing flows."""


class PathRequest(GraphRequest):
    """The shortest way from one node or group to another on the same sheet."""

    start: NodePath = ""
    end: NodePath = ""
    fold: bool = True


class ChangesRequest(GraphRequest):
    """In what two graphs differ: the first so many nodes, and edges, of each kind of change."""

    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class GraphFileRequest(GraphRequest):
    """A graph, or one group of it, as a file."""

    group: NodePath = ""
    format: Literal["json", "dot"] = "json"


class UploadRequest(msgspec.Struct):
    """A file of the user's: ``body`` is what was sent."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]
    body: bytes


# What the Graphs dashboard answers.


class GraphStepRow(msgspec.Struct):
    """One of the graphs that a tag was logged with."""

    index: int
    step: int
    wall_time: float
    mark: int


class GraphRow(msgspec.Struct):
    """A graph that can be looked at."""

    id: str
    run: str
    tag: str
    title: str
    kind: Literal["op", "profile", "conceptual", "upload"]
    plugin: str
    bytes: int
    """The size of the last one."""
    steps: list[GraphStepRow]
    profiles: list[str]
    """Tags of the run whose times and memory can be laid over it."""


class GraphsResponse(msgspec.Struct):
    cursor: str
    graphs: list[GraphRow]


class NamedCount(msgspec.Struct):
    name: str
    count: int


class ChangeCounts(msgspec.Struct):
    """How many nodes, or edges, of two graphs are alike."""

    same: int
    added: int
    removed: int
    changed: int


class OverviewResponse(msgspec.Struct):
    """A graph at a glance."""

    nodes: int
    edges: int
    control_edges: int
    depth: int
    functions: list[NamedCount]
    """With the number of their nodes."""
    ops: list[NamedCount]
    """The most frequent first."""
    problems: list[str]
    open: list[str]
    """Groups to open at first, as they are all that there is to see."""
    changes: ChangeCounts | None
    edge_changes: ChangeCounts | None


class ChildRow(msgspec.Struct):
    """A box of the picture."""

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
    """Bodies that can be opened: the group ``path|name|``."""
    aux: ChildRole
    """Why it would better stand aside."""
    inputs: int
    outputs: int
    """How many edges lead into it and out of it."""
    structure: int
    """The same number means built alike; -1 for the only one of its kind."""
    parameters: int
    """How many trained numbers are in it; -1 in graphs that are too large to be counted at once."""
    change: ChangeName | None
    """In a comparison; a group in which not all is the same has changed."""
    chain: list[str]
    """Groups inside of it that are best opened along with it, as each is all that the one before
    holds."""


class EdgeColumns(msgspec.Struct):
    """Bundles of edges between two children, by the places of these."""

    source: Int32
    target: Int32
    count: Int32
    control: Int32
    """In how many of them nothing flows."""
    size: Float64
    """How many numbers flow; NaN if that is not known. Of large bundles it is estimated."""
    label: list[str]
    dtype: list[str]
    change: list[ChangeName | None]
    """In a comparison, by its name; a bundle in which not all is the same has changed."""


class BoundaryColumns(msgspec.Struct):
    """Bundles of edges over the border of the group.

    The partner is the box on the other side at the level where both ends are in sight of each
    other; it is the same one at each border that the edges cross. For children that are not in
    this answer it is the child itself.
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
    """What is seen of an open group."""

    path: str
    kind: Literal["scope", "series", "function"]
    total: int
    """How many children it has; here are those from ``offset`` on."""
    offset: int
    children: list[ChildRow]
    edges: EdgeColumns
    ins: BoundaryColumns
    outs: BoundaryColumns


class GroupsResponse(msgspec.Struct):
    groups: list[GroupResponse]


class ColoringResponse(msgspec.Struct):
    """How each child of a group is coloured; the colours themselves follow from the statistics."""

    by: str
    kind: Literal["category", "number"]
    names: list[str]
    share: list[list[tuple[int, int]]]
    """For each child the places in ``names`` and how many of its nodes are of each."""
    value: Float64 | None
    """For each child a number, NaN for none."""


class ScaleRow(msgspec.Struct):
    """Something that the graph can be coloured by, with its range over the first picture."""

    by: str
    title: str
    kind: Literal["category", "number"]
    unit: Literal["", "us", "bytes"]
    low: float
    high: float
    categories: list[NamedCount]


class TensorRow(msgspec.Struct):
    """An output of a node that is large."""

    path: str
    op: str
    dtype: str
    shape: str
    elements: int
    bytes: float
    inside: list[str]


class RankedRow(msgspec.Struct):
    """A node that is far up in a list."""

    path: str
    op: str
    value: float
    inside: list[str]


class SkipConnectionRow(msgspec.Struct):
    """A node in which what went through layers meets what it was before them."""

    path: str
    op: str
    source: str
    """Where the ways part."""
    passed: int
    """How many nodes the longer of them passes."""
    inside: list[str]


class ShapeIssueRow(msgspec.Struct):
    """A node with shapes that do not fit, or hardly were meant, in a sentence."""

    path: str
    op: str
    what: str
    inside: list[str]


class StatisticsResponse(msgspec.Struct):
    """What is known of the nodes of a graph, all of them together."""

    scales: list[ScaleRow]
    parameters: int
    largest: list[TensorRow]
    owners: list[RankedRow]
    """The nodes with the most parameters."""
    slowest: list[RankedRow]
    hungriest: list[RankedRow]
    """The nodes that took the most memory."""
    skips: list[SkipConnectionRow]
    misfits: list[ShapeIssueRow]
    """Both are looked for in graphs of up to 50,000 nodes, and told up to 200 of each."""


class AttributeRow(msgspec.Struct):
    key: str
    value: str


class NeighborRow(msgspec.Struct):
    """A node or group that gives something to another, or takes something from it."""

    path: str
    op: str
    position: int
    """Which input of the reader it is; -1 between groups."""
    output: str
    """Which output it comes from."""
    control: bool
    shape: str
    dtype: str
    size: float | None
    """How many numbers flow, where that is known."""
    count: int
    """How many edges these are."""
    inside: list[str]
    change: ChangeName | None
    was: str
    """What flowed before, where that is not what flows now."""


class OutputRow(msgspec.Struct):
    dtype: str
    shape: str
    elements: int | None


class ExecutionRow(msgspec.Struct):
    """What a profile says of a node, or of all in a group together."""

    time_us: float
    memory_bytes: float
    start_us: float | None
    device: str
    outputs: list[str]


class DifferenceRow(msgspec.Struct):
    what: str
    before: str
    after: str


class NodeResponse(msgspec.Struct):
    """All that is known of a node or a group."""

    path: str
    name: str
    kind: ChildKind
    op: str
    device: str
    source: str
    """The line of the program that made it."""
    nodes: int
    parameters: int
    attributes: list[AttributeRow]
    inputs: list[NeighborRow]
    inputs_total: int
    outputs: list[NeighborRow]
    outputs_total: int
    tensors: list[OutputRow]
    functions: list[str]
    ops: list[NamedCount]
    inside: list[str]
    """The groups to open so that it is seen, from the root on."""
    first: int
    last: int
    body: str
    ran: ExecutionRow | None
    change: ChangeName | None
    changes: list[DifferenceRow]


class ChangedNodeRow(msgspec.Struct):
    """A node that only one of two graphs has, or that is another in each."""

    path: str
    op: str
    change: ChangeName
    inside: list[str]


class ChangedEdgeRow(msgspec.Struct):
    """The same of an edge, with what flows along it."""

    source: str
    target: str
    control: bool
    change: ChangeName
    before: str
    after: str
    inside: list[str]
    """The groups to open so that the target is seen."""


class ChangesResponse(msgspec.Struct):
    """Where two graphs differ, at most so many of each kind as were asked for."""

    nodes: list[ChangedNodeRow]
    edges: list[ChangedEdgeRow]


class SearchHitRow(msgspec.Struct):
    """Something that was found, and why."""

    path: str
    kind: ChildKind
    op: str
    where: SearchField
    text: str
    first: int
    last: int
    body: str
    inside: list[str]


class SearchResponse(msgspec.Struct):
    total: int
    hits: list[SearchHitRow]


class TraceResponse(msgspec.Struct):
    """Leaves as ranges of ranks on the sheet ``body``."""

    total: int
    first: Int32
    last: Int32
    body: str
    ends: list[str]
    """Where it ends, at most 20 of them."""


class PathNodeRow(msgspec.Struct):
    path: str
    op: str
    rank: int
    inside: list[str]


class PathResponse(msgspec.Struct):
    """From the start to the end, both included; nothing where no way leads there."""

    direction: Direction
    total: int
    first: Int32
    last: Int32
    """All of its nodes as ranges of ranks on the sheet ``body``."""
    body: str
    nodes: list[PathNodeRow]
    """In their order, at most the first 500."""
