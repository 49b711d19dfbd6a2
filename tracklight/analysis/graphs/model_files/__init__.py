"""Parsers of model files: TensorFlow Lite, PyTorch, StableHLO and weights.

This module has what they share: `TensorGraphBuilder`, which makes a graph from nodes whose inputs
and outputs are names of tensors, and `ModelArchive`, a zip archive with limits on sizes. Each
parser takes the bytes of a file, which are untrusted, and returns a
`tracklight.analysis.graphs.Graph`; nothing in a file is run or unpickled. The formats of logged
graphs (GraphDef, Keras JSON, ONNX) are in the package above; `tracklight.analysis.graphs.parsers`
chooses the parser. `torch_parameters` completes graphs that PyTorch has logged.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracklight.analysis.graphs import (
    EdgeBuilder,
    Graph,
    NodeDetails,
    TensorSpec,
    UniqueNames,
    WeightReader,
)
from tracklight.errors import FormatError, Message
from tracklight.util.parsing import load_json

#: The op of a node that represents a tensor with weights, as in ONNX.
INITIALIZER = "Initializer"


@dataclass(slots=True)
class _Node:
    name: str
    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    details: NodeDetails


@dataclass
class TensorGraphBuilder:
    """Collects nodes; edges follow from the tensors that they read and write.

    Args:
        specs: Types and shapes of tensors by name, for the outputs of nodes.
    """

    specs: Mapping[str, TensorSpec] = field(default_factory=dict)
    _nodes: list[_Node] = field(default_factory=list)
    _names: UniqueNames = field(default_factory=UniqueNames)
    _weights: dict[int, WeightReader] = field(default_factory=dict)

    def add(
        self,
        name: str,
        op: str,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
        *,
        attributes: Mapping[str, str] | None = None,
        parameters: int = 0,
        functions: tuple[str, ...] = (),
        source: str = "",
        weights: WeightReader | None = None,
    ) -> str:
        """Add a node; return its name, which is made unique. Empty inputs are omitted ones."""
        unique = self._names.make_unique(name.strip("/") or op)
        inputs, outputs = list(inputs), list(outputs)
        known = outputs or inputs[:1]
        details = NodeDetails(
            tuple(self.specs.get(item, TensorSpec("", None)) for item in known),
            attributes or {},
            parameters=parameters,
            functions=functions,
            source=source,
        )
        if weights is not None:
            self._weights[len(self._nodes)] = weights
        self._nodes.append(_Node(unique, op, inputs, outputs, details))
        return unique

    def build(
        self, functions: Mapping[str, Graph] | None = None, problems: Sequence[Message] = ()
    ) -> Graph:
        """Return the graph. Of several nodes that write a tensor, the last one counts."""
        nodes = self._nodes
        edges = EdgeBuilder([node.name for node in nodes])
        producers = {
            name: (node.name, str(slot)) for node in nodes for slot, name in enumerate(node.outputs)
        }
        for index, node in enumerate(nodes):
            for position, name in enumerate(node.inputs):
                if name in producers:
                    edges.add(index, position, *producers[name], False)
                elif name:
                    edges.add_missing(name)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            edges.build(),
            lambda index: nodes[index].details,
            functions or {},
            (*problems, *edges.list_problems()),
            self._weights,
        )


# ---- zip archives

#: A description of a model; weights have their own limit.
MAX_TEXT_BYTES = 256 << 20

_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    RuntimeError,
    EOFError,
    NotImplementedError,
    UnicodeDecodeError,  # of the name of a member
)


class ModelArchive:
    """The members of an archive. PyTorch puts all of them below a folder, whose name varies.

    Raises:
        FormatError: The archive is damaged.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.names = archive.namelist()
        except _ZIP_ERRORS as error:
            raise _make_error(error) from None

    def find(self, suffix: str) -> str | None:
        """Return the first member at a path, with or without the folder above it."""
        exact = (name for name in self.names if name == suffix or name.endswith(f"/{suffix}"))
        return min(exact, key=len, default=None)

    def read(self, name: str, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
        """Return the content of a member.

        Raises:
            FormatError: It does not exist, is damaged, or is larger than ``max_bytes``.
        """
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive, archive.open(name) as file:
                content = file.read(max_bytes + 1)
        except (KeyError, *_ZIP_ERRORS) as error:
            raise _make_error(error) from None
        if len(content) > max_bytes:
            raise FormatError(
                "graphs.member_too_large",
                '"{name}" in the archive is larger than {size}',
                name=name,
                size=f"{max_bytes >> 20} MB",
            )
        return content

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the content of a member that is a JSON object.

        Raises:
            FormatError: It is not one.
        """
        try:
            content = load_json(self.read(name))
        except (ValueError, RecursionError) as error:
            raise FormatError(
                "graphs.member_not_json",
                '"{name}" in the archive is not JSON: {error}',
                name=name,
                error=error,
            ) from None
        if not isinstance(content, dict):
            raise FormatError(
                "graphs.member_not_object", '"{name}" in the archive has no model', name=name
            )
        return content


def _make_error(error: Exception) -> FormatError:
    return FormatError("graphs.damaged_archive", "the archive is damaged: {error}", error=error)
