"""What the page asks of the Graphs dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Path = Annotated[str, msgspec.Meta(max_length=20_000)]


class GraphAsk(msgspec.Struct):
    """A graph by the ``id`` that the listing gives it; ``index`` null stands for the last one."""

    id: Annotated[str, msgspec.Meta(max_length=200)]
    index: Count | None = None
    mark: int | None = None
    """With it, the answer can never be another one."""


class GroupAsk(GraphAsk):
    """One open group: the root, a scope, a series or the body of a function."""

    group: Path = ""
    fold: bool = True
    """Whether series are shown as one."""
    offset: Count = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400
    """Of more children, so many from the ``offset`` on."""


class GroupsAsk(GraphAsk):
    """Several open groups at once."""

    groups: Annotated[list[Path], msgspec.Meta(max_length=500)] = []
    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400


class PaintAsk(GroupAsk):
    """How the children of a group are coloured."""

    by: str = "structure"
    profile: str | None = None


class StatisticsAsk(GraphAsk):
    """``profile`` is a tag of the run whose times and memory are laid over the graph."""

    profile: str | None = None


class NodeAsk(GraphAsk):
    """A node or a group, with so many of its edges from the ``offset`` on."""

    path: Path = ""
    fold: bool = True
    offset: Count = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    profile: str | None = None


class SearchAsk(GraphAsk):
    """Words that all have to be there; see the documentation for ``op:`` and the like."""

    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class TraceAsk(GraphAsk):
    """All that a node or group depends on, or all that depends on it."""

    path: Path = ""
    direction: Literal["inputs", "outputs"] = "inputs"
    control: bool = True
    """Whether edges are followed in which nothing flows."""


class PathAsk(GraphAsk):
    """The shortest way from one node or group to another on the same sheet."""

    start: Path = ""
    end: Path = ""
    fold: bool = True


class ChangesAsk(GraphAsk):
    """In what two graphs differ: the first so many nodes, and edges, of each kind of change."""

    fold: bool = True
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class FileAsk(GraphAsk):
    """A graph, or one group of it, as a file."""

    group: Path = ""
    format: Literal["json", "dot"] = "json"


class UploadAsk(msgspec.Struct):
    """A file of the user's: ``body`` is what was sent."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]
    body: bytes
