"""Summary values of the old form turned into the new: a tensor, and metadata that names a plugin.

What the old form knows and a plain tensor has no place for (a histogram's sum, the sample rate of a
clip) goes into the plugin's data, under field numbers of tracklight's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.event import DATA_CLASS_OF_PLUGIN
from tracklight.formats.proto import Message
from tracklight.formats.tensor import encode

#: ``AudioPluginData.encoding``.
UNKNOWN_ENCODING = 0
WAV_ENCODING = 11


class _Modern(NamedTuple):
    plugin: str
    content: Message
    array: NDArray[Any]


def modernize(value: Message) -> Message:
    """The new form of a ``Value`` message; one that is new already is given back as it is.

    The old form itself decides the plugin, as no other plugin's data ever had that form; display
    name and description are kept.
    """
    convert = _CONVERTERS.get(value.WhichOneof("value"))
    if convert is None:
        return value
    modern = convert(value)
    metadata = proto.SummaryMetadata(
        plugin_data=proto.PluginData(
            plugin_name=modern.plugin.encode(), content=modern.content.SerializeToString()
        ),
        display_name=value.metadata.display_name,
        summary_description=value.metadata.summary_description,
        data_class=DATA_CLASS_OF_PLUGIN[modern.plugin],
    )
    return proto.Value(
        tag=value.tag, node_name=value.node_name, metadata=metadata, tensor=encode(modern.array)
    )


def _convert_scalar(value: Message) -> _Modern:
    return _Modern("scalars", proto.ScalarPluginData(), np.array(value.simple_value, np.float32))


def _convert_image(value: Message) -> _Modern:
    image = value.image
    content = proto.ImagePluginData(converted_to_tensor=True, colorspace=image.colorspace)
    size = [str(image.width).encode(), str(image.height).encode()]
    return _Modern("images", content, np.array([*size, image.encoded_image_string], object))


def _convert_audio(value: Message) -> _Modern:
    audio = value.audio
    content = proto.AudioPluginData(
        encoding=WAV_ENCODING if audio.content_type in (b"", b"audio/wav") else UNKNOWN_ENCODING,
        converted_to_tensor=True,
        sample_rate=audio.sample_rate,
        num_channels=audio.num_channels,
        length_frames=audio.length_frames,
        content_type=audio.content_type,
    )
    no_label = b""
    return _Modern("audio", content, np.array([[audio.encoded_audio_string, no_label]], object))


def _convert_histogram(value: Message) -> _Modern:
    histogram = value.histo
    totals = proto.HistogramTotals(
        min=histogram.min,
        max=histogram.max,
        num=histogram.num,
        sum=histogram.sum,
        sum_squares=histogram.sum_squares,
    )
    content = proto.HistogramPluginData(totals=totals)
    return _Modern("histograms", content, make_buckets(histogram))


def make_buckets(histogram: Message) -> NDArray[np.float64]:
    """Rows of left edge, right edge and count, from the first to the last bucket that counts.

    Writers give a bucket's right edge only, and reach up to 1e308 with empty buckets; the smallest
    and the largest value are better outer edges.
    """
    counts = np.array(histogram.bucket)
    limits = np.array(histogram.bucket_limit)
    filled = np.flatnonzero(counts > 0)
    if not len(filled):
        return np.zeros((0, 3))
    first, last = filled[0], filled[-1]
    inner = limits[first:last]
    if len(inner) < last - first:
        raise FormatError(f"a histogram of {len(counts)} buckets with {len(limits)} limits")
    edges = np.concatenate([[histogram.min], inner, [histogram.max]])
    # Where the least value is wrong (some writers leave it 0) the bucket's own limits are better.
    if edges[0] > edges[1]:
        edges[0] = limits[first - 1] if first else edges[1]
    if edges[-1] < edges[-2]:
        edges[-1] = limits[last] if last < len(limits) else edges[-2]
    edges = np.fmax.accumulate(edges)
    return np.stack([edges[:-1], edges[1:], counts[first : last + 1]], axis=1)


_CONVERTERS: dict[str | None, Callable[[Message], _Modern]] = {
    "simple_value": _convert_scalar,
    "image": _convert_image,
    "audio": _convert_audio,
    "histo": _convert_histogram,
}
