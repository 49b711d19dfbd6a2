"""Builds values as ``torch.utils.tensorboard`` does, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.summary import MeshContent
from tracklight.formats.tensor import DType, encode
from tracklight.formats.wav import encode_wav
from tracklight.sdk.arrays import as_array, as_number, as_numbers, has_nan
from tracklight.sdk.layouts import build_layout as build_any_layout
from tracklight.sdk.lenient import Misuse, complain
from tracklight.sdk.values import MAX_TENSOR_BYTES, MAX_TEXT_BYTES

_LOUDEST = np.iinfo(np.int16).max

#: Where the numbers of a tensor are put. Those of other types go as memory: the original's form of
#: them is one that no reader understands.
_FIELDS = {
    "float32": (DType.FLOAT, "float_val"),
    "float64": (DType.DOUBLE, "double_val"),
    "int8": (DType.INT8, "int_val"),
    "int16": (DType.INT16, "int_val"),
    "int32": (DType.INT32, "int_val"),
    "int64": (DType.INT64, "int64_val"),
    "bool": (DType.BOOL, "bool_val"),
    "complex64": (DType.COMPLEX64, "scomplex_val"),
    "complex128": (DType.COMPLEX128, "dcomplex_val"),
}


def describe(plugin: str, content: Message | None = None) -> Message:
    """Metadata without a data class, which readers fill in by the plugin's name."""
    data = b"" if content is None else content.SerializeToString()
    plugin_data = proto.PluginData(plugin_name=plugin.encode(), content=data)
    return proto.SummaryMetadata(plugin_data=plugin_data)


def build_scalar(tag: str, value: Any, is_double: bool) -> Message:
    """A number in the new form."""
    number = as_number(value, "scalar_value")
    tensor = (
        proto.TensorProto(dtype=DType.DOUBLE, double_val=[number])
        if is_double
        else proto.TensorProto(dtype=DType.FLOAT, float_val=[number])
    )
    return proto.Value(tag=tag.encode(), tensor=tensor, metadata=describe("scalars"))


def build_tensor(tag: str, tensor: Any) -> Message:
    array = as_array(tensor, "tensor")
    if array.nbytes > MAX_TENSOR_BYTES:
        raise Misuse("tensor", f"takes {array.nbytes} bytes; {MAX_TENSOR_BYTES} are the most")
    known = _FIELDS.get(array.dtype.name)
    message = encode(array) if known is None else _fill(*known, array)
    return proto.Value(tag=tag.encode(), tensor=message, metadata=describe("tensor"))


def build_text(tag: str, text: Any) -> Message:
    if not isinstance(text, str):
        complain("text_string", f"must be a str, not a {type(text).__name__}")
        text = str(text)
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_TEXT_BYTES:
        raise Misuse("text_string", f"has {len(data)} bytes; {MAX_TEXT_BYTES} are the most")
    message = proto.TensorProto(dtype=DType.STRING, tensor_shape=_shape(1), string_val=[data])
    metadata = describe("text", proto.TextPluginData())
    return proto.Value(tag=f"{tag}/text_summary".encode(), tensor=message, metadata=metadata)


def build_audio(tag: str, sound: Any, sample_rate: Any) -> Message:
    samples = as_numbers(sound, "snd_tensor").squeeze()
    rate = int(as_number(sample_rate, "sample_rate"))
    # The original takes the second channel for more samples; that of tensorboardX does as here.
    channels = 2 if samples.ndim == 2 and samples.shape[1] == 2 else 1
    if samples.ndim != channels or not samples.size:
        shapes = "give [1, samples], or [samples, 2] for stereo"
        raise Misuse("snd_tensor", f"has shape {list(np.shape(sound))}; {shapes}")
    audio = proto.Audio(
        sample_rate=rate,
        num_channels=channels,
        length_frames=len(samples),
        encoded_audio_string=encode_wav(_as_int16(samples), rate),
        content_type=b"audio/wav",
    )
    return proto.Value(tag=tag.encode(), audio=audio)


def build_layout(tag: str, layout: Any) -> Message:
    value = build_any_layout(layout)
    value.metadata.ClearField("data_class")
    return value


def build_mesh(
    tag: str, vertices: Any, colors: Any, faces: Any, config: Mapping[str, Any] | None
) -> list[Message]:
    given = {
        MeshContent.VERTEX: ("vertices", vertices),
        MeshContent.FACE: ("faces", faces),
        MeshContent.COLOR: ("colors", colors),
    }
    parts = {
        part: _as_triples(array, argument)
        for part, (argument, array) in given.items()
        if array is not None
    }
    components = sum(1 << part for part in parts)
    return [_build_part(tag, part, parts[part], components, config) for part in parts]


def _build_part(
    tag: str,
    part: MeshContent,
    array: NDArray[Any],
    components: int,
    config: Mapping[str, Any] | None,
) -> Message:
    content = proto.MeshPluginData(
        name=tag.encode(),
        content_type=part,
        json_config=json.dumps(config or {}, sort_keys=True).encode(),
        shape=array.shape,
        components=components,
    )
    tensor = _fill(DType.FLOAT, "float_val", array)
    tagged = f"{tag}_{part.name}".encode()
    return proto.Value(tag=tagged, tensor=tensor, metadata=describe("mesh", content))


def _fill(dtype: DType, field: str, array: NDArray[Any]) -> Message:
    """A tensor with its numbers in the repeated field of their type."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    numbers = {field: flat.tolist()}
    return proto.TensorProto(dtype=dtype, tensor_shape=_shape(*array.shape), **numbers)


def build_float_tensor(array: NDArray[Any]) -> Message:
    """Numbers of any type as a tensor of float32."""
    return _fill(DType.FLOAT, "float_val", array)


def _shape(*sizes: int) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _as_int16(samples: NDArray[Any]) -> NDArray[np.int16]:
    if samples.dtype == np.int16:
        return samples
    if has_nan(samples):
        complain("snd_tensor", "has NaN in it, which became silence")
        samples = np.nan_to_num(samples, nan=0.0)
    if np.abs(samples).max() > 1:
        complain("snd_tensor", "goes beyond [-1, 1]; it was clipped")
        samples = samples.clip(-1, 1)
    return (samples * _LOUDEST).astype(np.int16)


def _as_triples(data: Any, argument: str) -> NDArray[Any]:
    array = as_numbers(data, argument)
    if array.ndim != 3 or array.shape[-1] != 3:
        raise Misuse(argument, f"has shape {list(array.shape)}; give [batch, n, 3]")
    return array
