"""Read the graph of a PyTorch model, and write it as a GraphDef in PyTorch's form.

The graph has operations, their inputs, and the modules that contain them. `read_model_graph` tries
``torch.export`` first and falls back to a JIT trace for models that cannot be exported. ONNX files
are converted as well, without the ``onnx`` package.
"""

from __future__ import annotations

import io
import logging
import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.onnx import OnnxGraph, OnnxTensor, format_attribute, parse_onnx_model
from tracklight.formats.proto import Message, decode_text
from tracklight.formats.tensor import DType
from tracklight.util.parsing import extract_python_line, extract_torchscript_line
from tracklight.writer.warnings import ArgumentError

# ---- GraphDef

#: The operation of nodes that are inputs or outputs of a model.
IO_NODE_OP = "IO Node"

#: A RunMetadata message that names the CPU and contains no measurements, as PyTorch writes it.
RUN_METADATA = b"\x0a\x11\x0a\x0f\x0a\x0d/device:CPU:0"

#: The version that PyTorch writes; readers ignore it.
_PRODUCER = 22

#: ONNX types whose names differ from those of event files.
_ONNX_DTYPES = {"float32": DType.FLOAT, "float64": DType.DOUBLE, "float16": DType.HALF}


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An operation.

    Attributes:
        name: Full name: the scopes of the modules that contain it, then its own name.
        op: Type of the operation.
        inputs: Names of the nodes that it reads, with ``:1`` and so on for further outputs.
        shapes: Shapes of its outputs.
        detail: Arguments that are not tensors.
        dtypes: Types of its outputs.
        source: The line of the program that it comes from.
    """

    name: str
    op: str
    inputs: Sequence[str] = ()
    shapes: Sequence[Sequence[int]] = ()
    detail: str = ""
    dtypes: Sequence[str] = ()
    source: str = ""


def build_graph_def(nodes: Sequence[GraphNode]) -> Message:
    return proto.GraphDef(
        node=map(_build_node_def, nodes), versions=proto.VersionDef(producer=_PRODUCER)
    )


def _build_node_def(node: GraphNode) -> Message:
    attributes = [proto.Attr(key=b"attr", value=proto.AttrValue(s=node.detail.encode()))]
    if node.shapes:
        attributes.append(build_shape_attribute(node.shapes))
    for key, text in {b"dtype": ", ".join(node.dtypes), b"source": node.source}.items():
        if text:
            attributes.append(proto.Attr(key=key, value=proto.AttrValue(s=text.encode())))
    return proto.NodeDef(
        name=node.name.encode(),
        op=node.op.encode(),
        input=[name.encode() for name in node.inputs],
        attr=attributes,
    )


def build_shape_attribute(shapes: Sequence[Sequence[int]]) -> Message:
    """Build the attribute with the shapes of the outputs of a node."""
    listed = proto.AttrValue(list=proto.AttrList(shape=[build_shape(sizes) for sizes in shapes]))
    return proto.Attr(key=b"_output_shapes", value=listed)


def build_shape(sizes: Sequence[int]) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def read_onnx_graph(path: Any) -> Message:
    """Return the GraphDef of an ONNX file. Operations are named by their first outputs.

    Raises:
        ArgumentError: The file cannot be read or is not an ONNX file.
    """
    try:
        return _build_onnx_graph_def(parse_onnx_model(Path(path).read_bytes()).graph)
    except (OSError, TypeError) as error:
        raise ArgumentError("prototxt", f"must be the path of an ONNX file: {error}") from error
    except FormatError as error:
        raise ArgumentError("prototxt", f"is not a valid ONNX file: {error}") from error


def _build_onnx_graph_def(graph: OnnxGraph) -> Message:
    message = build_graph_def([])
    shapes = {
        value.name.encode(): _get_known_shape(value) for value in [*graph.outputs, *graph.values]
    }
    message.node.extend(_build_variable(value) for value in graph.inputs)
    message.node.extend(_build_onnx_node(node, shapes) for node in graph.nodes)
    return message


def _build_variable(value: OnnxTensor) -> Message:
    dtype = _ONNX_DTYPES.get(value.dtype) or DType.__members__.get(value.dtype.upper()) or 0
    attributes = [
        proto.Attr(key=b"dtype", value=proto.AttrValue(type=dtype)),
        proto.Attr(key=b"shape", value=proto.AttrValue(shape=build_shape(_get_known_shape(value)))),
    ]
    return proto.NodeDef(name=value.name.encode(), op=b"Variable", attr=attributes)


def _build_onnx_node(node: Message, shapes: dict[bytes, list[int]]) -> Message:
    parameters = ", ".join(map(_format_attribute, node.attribute))
    attributes = [proto.Attr(key=b"parameters", value=proto.AttrValue(s=parameters.encode()))]
    name = node.output[0] if node.output else node.name
    if name in shapes:
        attributes.append(build_shape_attribute([shapes[name]]))
    return proto.NodeDef(name=name, op=node.op_type, input=node.input, attr=attributes)


def _get_known_shape(value: OnnxTensor) -> list[int]:
    return [size if isinstance(size, int) else -1 for size in value.shape or ()]


def _format_attribute(attribute: Message) -> str:
    return f"{decode_text(attribute.name)} = {format_attribute(attribute)}"


# ---- graphs of models

_ROOT_SCOPE = "__module"
#: JIT operations that only pack values into containers or unpack them.
_PACK_KINDS = ("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct")
_UNPACK_KINDS = ("prim::ListUnpack", "prim::TupleUnpack")
_MAX_RESULT_DEPTH = 10


def read_model_graph(model: Any, inputs: Any, *, verbose: bool, strict: bool) -> Message:
    """Return the GraphDef of a model called with ``inputs``.

    Args:
        model: A module, or a scripted module or function.
        inputs: A tensor, or a tuple of arguments.
        verbose: Print PyTorch's graph.
        strict: Passed to ``torch.jit.trace`` if the model cannot be exported.

    Raises:
        ArgumentError: ``model`` is not a module, or can be neither exported nor traced.
    """
    import torch

    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return build_graph_def(read_scripted_graph(model))
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError("model", f"must be a torch.nn.Module, not a {type(model).__name__}")
    arguments = _as_arguments(inputs)
    with _in_eval_mode(model), returning_plain_tensors(model), warnings.catch_warnings():
        # The warnings are about using an exported model elsewhere.
        warnings.simplefilter("ignore")
        try:
            return build_graph_def(read_exported_graph(model, arguments, verbose=verbose))
        except Exception as error:  # the code of the model may raise anything when it is exported
            export_error = error
        try:
            return build_graph_def(
                read_traced_graph(model, arguments, verbose=verbose, strict=strict)
            )
        except Exception as error:
            reasons = f"exported ({_shorten(export_error)}) nor traced ({_shorten(error)})"
            raise ArgumentError("model", f"could neither be {reasons}") from error


def _shorten(error: Exception) -> str:
    first_line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first_line}"[:200]


def _as_arguments(inputs: Any) -> tuple[Any, ...]:
    if inputs is None:
        return ()
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _get_class_name(module: Any) -> str:
    return str(getattr(module, "original_name", type(module).__name__))


@contextmanager
def _in_eval_mode(model: Any) -> Iterator[None]:
    """Switch to evaluation mode (no dropout); restore the mode of each module afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def returning_plain_tensors(model: Any) -> Iterator[None]:
    """Make a model return a tuple of tensors if it returns objects of unknown classes.

    Neither torch.export nor a JIT trace supports such results, for example the cache that language
    models of ``transformers`` return along with their logits.
    """
    hook = model.register_forward_hook(lambda module, inputs, result: _to_plain_result(result))
    try:
        yield
    finally:
        hook.remove()


def _to_plain_result(result: Any) -> Any:
    if _is_plain_result(result, 0):
        return None  # keeps the result unchanged
    return tuple(_iter_result_tensors(result, 0))


def _is_plain_result(result: Any, depth: int) -> bool:
    """Return whether a result consists of tensors in tuples, lists and dicts."""
    if type(result) in (tuple, list, dict) and depth < _MAX_RESULT_DEPTH:
        parts = result.values() if isinstance(result, dict) else result
        return all(_is_plain_result(part, depth + 1) for part in parts)
    return hasattr(result, "shape")


def _iter_result_tensors(result: Any, depth: int) -> Iterator[Any]:
    if hasattr(result, "shape"):
        yield result
    elif isinstance(result, (Mapping, tuple, list)) and depth < _MAX_RESULT_DEPTH:
        for part in result.values() if isinstance(result, Mapping) else result:
            yield from _iter_result_tensors(part, depth + 1)


class ModuleScopes:
    """Scope names of modules in PyTorch's form: ``Net/Sequential[encoder]/Linear[0]``."""

    def __init__(self, model: Any) -> None:
        self._modules = {"": model}
        if hasattr(model, "named_modules"):
            self._modules.update(model.named_modules(remove_duplicate=False))

    def get_scope(self, path: str) -> str:
        """Return the scope of the module with a path such as ``encoder.0``."""
        if not path:
            return _get_class_name(self._modules[path])
        parent, _, last = path.rpartition(".")
        if path not in self._modules:  # not a module, for example a function
            return f"{self.get_scope(parent)}/{last}"
        return f"{self.get_scope(parent)}/{_get_class_name(self._modules[path])}[{last}]"

    def find_tensor(self, path: str, name: str) -> Any | None:
        """Return the attribute ``name`` of a module if it is a tensor."""
        value = getattr(self._modules.get(path), name, None)
        return value if hasattr(value, "shape") else None


def format_dtype(dtype: Any) -> str:
    """Return the NumPy name of a dtype."""
    return str(dtype).removeprefix("torch.")


def read_exported_graph(
    model: Any, arguments: tuple[Any, ...], *, verbose: bool
) -> list[GraphNode]:
    """Return the operations of a model called with ``arguments``, as exported by PyTorch.

    Raises:
        Exception: PyTorch cannot export the model.
    """
    import torch

    with _silence_export():
        program = torch.export.export(model, arguments, strict=False)
    if verbose:
        print(program.graph)
    reader = _ExportedGraphReader(ModuleScopes(model), program.graph_signature)
    for node in program.graph.nodes:
        reader.read(node)
    return reader.nodes


@contextmanager
def _silence_export() -> Iterator[None]:
    """Suppress what PyTorch prints about models that it cannot export."""
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)


class _ExportedGraphReader:
    """Converts the nodes of an exported program in order."""

    def __init__(self, scopes: ModuleScopes, signature: Any) -> None:
        self.nodes: list[GraphNode] = []
        self._scopes = scopes
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._attributes = {
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
            # One of several results, identified by a number after the name.
            source, index = node.args
            self._names[node] = f"{self._names[source]}:{index}" if index else self._names[source]
        else:
            inputs = [self._names[source] for source in _iter_nodes([node.args, node.kwargs])]
            name = f"{self._get_scope(node)}/{node.name}"
            self._add(node, name, _get_op(node.target), inputs, _describe_arguments(node))

    def _read_placeholder(self, node: Any) -> None:
        if node.name not in self._attributes:
            self._add(node, f"input/{node.name}", IO_NODE_OP)
        elif node.users:
            path, kind = self._attributes[node.name]
            module, _, name = path.rpartition(".")
            self._add(node, f"{self._scopes.get_scope(module)}/{name}", kind)

    def _read_outputs(self, node: Any) -> None:
        for number, source in enumerate(node.all_input_nodes, 1):
            inputs = [self._names[source]]
            name = f"output/output.{number}"
            shapes, dtypes = _list_shapes(source), _list_dtypes(source)
            self.nodes.append(GraphNode(name, IO_NODE_OP, inputs, shapes, dtypes=dtypes))

    def _add(self, node: Any, name: str, op: str, inputs: Any = (), detail: str = "") -> None:
        while name in self._taken:  # by a parameter with the name of an operation
            name += "_"
        self._taken.add(name)
        self._names[node] = name
        source = extract_python_line(node.meta.get("stack_trace") or "") if inputs else ""
        shapes, dtypes = _list_shapes(node), _list_dtypes(node)
        self.nodes.append(GraphNode(name, op, inputs, shapes, detail, dtypes, source))

    def _get_scope(self, node: Any) -> str:
        stack = node.meta.get("nn_module_stack") or {"": ("", None)}
        path, _ = list(stack.values())[-1]
        return self._scopes.get_scope(path)


def _get_op(target: Any) -> str:
    schema = getattr(target, "_schema", None)
    return str(getattr(target, "__name__", target)) if schema is None else str(schema.name)


def _list_shapes(node: Any) -> list[list[int]]:
    return [
        # Symbolic sizes are written as unknown.
        [size if isinstance(size, int) else -1 for size in tensor.shape]
        for tensor in _iter_node_tensors(node)
    ]


def _list_dtypes(node: Any) -> list[str]:
    return [format_dtype(tensor.dtype) for tensor in _iter_node_tensors(node)]


def _iter_node_tensors(node: Any) -> Iterator[Any]:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    yield from (tensor for tensor in values if hasattr(tensor, "shape"))


def _describe_arguments(node: Any) -> str:
    """Return the arguments of an operation that are not tensors, such as a stride."""
    schema = getattr(node.target, "_schema", None)
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    arguments = [*zip(names, node.args, strict=False), *node.kwargs.items()]
    return ", ".join(f"{name}={value}" for name, value in arguments if not _has_nodes(value))


def _has_nodes(value: Any) -> bool:
    return any(True for _ in _iter_nodes(value))


def _iter_nodes(value: Any) -> Iterator[Any]:
    """Yield the nodes in an argument, with duplicates."""
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _iter_nodes(part)
    elif hasattr(value, "all_input_nodes"):
        yield value


def read_traced_graph(
    model: Any, arguments: tuple[Any, ...], *, verbose: bool, strict: bool
) -> list[GraphNode]:
    """Return the operations of a model called with ``arguments``, from a JIT trace.

    Raises:
        Exception: PyTorch cannot trace the model.
    """
    import torch

    traced = torch.jit.trace(model, arguments, strict=strict, check_trace=False)
    if verbose:
        print(traced.inlined_graph)
    return _read_jit_graph(traced.inlined_graph, ModuleScopes(model))


def read_scripted_graph(model: Any) -> list[GraphNode]:
    """Return the operations of a scripted module or function."""
    return _read_jit_graph(model.inlined_graph, ModuleScopes(model))


def _read_jit_graph(graph: Any, scopes: ModuleScopes) -> list[GraphNode]:
    reader = _TracedGraphReader(scopes)
    for value in graph.inputs():
        reader.read_input(value)
    for node in graph.nodes():
        reader.read(node)
    reader.read_outputs(list(graph.outputs()))
    return reader.nodes


class _TracedGraphReader:
    """Converts the nodes of a JIT graph in order.

    Lists and tuples do not become nodes: their users are connected to their items.
    """

    def __init__(self, scopes: ModuleScopes) -> None:
        self.nodes: list[GraphNode] = []
        self._scopes = scopes
        self._sources: dict[str, list[str]] = {}
        self._shapes: dict[str, list[int] | None] = {}
        self._paths: dict[str, str] = {}

    def read_input(self, value: Any) -> None:
        if value.type().kind() == "ClassType":
            self._paths[value.debugName()] = ""
        else:
            self._add(f"input/{value.debugName()}", IO_NODE_OP, [value], [])

    def read_outputs(self, values: list[Any]) -> None:
        sources = [name for value in values for name in self._sources.get(value.debugName(), [])]
        for number, source in enumerate(sources, 1):
            shape = self._shapes.get(source)
            shapes = [] if shape is None else [shape]
            self.nodes.append(GraphNode(f"output/output.{number}", IO_NODE_OP, [source], shapes))

    def read(self, node: Any) -> None:
        kind = node.kind()
        outputs = list(node.outputs())
        inputs = self._get_sources(node)
        if kind == "prim::GetAttr":
            self._read_attribute(node, outputs[0])
        elif kind in _PACK_KINDS:
            self._sources[outputs[0].debugName()] = inputs
        elif kind in _UNPACK_KINDS:
            self._unpack(inputs, outputs)
        elif kind != "prim::Constant" and outputs:
            name = f"{self._get_scope(node)}/{outputs[0].debugName()}"
            self._add(name, kind, outputs, inputs, extract_torchscript_line(node.sourceRange()))

    def _read_attribute(self, node: Any, output: Any) -> None:
        owner = self._paths.get(node.input().debugName(), "")
        name = node.s("name")
        if output.type().kind() == "ClassType":
            self._paths[output.debugName()] = f"{owner}.{name}" if owner else name
            return
        full_name = f"{self._scopes.get_scope(owner)}/{name}"
        self._sources[output.debugName()] = [full_name]
        if full_name not in self._shapes:
            tensor = self._scopes.find_tensor(owner, name)
            self._shapes[full_name] = None if tensor is None else list(tensor.shape)
            self.nodes.append(_build_attribute_node(full_name, tensor))

    def _unpack(self, inputs: list[str], outputs: list[Any]) -> None:
        for index, output in enumerate(outputs):
            # Either the items are known individually, or all are outputs of one node.
            if len(inputs) == len(outputs):
                source = inputs[index]
            else:
                source = f"{inputs[0]}:{index}" if inputs and index else "".join(inputs[:1])
            self._sources[output.debugName()] = [source] if source else []

    def _add(
        self, name: str, op: str, outputs: list[Any], inputs: list[str], source: str = ""
    ) -> None:
        while name in self._shapes:  # taken by a parameter with the name of an operation
            name += "_"
        for index, output in enumerate(outputs):
            port = f"{name}:{index}" if index else name
            self._sources[output.debugName()] = [port]
            self._shapes[port] = output.type().sizes() if output.isCompleteTensor() else None
        types = [output.type() for output in outputs if output.isCompleteTensor()]
        shapes = [tensor_type.sizes() for tensor_type in types]
        dtypes = [format_dtype(tensor_type.dtype()) for tensor_type in types]
        self.nodes.append(GraphNode(name, op, inputs, shapes, dtypes=dtypes, source=source))

    def _get_sources(self, node: Any) -> list[str]:
        sources = [self._sources.get(value.debugName(), []) for value in node.inputs()]
        return [name for names in sources for name in names]

    def _get_scope(self, node: Any) -> str:
        """Return the scope of a node; a trace has ``__module.encoder/__module.encoder.0``."""
        path = node.scopeName().rpartition("/")[2]
        return self._scopes.get_scope(path.removeprefix(_ROOT_SCOPE).removeprefix("."))


def _build_attribute_node(name: str, tensor: Any | None) -> GraphNode:
    """Return the node of a parameter, a buffer, or a constant (which is not a tensor)."""
    from torch.nn import Parameter

    if tensor is None:
        return GraphNode(name, "Constant")
    kind = "Parameter" if isinstance(tensor, Parameter) else "Buffer"
    return GraphNode(name, kind, (), [list(tensor.shape)], dtypes=[format_dtype(tensor.dtype)])
