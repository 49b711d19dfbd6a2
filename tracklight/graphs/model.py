"""One graph, whichever framework it is of.

Names, operations and edges are there at once, as columns; what only somebody who looks at a node
wants to know of it is found when they do. A hundred thousand nodes are read in a third of
a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tracklight.types import Bool, Int32

#: Sizes along each dimension, None for one that is not known; None for a rank that is not known.
Shape = tuple[int | None, ...] | None

#: What a model's own inputs and outputs are called by readers of formats that have no word for it.
INPUT, OUTPUT = "Input", "Output"

_MOST = 2**53
"""From here on JavaScript counts in steps of two; a file that says so is hostile or damaged."""


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor that a node gives; ``dtype`` is empty where the graph does not tell."""

    dtype: str
    shape: Shape

    def count(self) -> int | None:
        """How many numbers it holds; None as well for more than any machine can."""
        if self.shape is None or any(size is None for size in self.shape):
            return None
        count = prod(size for size in self.shape if size is not None)
        return count if count <= _MOST else None


@dataclass(frozen=True, slots=True)
class Detail:
    """What is known of one node besides its name, operation and edges."""

    outputs: tuple[Output, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    parameters: int = 0
    """How many trained numbers it owns."""
    calls: tuple[str, ...] = ()
    """The functions of the graph that it runs."""
    source: str = ""
    """The line of a program that it comes from, as in ``model.py:12 in forward``."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Who reads what, in the order of the readers and of their inputs."""

    source: Int32
    target: Int32
    position: Int32
    """Which input of the target it is; control inputs are counted along."""
    output: Sequence[str]
    """Which output of the source it is: a number, or for functions a name and a number."""
    control: Bool
    """True where nothing flows but the order of the two matters."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes by their places in ``names``; a slash in a name opens a scope."""

    names: Sequence[str]
    ops: Sequence[str]
    edges: Edges
    describe: Callable[[int], Detail]
    functions: Mapping[str, Graph] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Sentences on what does not fit together."""

    def __len__(self) -> int:
        return len(self.names)
