"""Parse TensorFlow Lite models (FlatBuffers, ``.tflite``) without TensorFlow.

The first subgraph is the graph; the others, which control flow operators call, are functions.
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.graphs.model import (
    ARGUMENT,
    INPUT,
    OUTPUT,
    RESULT,
    Graph,
    TensorSpec,
)
from tracklight.analysis.graphs.model_files.graph_builder import INITIALIZER, TensorGraphBuilder
from tracklight.analysis.graphs.model_files.tflite_schema import (
    ACTIVATIONS,
    OPERATORS,
    OPTIONS,
    OPTIONS_2,
    PADDINGS,
    TYPES,
)
from tracklight.errors import FormatError

TFLITE_MAGIC = b"TFL3"

_MAX_TENSORS = 2_000_000
_MAX_VECTOR_TEXT = 16
_CUSTOM = OPERATORS.index("CUSTOM")
#: Before version 3a, the code of an operator was a byte; this value means that there is another.
_PLACEHOLDER = 127
#: Options that name the subgraphs which an operator calls.
_SUBGRAPH_FIELDS = (
    "subgraph",
    "then_subgraph_index",
    "else_subgraph_index",
    "cond_subgraph_index",
    "body_subgraph_index",
    "init_subgraph_index",
    "decomposition_subgraph_index",
)
_SIZES = {"i": "<i", "u": "<I", "l": "<q", "f": "<f", "b": "<?", "8": "<b"}


def parse_tflite(data: bytes) -> Graph:
    """Parse a model.

    Raises:
        FormatError: The file is damaged or incomplete.
    """
    try:
        return _Model(_FlatBuffer(data)).build()
    except (struct.error, IndexError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(
            "graphs.damaged_tflite", "the TensorFlow Lite model is damaged: {error}", error=error
        ) from None


# ---- FlatBuffers


@dataclass(frozen=True, slots=True)
class _FlatBuffer:
    data: bytes

    def read(self, code: str, position: int) -> Any:
        if position < 0:
            raise IndexError("an offset is negative")
        return struct.unpack_from(code, self.data, position)[0]

    def get_root(self) -> _Table:
        return _Table(self, self.read("<I", 0))


@dataclass(frozen=True, slots=True)
class _Table:
    """A table at a position; its fields are found through its vtable."""

    buffer: _FlatBuffer
    position: int

    def find(self, index: int) -> int | None:
        """Return the position of a field; None if it has its default."""
        read = self.buffer.read
        vtable = self.position - read("<i", self.position)
        entry = 4 + 2 * index
        if entry + 2 > read("<H", vtable):
            return None
        offset = read("<H", vtable + entry)
        return self.position + offset if offset else None

    def number(self, index: int, code: str = "<i", default: Any = 0) -> Any:
        position = self.find(index)
        return default if position is None else self.buffer.read(code, position)

    def table(self, index: int) -> _Table | None:
        position = self.find(index)
        if position is None:
            return None
        return _Table(self.buffer, position + self.buffer.read("<I", position))

    def vector(self, index: int, item_bytes: int) -> tuple[int, int]:
        """Return the start and the length of a vector, which is inside the file."""
        position = self.find(index)
        if position is None:
            return 0, 0
        start = position + self.buffer.read("<I", position)
        length = self.buffer.read("<I", start)
        if start + 4 + length * item_bytes > len(self.buffer.data):
            raise IndexError("a vector ends beyond the end of the file")
        return start + 4, length

    def tables(self, index: int) -> Iterator[_Table]:
        start, length = self.vector(index, 4)
        for position in range(start, start + 4 * length, 4):
            yield _Table(self.buffer, position + self.buffer.read("<I", position))

    def array(self, index: int, dtype: str) -> NDArray[Any]:
        kind = np.dtype(dtype)
        start, length = self.vector(index, kind.itemsize)
        return np.frombuffer(self.buffer.data, kind, length, start)

    def text(self, index: int) -> str:
        start, length = self.vector(index, 1)
        return self.buffer.data[start : start + length].decode("utf-8", "replace")


# ---- Models


@dataclass(frozen=True, slots=True)
class _Tensor:
    key: str
    """Unique in the subgraph."""
    name: str
    spec: TensorSpec
    table: _Table
    buffer: int


class _Model:
    def __init__(self, buffer: _FlatBuffer) -> None:
        root = buffer.get_root()
        self._data = buffer.data
        self._operators = [_get_operator_name(table) for table in root.tables(1)]
        self._subgraphs = list(root.tables(2))
        self._buffers = list(root.tables(4))
        if not self._subgraphs:
            raise FormatError("graphs.tflite_empty", "the TensorFlow Lite model has no graph")
        self._names = [
            table.text(4) or f"subgraph_{index}" for index, table in enumerate(self._subgraphs)
        ]

    def build(self) -> Graph:
        functions = {
            self._get_function_name(index): self._build_subgraph(table, is_function=True)
            for index, table in enumerate(self._subgraphs)
            if index
        }
        return self._build_subgraph(self._subgraphs[0], is_function=False, functions=functions)

    def _get_function_name(self, index: int) -> str:
        name = self._names[index]
        return name if self._names.count(name) == 1 else f"{name}_{index}"

    def _build_subgraph(
        self, table: _Table, *, is_function: bool, functions: dict[str, Graph] | None = None
    ) -> Graph:
        tensors = list(self._iter_tensors(table))
        builder = TensorGraphBuilder({tensor.key: tensor.spec for tensor in tensors})
        start, end = (ARGUMENT, RESULT) if is_function else (INPUT, OUTPUT)
        inputs = _list_valid(table.array(1, "<i4"), tensors)
        for tensor in inputs:
            builder.add(tensor.name, start, outputs=[tensor.key])
        operators = list(table.tables(3))
        used = {index for operator in operators for index in operator.array(1, "<i4").tolist()}
        given = {tensor.key for tensor in inputs}
        for index in sorted(used):
            if 0 <= index < len(tensors) and tensors[index].key not in given:
                self._add_constant(builder, tensors[index])
        for operator in operators:
            self._add_operator(builder, operator, tensors)
        for tensor in _list_valid(table.array(2, "<i4"), tensors):
            builder.add(f"{tensor.name}_output", end, inputs=[tensor.key])
        return builder.build(functions)

    def _iter_tensors(self, subgraph: _Table) -> Iterator[_Tensor]:
        for index, table in enumerate(subgraph.tables(0)):
            if index >= _MAX_TENSORS:
                return
            shape = table.array(7, "<i4")  # with -1 for unknown sizes
            if not len(shape):
                shape = table.array(0, "<i4")
            sizes = tuple(size if size >= 0 else None for size in shape.tolist())
            dtype = _get_name(TYPES, table.number(1, "<b"))
            name = _shorten_name(table.text(3)) or f"tensor_{index}"
            spec = TensorSpec(dtype, sizes)
            yield _Tensor(f"{index}", name, spec, table, table.number(2, "<I"))

    def _add_constant(self, builder: TensorGraphBuilder, tensor: _Tensor) -> None:
        """Add a node for a tensor that has data."""
        data = self._find_data(tensor)
        if data is None:
            return
        is_trained = tensor.spec.dtype in ("float32", "float16", "int8", "int4", "bfloat16")
        count = tensor.spec.count_elements() or 0
        builder.add(
            tensor.name,
            INITIALIZER,
            outputs=[tensor.key],
            attributes=_describe_quantization(tensor.table),
            parameters=count if is_trained else 0,
            weights=lambda: _decode_weights(tensor, data),
        )

    def _find_data(self, tensor: _Tensor) -> memoryview | None:
        if not 0 < tensor.buffer < len(self._buffers):  # buffer 0 is always empty
            return None
        table = self._buffers[tensor.buffer]
        start, length = table.vector(0, 1)
        if not length:  # large models have the data behind the FlatBuffer
            start, length = table.number(1, "<Q"), table.number(2, "<Q")
            if start <= 1 or start + length > len(self._data):
                return None
        return memoryview(self._data)[start : start + length]

    def _add_operator(
        self, builder: TensorGraphBuilder, operator: _Table, tensors: list[_Tensor]
    ) -> None:
        op = _get_name(self._operators, operator.number(0, "<I"))
        outputs = _list_valid(operator.array(2, "<i4"), tensors)
        attributes = _read_options(operator)
        called = {
            attributes[field]: self._get_function_name(int(attributes[field]))
            for field in _SUBGRAPH_FIELDS
            if field in attributes and 0 < int(attributes[field]) < len(self._subgraphs)
        }
        inputs = [
            tensors[index].key if 0 <= index < len(tensors) else ""  # -1 is an omitted input
            for index in operator.array(1, "<i4").tolist()
        ]
        name = outputs[0].name if outputs else op
        builder.add(
            name,
            op,
            inputs,
            [tensor.key for tensor in outputs],
            attributes=attributes,
            functions=tuple(dict.fromkeys(called.values())),
        )


def _get_operator_name(table: _Table) -> str:
    code = table.number(0, "<b")
    if code in (0, _PLACEHOLDER):
        code = table.number(3, "<i", code)
    if code == _CUSTOM:
        return table.text(1) or "CUSTOM"
    return _get_name(OPERATORS, code)


def _get_name(names: list[str], code: int) -> str:
    return names[code] if 0 <= code < len(names) else f"#{code}"


def _list_valid(indexes: NDArray[Any], tensors: list[_Tensor]) -> list[_Tensor]:
    return [tensors[index] for index in indexes.tolist() if 0 <= index < len(tensors)]


def _shorten_name(name: str) -> str:
    """Return the first name of a tensor that was fused from several, without its output number."""
    first = name.partition(";")[0]
    stem, _, slot = first.rpartition(":")
    return stem if stem and slot.isdecimal() else first


def _read_options(operator: _Table) -> dict[str, str]:
    """Return the attributes of an operator that differ from their defaults."""
    for type_field, field, schemas in ((3, 4, OPTIONS), (11, 12, OPTIONS_2)):
        schema = schemas.get(operator.number(type_field, "<B"))
        table = operator.table(field)
        if schema is not None and table is not None:
            return dict(_iter_options(table, schema))
    custom = operator.array(5, "u1")
    return {"custom_options": f"{len(custom):,} bytes"} if len(custom) else {}


def _iter_options(table: _Table, schema: str) -> Iterator[tuple[str, str]]:
    for entry in schema.split():
        index, name, kind = entry.split(":")
        if kind in ("p", "a"):  # worth showing even if it is the default
            names = PADDINGS if kind == "p" else ACTIVATIONS
            yield name, _get_name(list(names), table.number(int(index), "<b"))
        elif table.find(int(index)) is None:
            continue
        elif kind == "t":
            yield name, _get_name(TYPES, table.number(int(index), "<b"))
        elif kind == "v":
            values = table.array(int(index), "<i4")[:_MAX_VECTOR_TEXT].tolist()
            yield name, ", ".join(map(str, values))
        elif kind == "s":
            yield name, table.text(int(index))
        else:
            yield name, str(table.number(int(index), _SIZES[kind]))


def _describe_quantization(tensor: _Table) -> dict[str, str]:
    table = tensor.table(4)
    if table is None:
        return {}
    scales, zero_points = table.array(2, "<f4"), table.array(3, "<i8")
    if not len(scales):
        return {}
    if len(scales) > 1:
        return {"quantization": f"{len(scales):,} scales, {scales.min():.4g} to {scales.max():.4g}"}
    zero_point = int(zero_points[0]) if len(zero_points) else 0
    return {"quantization": f"scale {scales[0]:.4g}, zero point {zero_point}"}


def _decode_weights(tensor: _Tensor, data: memoryview) -> dict[str, NDArray[Any]]:
    """Return the data of a tensor as it is stored: quantized values are not scaled."""
    spec = tensor.spec
    if spec.dtype == "bfloat16":
        wide = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        array: NDArray[Any] = wide.view(np.float32)
    elif spec.dtype in ("int4", "uint4", "int2", "string", "resource", "variant"):
        return {}
    else:
        array = np.frombuffer(data, np.dtype(spec.dtype).newbyteorder("<"))
    shape = spec.shape
    if shape is None or array.size != (spec.count_elements() or 0):
        return {tensor.name: array}
    return {tensor.name: array.reshape([size for size in shape if isinstance(size, int)])}
