"""The nodes of a ``GraphDef`` or a function as columns, taken straight from its bytes.

A graph may have a hundred thousand of them. Their names and inputs are wanted at once; a message is
only made of a node that somebody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.wire_columns import scan_each, take_texts
from tracklight.graphs.attributes import describe_node
from tracklight.graphs.model import Detail
from tracklight.types import Bool, Int64

_NAME, _OP, _INPUT = 1, 2, 3
_WANTED = 1 << _NAME | 1 << _OP | 1 << _INPUT
_DAMAGED = Detail(attributes={"(damaged)": "what else is written of this node cannot be decoded"})


@dataclass(frozen=True, slots=True, eq=False)
class NodeDefs:
    names: list[str]
    ops: list[str]
    counts: Int64
    """How many inputs each node has."""
    inputs: list[str]
    """Those of all nodes, one after the other."""
    data: bytes
    spans: Int64
    """Where the message of each node starts in ``data``, and its size."""

    def describe(self, place: int) -> Detail:
        start, size = self.spans[place].tolist()
        try:
            return describe_node(proto.parse("NodeDef", self.data[start : start + size]))
        except FormatError:
            return _DAMAGED


def find_parts(data: bytes, spans: Int64, field: int) -> Int64:
    """Where the messages in one field of some messages start, and their sizes."""
    return np.ascontiguousarray(scan_each(data, spans, 1 << field)[:, 2:])


def scan_nodes(data: bytes, spans: Int64) -> NodeDefs:
    of, field, start, size = np.ascontiguousarray(scan_each(data, spans, _WANTED).T)
    texts = take_texts(data, start, size)
    return NodeDefs(
        _put(texts, of, field == _NAME, len(spans)),
        _put(texts, of, field == _OP, len(spans)),
        np.bincount(of[field == _INPUT], minlength=len(spans)),
        [texts[row] for row in np.flatnonzero(field == _INPUT).tolist()],
        data,
        spans,
    )


def _put(texts: list[str], of: Int64, is_taken: Bool, count: int) -> list[str]:
    """What each node says; of those who say it twice, what they say last."""
    found = [""] * count
    for row, place in zip(np.flatnonzero(is_taken).tolist(), of[is_taken].tolist(), strict=True):
        found[place] = texts[row]
    return found
