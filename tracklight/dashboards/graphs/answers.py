"""What the Graphs dashboard answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from tracklight.graphs.auxiliary import Role
from tracklight.graphs.changes import ChangeName
from tracklight.graphs.levels import Kind
from tracklight.graphs.searching import Where
from tracklight.graphs.walking import Direction
from tracklight.types import Float64, Int32


class StepRow(msgspec.Struct):
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
    steps: list[StepRow]
    profiles: list[str]
    """Tags of the run whose times and memory can be laid over it."""


class GraphsAnswer(msgspec.Struct):
    cursor: str
    graphs: list[GraphRow]


class Tally(msgspec.Struct):
    name: str
    count: int


class Changes(msgspec.Struct):
    """How many nodes, or edges, of two graphs are alike."""

    same: int
    added: int
    removed: int
    changed: int


class About(msgspec.Struct):
    """A graph at a glance."""

    nodes: int
    edges: int
    control_edges: int
    depth: int
    functions: list[Tally]
    """With the number of their nodes."""
    ops: list[Tally]
    """The most frequent first."""
    problems: list[str]
    open: list[str]
    """Groups to open at first, as they are all that there is to see."""
    changes: Changes | None
    edge_changes: Changes | None


class ChildRow(msgspec.Struct):
    """A box of the picture."""

    path: str
    label: str
    kind: Kind
    op: str
    nodes: int
    first: int
    last: int
    shape: str
    """Of the first output."""
    dtype: str
    functions: list[str]
    """Bodies that can be opened: the group ``path|name|``."""
    aux: Role
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


class BorderColumns(msgspec.Struct):
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


class Group(msgspec.Struct):
    """What is seen of an open group."""

    path: str
    kind: Literal["scope", "series", "function"]
    total: int
    """How many children it has; here are those from ``offset`` on."""
    offset: int
    children: list[ChildRow]
    edges: EdgeColumns
    ins: BorderColumns
    outs: BorderColumns


class GroupsAnswer(msgspec.Struct):
    groups: list[Group]


class Paint(msgspec.Struct):
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
    categories: list[Tally]


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


class SkipRow(msgspec.Struct):
    """A node in which what went through layers meets what it was before them."""

    path: str
    op: str
    source: str
    """Where the ways part."""
    passed: int
    """How many nodes the longer of them passes."""
    inside: list[str]


class MisfitRow(msgspec.Struct):
    """A node with shapes that do not fit, or hardly were meant, in a sentence."""

    path: str
    op: str
    what: str
    inside: list[str]


class Statistics(msgspec.Struct):
    """What is known of the nodes of a graph, all of them together."""

    scales: list[ScaleRow]
    parameters: int
    largest: list[TensorRow]
    owners: list[RankedRow]
    """The nodes with the most parameters."""
    slowest: list[RankedRow]
    hungriest: list[RankedRow]
    """The nodes that took the most memory."""
    skips: list[SkipRow]
    misfits: list[MisfitRow]
    """Both are looked for in graphs of up to 50,000 nodes, and told up to 200 of each."""


class Attribute(msgspec.Struct):
    key: str
    value: str


class NeighbourRow(msgspec.Struct):
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


class TensorText(msgspec.Struct):
    dtype: str
    shape: str
    elements: int | None


class Ran(msgspec.Struct):
    """What a profile says of a node, or of all in a group together."""

    time_us: float
    memory_bytes: float
    start_us: float | None
    device: str
    outputs: list[str]


class ChangeRow(msgspec.Struct):
    what: str
    before: str
    after: str


class Node(msgspec.Struct):
    """All that is known of a node or a group."""

    path: str
    name: str
    kind: Kind
    op: str
    device: str
    source: str
    """The line of the program that made it."""
    nodes: int
    parameters: int
    attributes: list[Attribute]
    inputs: list[NeighbourRow]
    inputs_total: int
    outputs: list[NeighbourRow]
    outputs_total: int
    tensors: list[TensorText]
    functions: list[str]
    ops: list[Tally]
    inside: list[str]
    """The groups to open so that it is seen, from the root on."""
    first: int
    last: int
    body: str
    ran: Ran | None
    change: ChangeName | None
    changes: list[ChangeRow]


class ChangedNode(msgspec.Struct):
    """A node that only one of two graphs has, or that is another in each."""

    path: str
    op: str
    change: ChangeName
    inside: list[str]


class ChangedEdge(msgspec.Struct):
    """The same of an edge, with what flows along it."""

    source: str
    target: str
    control: bool
    change: ChangeName
    before: str
    after: str
    inside: list[str]
    """The groups to open so that the target is seen."""


class ChangesAnswer(msgspec.Struct):
    """Where two graphs differ, at most so many of each kind as were asked for."""

    nodes: list[ChangedNode]
    edges: list[ChangedEdge]


class HitRow(msgspec.Struct):
    """Something that was found, and why."""

    path: str
    kind: Kind
    op: str
    where: Where
    text: str
    first: int
    last: int
    body: str
    inside: list[str]


class SearchAnswer(msgspec.Struct):
    total: int
    hits: list[HitRow]


class TraceAnswer(msgspec.Struct):
    """Leaves as ranges of ranks on the sheet ``body``."""

    total: int
    first: Int32
    last: Int32
    body: str
    ends: list[str]
    """Where it ends, at most 20 of them."""


class PathNode(msgspec.Struct):
    path: str
    op: str
    rank: int
    inside: list[str]


class PathAnswer(msgspec.Struct):
    """From the start to the end, both included; nothing where no way leads there."""

    direction: Direction
    total: int
    first: Int32
    last: Int32
    """All of its nodes as ranges of ranks on the sheet ``body``."""
    body: str
    nodes: list[PathNode]
    """In their order, at most the first 500."""
