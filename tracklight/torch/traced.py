"""Reads the graph of a JIT trace, for models that ``torch.export`` cannot look into."""

from __future__ import annotations

from typing import Any

from tracklight.formats.stack_trace import find_torch_line
from tracklight.torch.graphs import IO_NODE, Node, Scopes, name_dtype

_ROOT = "__module"
#: What only puts values together or takes them apart.
_PACKING = ("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct")
_UNPACKING = ("prim::ListUnpack", "prim::TupleUnpack")


def read_traced(
    model: Any, arguments: tuple[Any, ...], *, is_verbose: bool, is_strict: bool
) -> list[Node]:
    """The operations of a model that is called with ``arguments``. Raises what torch raises."""
    import torch

    traced = torch.jit.trace(model, arguments, strict=is_strict, check_trace=False)
    if is_verbose:
        print(traced.inlined_graph)
    return _read(traced.inlined_graph, Scopes(model))


def read_scripted(model: Any) -> list[Node]:
    """The operations of a module or function that was compiled already."""
    return _read(model.inlined_graph, Scopes(model))


def _read(graph: Any, scopes: Scopes) -> list[Node]:
    reader = _Reader(scopes)
    for value in graph.inputs():
        reader.read_input(value)
    for node in graph.nodes():
        reader.read(node)
    reader.read_outputs(list(graph.outputs()))
    return reader.nodes


class _Reader:
    """Goes through the nodes of a trace in their order.

    Lists and tuples are no nodes of the result: what uses them is joined to what is in them.
    """

    def __init__(self, scopes: Scopes) -> None:
        self.nodes: list[Node] = []
        self._scopes = scopes
        self._sources: dict[str, list[str]] = {}
        self._shapes: dict[str, list[int] | None] = {}
        self._paths: dict[str, str] = {}

    def read_input(self, value: Any) -> None:
        if value.type().kind() == "ClassType":
            self._paths[value.debugName()] = ""
        else:
            self._add(f"input/{value.debugName()}", IO_NODE, [value], [])

    def read_outputs(self, values: list[Any]) -> None:
        sources = [name for value in values for name in self._sources.get(value.debugName(), [])]
        for number, source in enumerate(sources, 1):
            shape = self._shapes.get(source)
            shapes = [] if shape is None else [shape]
            self.nodes.append(Node(f"output/output.{number}", IO_NODE, [source], shapes))

    def read(self, node: Any) -> None:
        kind = node.kind()
        outputs = list(node.outputs())
        inputs = self._find_sources(node)
        if kind == "prim::GetAttr":
            self._read_attribute(node, outputs[0])
        elif kind in _PACKING:
            self._sources[outputs[0].debugName()] = inputs
        elif kind in _UNPACKING:
            self._unpack(inputs, outputs)
        elif kind != "prim::Constant" and outputs:
            name = f"{self._find_scope(node)}/{outputs[0].debugName()}"
            self._add(name, kind, outputs, inputs, find_torch_line(node.sourceRange()))

    def _read_attribute(self, node: Any, output: Any) -> None:
        owner = self._paths.get(node.input().debugName(), "")
        name = node.s("name")
        if output.type().kind() == "ClassType":
            self._paths[output.debugName()] = f"{owner}.{name}" if owner else name
            return
        full_name = f"{self._scopes.name(owner)}/{name}"
        self._sources[output.debugName()] = [full_name]
        if full_name not in self._shapes:
            tensor = self._scopes.find_tensor(owner, name)
            self._shapes[full_name] = None if tensor is None else list(tensor.shape)
            self.nodes.append(_describe_stored(full_name, tensor))

    def _unpack(self, inputs: list[str], outputs: list[Any]) -> None:
        for index, output in enumerate(outputs):
            # Either the parts are known one by one, or all are results of one node.
            if len(inputs) == len(outputs):
                source = inputs[index]
            else:
                source = f"{inputs[0]}:{index}" if inputs and index else "".join(inputs[:1])
            self._sources[output.debugName()] = [source] if source else []

    def _add(
        self, name: str, op: str, outputs: list[Any], inputs: list[str], source: str = ""
    ) -> None:
        while name in self._shapes:  # by a parameter that is called like an operation
            name += "_"
        for index, output in enumerate(outputs):
            port = f"{name}:{index}" if index else name
            self._sources[output.debugName()] = [port]
            self._shapes[port] = output.type().sizes() if output.isCompleteTensor() else None
        known = [output.type() for output in outputs if output.isCompleteTensor()]
        shapes, dtypes = [kind.sizes() for kind in known], [name_dtype(it.dtype()) for it in known]
        self.nodes.append(Node(name, op, inputs, shapes, dtypes=dtypes, source=source))

    def _find_sources(self, node: Any) -> list[str]:
        sources = [self._sources.get(value.debugName(), []) for value in node.inputs()]
        return [name for names in sources for name in names]

    def _find_scope(self, node: Any) -> str:
        """A trace tells the modules as ``__module.encoder/__module.encoder.0``."""
        path = node.scopeName().rpartition("/")[2]
        return self._scopes.name(path.removeprefix(_ROOT).removeprefix("."))


def _describe_stored(name: str, tensor: Any | None) -> Node:
    """What a module holds; a number that is no tensor is known by its name alone."""
    from torch.nn import Parameter

    if tensor is None:
        return Node(name, "Constant")
    kind = "Parameter" if isinstance(tensor, Parameter) else "Buffer"
    return Node(name, kind, (), [list(tensor.shape)], dtypes=[name_dtype(tensor.dtype)])
