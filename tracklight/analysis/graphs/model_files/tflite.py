"""Parse TensorFlow Lite models (FlatBuffers, ``.tflite``) without TensorFlow.

The first subgraph is the graph; the others, which control flow operators call, are functions.
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs

The tables of operators, options and data types were generated from TensorFlow 2.21
(``tensorflow/lite/python/schema_py_generated.py``). The schema only grows, so newer models are read
as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
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
from tracklight.analysis.graphs.model_files import INITIALIZER, TensorGraphBuilder
from tracklight.errors import FormatError

# ---- schema

#: Names of operators by code.
OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL
CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST
PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN
TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK
REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR
LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS
WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG
REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL
BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD
UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM
STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG
STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER
STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT
STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR
REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
""".split()

#: Data types by code.
TYPES = """
float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64
resource variant uint32 uint16 int4 bfloat16 int2 uint4
""".split()

PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

#: Fields of the options of operators, by the code of the options: ``index:name:kind``. Kinds are
#: i, u, l (integers of 32, 32 unsigned and 64 bits), f (float), b (bool), 8 (byte), s (string),
#: v (vector of integers), p (padding), a (activation) and t (data type).
OPTIONS = {
    1: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:fused_activation_function:a "
        "4:dilation_w_factor:i 5:dilation_h_factor:i 6:quantized_bias_type:t"
    ),
    2: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:depth_multiplier:i "
        "4:fused_activation_function:a 5:dilation_w_factor:i 6:dilation_h_factor:i"
    ),
    3: "0:num_channels:i 1:num_columns_per_channel:v 2:embedding_dim_per_channel:v",
    4: "0:type:8",
    5: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:filter_width:i 4:filter_height:i "
        "5:fused_activation_function:a"
    ),
    6: "0:rank:i 1:fused_activation_function:a 2:asymmetric_quantize_inputs:b",
    7: "0:fused_activation_function:a 1:asymmetric_quantize_inputs:b",
    8: (
        "0:fused_activation_function:a 1:weights_format:8 2:keep_num_dims:b "
        "3:asymmetric_quantize_inputs:b 4:quantized_bias_type:t"
    ),
    9: "0:beta:f",
    10: "0:axis:i 1:fused_activation_function:a",
    11: "0:fused_activation_function:a 1:pot_scale_int16:b",
    12: "0:fused_activation_function:a",
    13: "0:radius:i 1:bias:f 2:alpha:f 3:beta:f",
    14: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:kernel_type:8 "
        "4:asymmetric_quantize_inputs:b"
    ),
    15: "2:align_corners:b 3:half_pixel_centers:b",
    16: "0:subgraph:u",
    17: "0:new_shape:v",
    18: "0:ngram_size:i 1:max_skip_size:i 2:include_all_ngrams:b",
    19: "0:block_size:i",
    20: "0:combiner:8",
    21: "0:fused_activation_function:a",
    23: "0:axis:i 1:batch_dims:i",
    27: "0:keep_dims:b",
    28: "0:fused_activation_function:a 1:pot_scale_int16:b",
    29: "0:fused_activation_function:a",
    30: "0:squeeze_dims:v",
    31: "0:time_major:b 1:fused_activation_function:a 2:asymmetric_quantize_inputs:b",
    32: (
        "0:begin_mask:i 1:end_mask:i 2:ellipsis_mask:i 3:new_axis_mask:i 4:shrink_axis_mask:i "
        "5:offset:b"
    ),
    35: "0:num_splits:i",
    37: "0:in_data_type:t 1:out_data_type:t",
    40: "0:output_type:t",
    49: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:fused_activation_function:a "
        "4:quantized_bias_type:t"
    ),
    50: "0:validate_indices:b",
    55: "0:out_type:t",
    57: "0:output_type:t",
    58: "0:min:f 1:max:f 2:num_bits:i 3:narrow_range:b",
    59: "0:values_count:i 1:axis:i",
    61: "0:axis:i",
    64: "0:num:i 1:axis:i",
    69: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:merge_outputs:b "
        "4:time_major:b 5:asymmetric_quantize_inputs:b"
    ),
    70: (
        "0:time_major:b 1:fused_activation_function:a 2:merge_outputs:b "
        "3:asymmetric_quantize_inputs:b"
    ),
    71: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:time_major:b "
        "4:asymmetric_quantize_inputs:b 5:diagonal_recurrent_tensors:b"
    ),
    74: "0:align_corners:b 1:half_pixel_centers:b",
    75: "0:alpha:f",
    77: "0:mode:8",
    79: "0:num_splits:i",
    80: "0:idx_out_type:t",
    87: "0:seq_dim:i 1:batch_dim:i",
    92: "0:then_subgraph_index:i 1:else_subgraph_index:i",
    93: "0:cond_subgraph_index:i 1:body_subgraph_index:i",
    94: "0:block_size:i",
    101: "0:adj_x:b 1:adj_y:b 2:asymmetric_quantize_inputs:b",
    102: "0:exclusive:b 1:reverse:b",
    103: "0:init_subgraph_index:i",
    106: (
        "0:padding:p 1:stride_d:i 2:stride_w:i 3:stride_h:i 4:fused_activation_function:a "
        "5:dilation_d_factor:i 6:dilation_w_factor:i 7:dilation_h_factor:i"
    ),
    107: "0:table_id:i 1:key_dtype:t 2:value_dtype:t",
    111: "0:container:s",
    114: "0:seed:l 1:seed2:l",
    116: "0:approximate:b",
}

OPTIONS_2 = {
    1: "0:dimension:l",
    4: (
        "5:input_batch_dimension:l 6:input_feature_dimension:l "
        "8:kernel_input_feature_dimension:l 9:kernel_output_feature_dimension:l "
        "11:output_batch_dimension:l 12:output_feature_dimension:l 14:feature_group_count:l "
        "15:batch_group_count:l"
    ),
    5: (
        "0:call_target_name:s 1:has_side_effect:b 2:backend_config:s 3:api_version:i "
        "4:called_computations:v"
    ),
    6: "1:body_subgraph_index:i",
    7: (
        "0:indices_are_sorted:b 4:index_vector_dim:l 5:unique_indices:b "
        "6:update_computation_subgraph_index:i"
    ),
    8: "0:comparison_direction:u 1:compare_type:u",
    11: "0:iota_dimension:l",
    13: "5:body_subgraph_index:i",
    14: "0:dimension:l 1:is_stable:b 2:comparator_subgraph_index:i",
    15: "0:cond_subgraph_index:i 1:body_subgraph_index:i",
    16: "3:index_vector_dim:l 5:indices_are_sorted:b",
    19: "0:algorithm:8",
    20: "0:reduce_function:i",
    21: ("0:name:s 1:decomposition_subgraph_index:i 3:composite_attributes_format:8 4:version:i"),
    23: "0:branch_subgraph_indices:v",
}


# ---- parsing

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
#: The metadata with the oldest version of TensorFlow Lite that can run a model.
_MIN_RUNTIME = "min_runtime_version"
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


def iter_tflite_properties(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the properties in the header of a model, and the names of its signatures."""
    root = _FlatBuffer(data).get_root()
    yield "format", f"TensorFlow Lite v{root.number(0, '<I')}"
    yield "description", root.text(3)
    buffers = list(root.tables(4))
    for metadata in root.tables(6):
        index = metadata.number(1, "<I")
        if metadata.text(0) == _MIN_RUNTIME and index < len(buffers):
            content = buffers[index].array(0, "<u1").tobytes()
            yield _MIN_RUNTIME, content.rstrip(b"\0").decode("utf-8", "replace")
    yield "signatures", ", ".join(table.text(2) for table in root.tables(7))


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


# ---- models


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
