"""Reads the graph that ``torch.export`` makes of a model."""

from __future__ import annotations

import io
import logging
import operator
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

from tracklight.formats.stack_trace import find_line
from tracklight.torch.graphs import IO_NODE, Node, Scopes, name_dtype


def read_exported(model: Any, arguments: tuple[Any, ...], *, is_verbose: bool) -> list[Node]:
    """The operations of a model that is called with ``arguments``. Raises what torch raises."""
    import torch

    with _quiet():
        program = torch.export.export(model, arguments, strict=False)
    if is_verbose:
        print(program.graph)
    reader = _Reader(Scopes(model), program.graph_signature)
    for node in program.graph.nodes:
        reader.read(node)
    return reader.nodes


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to itself what torch prints about a model that it cannot export."""
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)


class _Reader:
    """Goes through the nodes of an exported program in their order."""

    def __init__(self, scopes: Scopes, signature: Any) -> None:
        self.nodes: list[Node] = []
        self._scopes = scopes
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._stored = {
            name: (path, kind)
            for kind, paths in {
                "Parameter": signature.inputs_to_parameters,
                "Buffer": signature.inputs_to_buffers,
                "Constant": signature.inputs_to_lifted_tensor_constants,
            }.items()
            for name, path in paths.items()
        }

    def read(self, node: Any) -> None:
        if node.op == "output":
            self._read_outputs(node)
        elif node.op == "placeholder":
            self._read_placeholder(node)
        elif node.target is operator.getitem:
            # One of several results, which are told apart by a number after the name.
            source, index = node.args
            self._names[node] = f"{self._names[source]}:{index}" if index else self._names[source]
        else:
            inputs = [self._names[it] for it in _iter_nodes([node.args, node.kwargs])]
            name = f"{self._find_scope(node)}/{node.name}"
            self._add(node, name, _get_op(node.target), inputs, _describe_arguments(node))

    def _read_placeholder(self, node: Any) -> None:
        if node.name not in self._stored:
            self._add(node, f"input/{node.name}", IO_NODE)
        elif node.users:
            path, kind = self._stored[node.name]
            module, _, name = path.rpartition(".")
            self._add(node, f"{self._scopes.name(module)}/{name}", kind)

    def _read_outputs(self, node: Any) -> None:
        for number, source in enumerate(node.all_input_nodes, 1):
            inputs = [self._names[source]]
            name = f"output/output.{number}"
            shapes, dtypes = _find_shapes(source), _find_dtypes(source)
            self.nodes.append(Node(name, IO_NODE, inputs, shapes, dtypes=dtypes))

    def _add(self, node: Any, name: str, op: str, inputs: Any = (), detail: str = "") -> None:
        while name in self._taken:  # by a parameter that is called like an operation
            name += "_"
        self._taken.add(name)
        self._names[node] = name
        source = find_line(node.meta.get("stack_trace") or "") if inputs else ""
        shapes, dtypes = _find_shapes(node), _find_dtypes(node)
        self.nodes.append(Node(name, op, inputs, shapes, detail, dtypes, source))

    def _find_scope(self, node: Any) -> str:
        stack = node.meta.get("nn_module_stack") or {"": ("", None)}
        path, _ = list(stack.values())[-1]
        return self._scopes.name(path)


def _get_op(target: Any) -> str:
    schema = getattr(target, "_schema", None)
    return str(getattr(target, "__name__", target)) if schema is None else str(schema.name)


def _find_shapes(node: Any) -> list[list[int]]:
    return [
        # A size that is not fixed is a symbol, and told as unknown.
        [size if isinstance(size, int) else -1 for size in tensor.shape]
        for tensor in _iter_tensors(node)
    ]


def _find_dtypes(node: Any) -> list[str]:
    return [name_dtype(tensor.dtype) for tensor in _iter_tensors(node)]


def _iter_tensors(node: Any) -> Iterator[Any]:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    yield from (tensor for tensor in values if hasattr(tensor, "shape"))


def _describe_arguments(node: Any) -> str:
    """What an operation is given beside tensors, such as a stride."""
    schema = getattr(node.target, "_schema", None)
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    given = [*zip(names, node.args, strict=False), *node.kwargs.items()]
    return ", ".join(f"{name}={value}" for name, value in given if not _holds_nodes(value))


def _holds_nodes(value: Any) -> bool:
    return any(True for _ in _iter_nodes(value))


def _iter_nodes(value: Any) -> Iterator[Any]:
    """What an argument is computed from, one that is given twice as often."""
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _iter_nodes(part)
    elif hasattr(value, "all_input_nodes"):
        yield value
