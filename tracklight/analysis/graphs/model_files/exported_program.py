"""Parse programs that ``torch.export.save`` has written (``.pt2``), without PyTorch.

The archive has the graph as JSON and the weights as raw bytes:
https://github.com/pytorch/pytorch/blob/main/torch/_export/serde/schema.py. Branches of ``cond`` and
bodies of other higher-order operators are functions of the graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs import (
    ARGUMENT,
    INPUT,
    OUTPUT,
    RESULT,
    Graph,
    TensorSpec,
)
from tracklight.analysis.graphs.model_files import (
    INITIALIZER,
    ModelArchive,
    TensorGraphBuilder,
)
from tracklight.analysis.graphs.onnx import get_common_scope, join_modules
from tracklight.errors import FormatError
from tracklight.util.parsing import extract_python_line

_MAX_NESTED_GRAPHS = 50
_MAX_WEIGHT_BYTES = 1 << 30
_MAX_TEXT_CHARS = 500
_NO_GRAPH = TensorGraphBuilder().build()
#: What nodes have instead of a module if PyTorch has added them, such as those that read sizes.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
_OLD_MODEL = "serialized_exported_program.json"
_SYMBOL = re.compile(r"Symbol\('([^']*)'[^()]*\)")
_SIZE_OPERATORS = {"Mul": "*", "Pow": "**", "FloorDiv": "//", "PythonMod": " % ", "Mod": " % "}
_TYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    34: "uint32",
    35: "uint64",
}


def find_exported_program(archive: ModelArchive) -> str | None:
    """Return the member with the graph; None if the archive is not of ``torch.export``."""
    models = [name for name in archive.names if "models/" in name and name.endswith(".json")]
    return models[0] if models else archive.find(_OLD_MODEL)


def parse_exported_program(archive: ModelArchive, member: str) -> Graph:
    """Parse the graph in an archive.

    Raises:
        FormatError: The archive is damaged.
    """
    program = archive.read_json(member)
    try:
        return _ProgramParser(archive, program["graph_module"]).build()
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError) as error:
        raise FormatError(
            "graphs.damaged_program",
            "the exported program is damaged: {error}",
            error=f"{type(error).__name__} {error}",
        ) from None


class _ProgramParser:
    def __init__(self, archive: ModelArchive, module: dict[str, Any]) -> None:
        self._archive = archive
        self._graph = module["graph"]
        self._functions: dict[str, Graph] = {}
        #: For the name of an input: its name in the module, and whether it is trained.
        self._weights: dict[str, tuple[str, bool]] = {}
        for spec in module.get("signature", {}).get("input_specs", ()):
            for kind in ("parameter", "buffer", "tensor_constant"):
                if kind in spec:
                    name = spec[kind]["arg"]["name"]
                    self._weights[name] = (str(spec[kind][f"{kind}_name"]), kind == "parameter")
        self._files = dict(self._iter_weight_files())

    def build(self) -> Graph:
        return self._build_graph(self._graph, depth=0)

    def _build_graph(self, graph: dict[str, Any], depth: int) -> Graph:
        if depth > _MAX_NESTED_GRAPHS:
            raise FormatError(
                "graphs.too_deep",
                "graphs are nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_GRAPHS,
            )
        specs = {name: _parse_spec(meta) for name, meta in graph["tensor_values"].items()}
        builder = TensorGraphBuilder(specs)
        start, end = (ARGUMENT, RESULT) if depth else (INPUT, OUTPUT)
        scopes = _list_weight_scopes(graph["nodes"])
        for argument in graph["inputs"]:
            for name in _iter_tensor_names(argument):
                if not depth and name in self._weights:
                    self._add_weight(builder, name, specs.get(name), scopes.get(name))
                else:
                    builder.add(name, start, outputs=[name])
        for node in graph["nodes"]:
            self._add_node(builder, node, depth)
        for argument in graph["outputs"]:
            for name in _iter_tensor_names(argument):
                builder.add(f"{name}_output", end, inputs=[name])
        return builder.build({} if depth else self._functions)

    def _add_weight(
        self, builder: TensorGraphBuilder, name: str, spec: TensorSpec | None, scope: str | None
    ) -> None:
        """Add a weight in the scope of the module that reads it."""
        path, is_trained = self._weights[name]
        label = path.rpartition(".")[2] if scope else path.replace(".", "/")
        count = (spec.count_elements() or 0) if spec and is_trained else 0
        builder.add(
            f"{scope}/{label}" if scope else label,
            INITIALIZER,
            outputs=[name],
            parameters=count,
            attributes={} if is_trained else {"kind": "buffer"},
            weights=lambda: self._read_weight(path),
        )

    def _add_node(self, builder: TensorGraphBuilder, node: dict[str, Any], depth: int) -> None:
        inputs: list[str] = []
        attributes: dict[str, str] = {}
        functions: list[str] = []
        for named in node["inputs"]:
            argument, label = named["arg"], str(named["name"])
            if "as_graph" in argument:
                functions.append(self._add_function(argument["as_graph"], depth))
                continue
            names = list(_iter_tensor_names(argument))
            inputs += names
            text = "" if names or argument.get("as_none") is True else _format_argument(argument)
            if text:
                attributes[label or f"argument {len(attributes)}"] = text
        outputs = [name for item in node["outputs"] for name in _iter_tensor_names(item)]
        metadata = node.get("metadata") or {}
        scope = _get_module_scope(str(metadata.get("nn_module_stack", "")))
        name = str(node.get("name") or next(iter(outputs), "op"))
        builder.add(
            f"{scope}/{name}" if scope else name,
            str(node["target"]).removeprefix("torch.ops."),
            inputs,
            outputs,
            attributes=attributes,
            functions=tuple(functions),
            source=extract_python_line(str(metadata.get("stack_trace", ""))),
        )

    def _add_function(self, argument: dict[str, Any], depth: int) -> str:
        name = str(argument["name"])
        while name in self._functions:
            name += "_"
        # Taken before its own branches are read, which usually have the same names.
        self._functions[name] = _NO_GRAPH
        self._functions[name] = self._build_graph(argument["graph"], depth + 1)
        return name

    # ---- weights

    def _iter_weight_files(self) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
        """Yield the name of each tensor, its member in the archive and its description."""
        for folder in ("weights", "constants"):
            for member in self._archive.names:
                parent, _, base = member.rpartition("/")
                if not (parent.endswith(f"data/{folder}") and base.endswith("_config.json")):
                    continue
                for name, entry in self._archive.read_json(member).get("config", {}).items():
                    if not entry.get("use_pickle") and entry.get("tensor_meta"):
                        yield name, (f"{parent}/{entry['path_name']}", entry["tensor_meta"])

    def _read_weight(self, path: str) -> dict[str, NDArray[Any]]:
        if path not in self._files:
            return {}
        member, meta = self._files[path]
        spec = _parse_spec(meta)
        data = self._archive.read(member, _MAX_WEIGHT_BYTES)
        if spec.dtype == "bfloat16":
            array: NDArray[Any] = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view("<f4")
        elif spec.dtype in ("", "float8_e4m3fn", "float8_e5m2"):
            return {}
        else:
            dtype = np.dtype(spec.dtype)
            array = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
        shape = [size for size in spec.shape or () if isinstance(size, int)]
        count = spec.count_elements()
        strides = [int(item["as_int"]) for item in meta.get("strides", ())]
        is_contiguous = strides == _get_contiguous_strides(shape)
        if count is None or array.size != count or not is_contiguous:
            return {path: array}
        return {path: array.reshape(shape)}


def _get_contiguous_strides(shape: list[int]) -> list[int]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def _iter_tensor_names(argument: Any) -> Iterator[str]:
    """Yield the names of values in an argument: tensors and symbolic numbers."""
    if isinstance(argument, list):
        for item in argument:
            yield from _iter_tensor_names(item)
    elif isinstance(argument, dict):
        name = argument.get("as_name", argument.get("name"))
        if isinstance(name, str):
            yield name
            return
        for kind, value in argument.items():
            if isinstance(value, (dict, list)) and kind != "as_device":
                yield from _iter_tensor_names(value)


def _format_argument(argument: dict[str, Any]) -> str:
    (kind, value), *_ = argument.items()
    if kind == "as_scalar_type":
        return _TYPES.get(value, str(value))
    if kind == "as_device" and isinstance(value, dict):
        return str(value.get("type"))
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:_MAX_TEXT_CHARS]


def _parse_spec(meta: dict[str, Any]) -> TensorSpec:
    sizes = tuple(
        int(size["as_int"]) if "as_int" in size else _format_symbol(size["as_expr"]["expr_str"])
        for size in meta["sizes"]
    )
    return TensorSpec(_TYPES.get(meta["dtype"], ""), sizes)


def _format_symbol(expression: Any) -> str:
    """Return a symbolic size without the assumptions about its symbols, such as ``2*s77 + 1``.

    Sizes are written as by ``sympy.srepr``: ``Add(Mul(Integer(2), s77), Integer(1))``.
    """
    text = _SYMBOL.sub(r"\1", str(expression))[:_MAX_TEXT_CHARS]
    try:
        return _format_expression(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _format_expression(node: ast.expr) -> str:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)) or node.keywords:
        return ast.unparse(node)
    name, parts = node.func.id, [_format_expression(part) for part in node.args]
    if name == "Integer" and len(parts) == 1:
        return parts[0]
    if name == "Add":
        return " + ".join(parts).replace("+ -", "- ")
    if name in _SIZE_OPERATORS:
        return _SIZE_OPERATORS[name].join(
            f"({part})" if not part.isidentifier() and not part.isdecimal() else part
            for part in parts
        )
    return f"{name}({', '.join(parts)})"


def _list_weight_scopes(nodes: list[dict[str, Any]]) -> dict[str, str]:
    """Return the innermost scope with all nodes that read a tensor, by the name of the tensor."""
    scopes: dict[str, str] = {}
    for node in nodes:
        scope = _get_module_scope(str((node.get("metadata") or {}).get("nn_module_stack", "")))
        for named in node["inputs"]:
            for name in _iter_tensor_names(named["arg"]):
                known = scopes.get(name)
                scopes[name] = scope if known is None else get_common_scope(known, scope)
    return scopes


def _get_module_scope(stack: str) -> str:
    """Return the modules around a node, such as ``Net/Linear[fc]``; empty if it is unknown.

    The stack has entries ``key,path,class`` that are separated by semicolons.
    """
    entries = [entry.split(",", 2) for entry in stack.split(";")]
    return join_modules(
        (entry[1], entry[2]) for entry in entries if len(entry) == 3 and entry[0] != _NO_MODULE
    )
