"""TensorFlow Lite models, written field by field."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tracklight.analysis.graphs import Graph, NodeDetails
from tracklight.analysis.graphs.model_files.tflite import (
    OPERATORS,
    OPTIONS,
    OPTIONS_2,
    TYPES,
    parse_tflite,
)
from tracklight.analysis.graphs.model_files.weight_files import read_weights
from tracklight.errors import FormatError

#: A table of a FlatBuffer: values by field number. Tables are dicts, vectors are lists of tables or
#: arrays, and numbers have the code of their type.
Table = dict[int, Any]


def write_flatbuffer(root: Table) -> bytes:
    data = bytearray(4)
    struct.pack_into("<I", data, 0, _write_table(data, root))
    return bytes(data)


def _write_table(data: bytearray, table: Table) -> int:
    vtable, size = len(data), max(table, default=0) + 1
    position = vtable + 4 + 2 * size
    slots = {field: 4 + 8 * at for at, field in enumerate(table)}
    offsets = [slots.get(field, 0) for field in range(size)]
    data += struct.pack(f"<{2 + size}H", 4 + 2 * size, 4 + 8 * len(table), *offsets)
    data += struct.pack("<i", position - vtable) + bytes(8 * len(table))
    for field, value in table.items():
        slot = position + slots[field]
        if isinstance(value, tuple):
            struct.pack_into(f"<{value[0]}", data, slot, value[1])
        else:
            struct.pack_into("<I", data, slot, _write_value(data, value) - slot)
    return position


def _write_value(data: bytearray, value: Any) -> int:
    if isinstance(value, dict):
        return _write_table(data, value)
    start = len(data)
    if isinstance(value, list):
        data += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for at, table in enumerate(value):
            slot = start + 4 + 4 * at
            struct.pack_into("<I", data, slot, _write_table(data, table) - slot)
        return start
    array = np.frombuffer(value.encode(), np.uint8) if isinstance(value, str) else value
    data += struct.pack("<I", array.size) + array.tobytes()
    return start


def make_model(
    operators: list[Table], tensors: list[Table], *buffers: Any, codes: list[Table] | None = None
) -> bytes:
    subgraph = {0: tensors, 1: np.int32([0]), 2: np.int32([len(tensors) - 1]), 3: operators}
    codes = [{0: ("b", OPERATORS.index("ADD"))}] if codes is None else codes
    listed: list[Table] = [{}, *({0: np.frombuffer(it.tobytes(), np.uint8)} for it in buffers)]
    return write_flatbuffer({0: ("I", 3), 1: codes, 2: [subgraph], 4: listed})


def make_tensor(name: str, dtype: str, *shape: int, buffer: int = 0) -> Table:
    return {0: np.int32(shape), 1: ("b", TYPES.index(dtype)), 2: ("I", buffer), 3: name}


ENDS = [make_tensor("x", "float32", 2), make_tensor("y", "float32", 2)]


def make_operator() -> Table:
    return {0: ("I", 0), 1: np.int32([0]), 2: np.int32([1])}


def get_details(graph: Graph, label: str) -> NodeDetails:
    (node,) = (at for at, name in enumerate(graph.names) if name.rpartition("/")[2] == label)
    return graph.describe(node)


@pytest.mark.parametrize(
    ("code", "op"),
    [
        ({0: ("b", OPERATORS.index("ADD"))}, "ADD"),
        ({3: ("i", OPERATORS.index("GELU"))}, "GELU"),
        ({0: ("b", 127), 3: ("i", OPERATORS.index("GELU"))}, "GELU"),
        ({0: ("b", OPERATORS.index("CUSTOM")), 1: "MyOp"}, "MyOp"),
        ({0: ("b", OPERATORS.index("CUSTOM"))}, "CUSTOM"),
        ({3: ("i", 9999)}, "#9999"),
    ],
)
def test_names_of_operators(code: Table, op: str) -> None:
    operator = {**make_operator(), 5: np.uint8([1, 2, 3])}
    graph = parse_tflite(make_model([operator], ENDS, codes=[code]))
    node = graph.ops.index(op)
    assert graph.describe(node).attributes == {"custom_options": "3 bytes"}


def get_type(options: dict[int, str], field: str) -> tuple[int, int]:
    """Return the type of the options that have a field, and the number of the field."""
    return next(
        (number, int(entry.split(":")[0]))
        for number, schema in options.items()
        for entry in schema.split()
        if entry.split(":")[1] == field
    )


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("new_shape", np.int32([1, -1, 28]), "1, -1, 28"),
        ("new_shape", np.arange(20, dtype=np.int32), ", ".join(map(str, range(16)))),
        ("container", "shared", "shared"),
        ("out_type", ("b", 4), "int64"),
        ("new_shape", np.int32([]), ""),
    ],
)
def test_options_of_operators(field: str, value: Any, text: str) -> None:
    number, at = get_type(OPTIONS, field)
    operator = {**make_operator(), 3: ("B", number), 4: {at: value}}
    graph = parse_tflite(make_model([operator], ENDS))
    assert get_details(graph, "y").attributes[field] == text


def test_options_of_newer_operators() -> None:
    number, at = get_type(OPTIONS_2, "name")
    operator = {**make_operator(), 11: ("B", number), 12: {at: "odml.norm"}}
    graph = parse_tflite(make_model([operator], ENDS))
    assert get_details(graph, "y").attributes["name"] == "odml.norm"


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        (None, {}),
        ({}, {}),
        ({2: np.float32([0.5]), 3: np.int64([-3])}, {"quantization": "scale 0.5, zero point -3"}),
        ({2: np.float32([0.5])}, {"quantization": "scale 0.5, zero point 0"}),
        ({2: np.float32([0.5, 2, 1])}, {"quantization": "3 scales, 0.5 to 2"}),
    ],
)
def test_quantization_of_weights(quantization: Table | None, expected: dict[str, str]) -> None:
    weight = make_tensor("w", "int8", 3, buffer=1)
    if quantization is not None:
        weight[4] = quantization
    operator = {**make_operator(), 1: np.int32([0, 1]), 2: np.int32([2])}
    graph = parse_tflite(make_model([operator], [ENDS[0], weight, ENDS[1]], np.int8([1, -2, 3])))
    details = get_details(graph, "w")
    assert details.attributes == expected
    assert details.parameters == 3


@pytest.mark.parametrize(
    ("dtype", "content", "expected"),
    [
        ("float32", np.float32([1, 2]), np.float32([1, 2])),
        ("bfloat16", np.uint16([0x3F80, 0xBF80]), np.float32([1, -1])),
        ("int16", np.int16([1]), np.int16([1])),  # fewer than the shape says
        ("int4", np.uint8([0x21]), None),
        ("string", np.uint8([1]), None),
    ],
)
def test_weights(dtype: str, content: Any, expected: Any) -> None:
    tensors = [ENDS[0], make_tensor("w", dtype, 2, buffer=1), ENDS[1]]
    operator = {**make_operator(), 1: np.int32([0, 1]), 2: np.int32([2])}
    graph = parse_tflite(make_model([operator], tensors, content))
    arrays = read_weights(graph, graph.names.index("w"))
    if expected is None:
        assert arrays == {}
    else:
        np.testing.assert_array_equal(arrays["w"], expected)


@pytest.mark.parametrize("type", [*map(TYPES.index, ("float32", "bfloat16")), 99])
def test_damaged_weights_are_reported(type: int) -> None:
    weight = {**make_tensor("w", "int8", 2, buffer=1), 1: ("b", type)}
    operator = {**make_operator(), 1: np.int32([0, 1]), 2: np.int32([2])}
    graph = parse_tflite(make_model([operator], [ENDS[0], weight, ENDS[1]], np.uint8([1, 2, 3])))
    with pytest.raises(FormatError, match="the weights of this node are damaged"):
        read_weights(graph, graph.names.index("w"))


def test_data_beyond_the_end_of_the_file_is_left_out() -> None:
    tensors = [ENDS[0], make_tensor("w", "int8", 2, buffer=1), ENDS[1]]
    model = write_flatbuffer(
        {1: [{}], 2: [{0: tensors}], 4: [{}, {1: ("Q", 1000), 2: ("Q", 1 << 40)}]}
    )
    assert "w" not in parse_tflite(model).names


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (write_flatbuffer({0: ("I", 3)}), "the TensorFlow Lite model has no graph"),
        (b"", "damaged"),
        (b"\xff\xff\xff\xff", "damaged"),
        (make_model([make_operator()], ENDS)[:-20], "damaged"),
    ],
)
def test_damaged_models_are_rejected(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_tflite(data)
