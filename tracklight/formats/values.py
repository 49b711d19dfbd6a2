"""Decode logged values: images, audio, text, histograms and tensors.

A value is a ``Summary.Value`` message. Today all values are tensors whose metadata names a plugin;
older writers used a field per kind of value. `decode_value` reads both encodings.
`decode_histograms` decodes many histograms at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, TracklightError
from tracklight.formats import proto, tensor
from tracklight.formats.media import (
    UNKNOWN_MEDIA_TYPE,
    decode_image,
    decode_wav,
    find_image_size,
    find_wav_sample_rate,
    sniff_media_type,
)
from tracklight.formats.proto import Message, decode_text
from tracklight.formats.summary import DATA_CLASS_BY_PLUGIN, UNKNOWN_ENCODING, WAV_ENCODING
from tracklight.formats.tensor import DType, encode_tensor
from tracklight.formats.tfrecord import BytesLike
from tracklight.types import Float64, Int64, Kind
from tracklight.util import html

_NO_BUCKETS = np.zeros((0, 3))


@dataclass(frozen=True, slots=True, repr=False)
class Images:
    """Images of one step, each an encoded file.

    Attributes:
        width: Width in pixels as logged; 0 if nothing was logged.
        height: Height in pixels as logged; 0 if nothing was logged.
        encoded: The files, mostly PNG.
        colorspace: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA, 5 YUV, 6 BGRA; 0 if unknown.
    """

    width: int
    height: int
    encoded: tuple[bytes, ...]
    colorspace: int = 0

    def __repr__(self) -> str:
        count = html.format_count(len(self.encoded), "image")
        size = f" of {self.width} x {self.height} pixels" if self.width else ""
        return f"<Images: {count}{size}, {sum(map(len, self.encoded)):,} bytes>"

    def _repr_html_(self) -> str:
        title = repr(self)[1:-1].removeprefix("Images: ")
        files = html.render_images((sniff_media_type(data), data) for data in self.encoded)
        return html.render_block(title, files)

    def with_size(self) -> Images:
        """Return the images with the size from the first file's header if none was logged."""
        if (self.width and self.height) or not self.encoded:
            return self
        width, height = find_image_size(self.encoded[0]) or (self.width, self.height)
        return replace(self, width=width, height=height)

    def to_arrays(self) -> list[NDArray[Any]]:
        """Decode each image to an array [height, width, channels].

        Raises:
            FormatError: An image cannot be decoded.
        """
        return [decode_image(image) for image in self.encoded]


@dataclass(frozen=True, slots=True, repr=False)
class Audio:
    """Audio clips of one step, each an encoded file.

    Attributes:
        clips: The files, mostly WAV.
        labels: One per clip: Markdown, often empty.
        sample_rate: In Hz; None if unknown.
        content_type: The media type of the files.
        channels: The number of channels as logged; 0 if nothing was logged.
        frames: The number of frames as logged; 0 if nothing was logged.
    """

    clips: tuple[bytes, ...]
    labels: tuple[str, ...]
    sample_rate: float | None
    content_type: str
    channels: int = 0
    frames: int = 0

    def __repr__(self) -> str:
        count = html.format_count(len(self.clips), "clip")
        rate = f" at {self.sample_rate:g} Hz" if self.sample_rate else ""
        return f"<Audio: {count}{rate}, {self.content_type}, {sum(map(len, self.clips)):,} bytes>"

    def to_arrays(self) -> list[Float64]:
        """Decode each clip to an array [frames, channels] of samples in [-1, 1].

        Raises:
            FormatError: A clip is not a WAV file.
        """
        return [decode_wav(clip) for clip in self.clips]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Strings in an array of any rank (rank 0 for a single text); Markdown by convention."""

    array: NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class HistogramStats:
    """Statistics of the numbers that a histogram counts.

    Attributes:
        min: The smallest number.
        max: The largest number.
        num: The number of finite numbers.
        sum: Their sum.
        sum_squares: The sum of their squares.
        nan: The number of NaN, which are in no bucket. Only tracklight logs these three counts.
        positive_infinity: The number of +Inf.
        negative_infinity: The number of -Inf.
    """

    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Histogram:
    """Counts per bucket. Buckets include their left edge, the last one its right edge as well."""

    edges_left: Float64
    edges_right: Float64
    counts: Float64
    totals: HistogramStats | None = None

    def __repr__(self) -> str:
        if not len(self.counts):
            return "<Histogram: empty>"
        edges = f"from {self.edges_left[0]:.6g} to {self.edges_right[-1]:.6g}"
        return f"<Histogram: {len(self.counts):,} buckets {edges}, {self.counts.sum():g} values>"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An array of any type."""

    array: NDArray[Any]


DecodedValue = Images | Audio | Text | Histogram | Tensor


def decode_value(
    data: BytesLike, kind: Kind, *, max_bytes: int = tensor.MAX_TENSOR_BYTES
) -> DecodedValue:
    """Decode a ``Summary.Value`` in the current or the legacy encoding.

    Args:
        data: The encoded message.
        kind: The kind of the tag. It has to be passed, because only the first value of a tag
            carries metadata.
        max_bytes: Larger tensors are rejected.

    Raises:
        FormatError: The value is damaged, too large or of another kind.
    """
    value = upgrade_legacy_value(proto.parse("Value", data))
    if not value.HasField("tensor"):
        if kind is not Kind.TENSOR or value.WhichOneof("value"):
            raise FormatError(
                "log.wrong_kind",
                'the value of "{tag}" is not of kind {kind}',
                tag=decode_text(value.tag),
                kind=kind,
            )
        return Tensor(np.zeros(0, np.float32))
    array = tensor.decode_tensor(value.tensor, max_bytes=max_bytes)
    content = value.metadata.plugin_data.content
    if kind is Kind.IMAGE:
        return _to_images(array, content)
    if kind is Kind.AUDIO:
        return _to_audio(array, content)
    if kind is Kind.TEXT:
        return _to_text(array)
    if kind is Kind.HISTOGRAM:
        return _to_histogram(array, content)
    return Tensor(array)


def _to_images(array: NDArray[Any], content: bytes) -> Images:
    if array.dtype != object or array.ndim != 1 or len(array) < 2:
        raise FormatError(
            "log.not_an_image",
            "not an image value: a tensor of {dtype} of shape {shape}",
            **_describe(array),
        )
    width, height, *encoded = array.tolist()
    colorspace = _parse_plugin_content("ImagePluginData", content).colorspace
    return Images(_to_size(width), _to_size(height), tuple(encoded), colorspace)


def _to_size(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else 0


def _to_audio(array: NDArray[Any], content: bytes) -> Audio:
    if array.dtype != object or array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise FormatError(
            "log.not_audio",
            "not an audio value: a tensor of {dtype} of shape {shape}",
            **_describe(array),
        )
    rows = array if array.ndim == 2 else array[:, np.newaxis]
    clips = tuple(rows[:, 0].tolist())
    labels = rows[:, 1].tolist() if rows.shape[1] > 1 else [b""] * len(rows)
    plugin_data = _parse_plugin_content("AudioPluginData", content)
    wav_sample_rate = find_wav_sample_rate(clips[0]) if clips else None
    return Audio(
        clips=clips,
        labels=tuple(map(decode_text, labels)),
        sample_rate=plugin_data.sample_rate or wav_sample_rate,
        content_type=_get_audio_type(plugin_data, is_wav=wav_sample_rate is not None),
        channels=plugin_data.num_channels,
        frames=plugin_data.length_frames,
    )


def _get_audio_type(plugin_data: Message, is_wav: bool) -> str:
    if plugin_data.content_type:
        return decode_text(plugin_data.content_type)
    if plugin_data.encoding == WAV_ENCODING or is_wav:
        return "audio/wav"
    return UNKNOWN_MEDIA_TYPE


def _to_text(array: NDArray[Any]) -> Text:
    if array.dtype != object:
        raise FormatError(
            "log.not_text",
            "not a text value: a tensor of {dtype} of shape {shape}",
            **_describe(array),
        )
    texts = np.empty(array.size, object)
    texts[:] = [decode_text(text) for text in array.ravel()]
    return Text(texts.reshape(array.shape))


def _to_histogram(array: NDArray[Any], content: bytes) -> Histogram:
    if array.dtype.kind not in "fiub" or array.ndim != 2 or array.shape[1] != 3:
        raise FormatError(
            "log.not_a_histogram",
            "not a histogram: a tensor of {dtype} of shape {shape}",
            **_describe(array),
        )
    left, right, counts = array.astype(np.float64).T
    return Histogram(left, right, counts, _find_stats(content))


def _find_stats(content: bytes) -> HistogramStats | None:
    plugin_data = _parse_plugin_content("HistogramPluginData", content)
    if not plugin_data.HasField("totals"):
        return None
    return HistogramStats(*(getattr(plugin_data.totals, name) for name in TOTALS_COLUMNS))


def _parse_plugin_content(name: str, content: bytes) -> Message:
    """Decode the data of a plugin; an empty message if it is the JSON that old writers used."""
    try:
        return proto.parse(name, content)
    except FormatError:
        return getattr(proto, name)()


def _describe(array: NDArray[Any]) -> dict[str, str]:
    """Return the arguments of messages about a tensor."""
    dtype = "string" if array.dtype == object else str(array.dtype)
    return {"dtype": dtype, "shape": str(list(array.shape))}


class _UpgradedValue(NamedTuple):
    plugin: str
    content: Message
    array: NDArray[Any]


def upgrade_legacy_value(value: Message) -> Message:
    """Convert a ``Value`` message from the legacy encoding to a tensor with metadata.

    Values in the current encoding are returned unchanged. What a tensor cannot represent, such as
    the sum of a histogram or the sample rate of a clip, is stored in the data of the plugin, in
    fields that only tracklight uses. Display name and description are preserved.
    """
    convert = _CONVERTERS.get(value.WhichOneof("value"))
    if convert is None:
        return value
    upgraded = convert(value)
    metadata = proto.SummaryMetadata(
        plugin_data=proto.PluginData(
            plugin_name=upgraded.plugin.encode(), content=upgraded.content.SerializeToString()
        ),
        display_name=value.metadata.display_name,
        summary_description=value.metadata.summary_description,
        data_class=DATA_CLASS_BY_PLUGIN[upgraded.plugin],
    )
    return proto.Value(
        tag=value.tag,
        node_name=value.node_name,
        metadata=metadata,
        tensor=encode_tensor(upgraded.array),
    )


def _convert_scalar(value: Message) -> _UpgradedValue:
    return _UpgradedValue(
        "scalars", proto.ScalarPluginData(), np.array(value.simple_value, np.float32)
    )


def _convert_image(value: Message) -> _UpgradedValue:
    image = value.image
    content = proto.ImagePluginData(converted_to_tensor=True, colorspace=image.colorspace)
    size = [str(image.width).encode(), str(image.height).encode()]
    return _UpgradedValue("images", content, np.array([*size, image.encoded_image_string], object))


def _convert_audio(value: Message) -> _UpgradedValue:
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
    return _UpgradedValue(
        "audio", content, np.array([[audio.encoded_audio_string, no_label]], object)
    )


def _convert_histogram(value: Message) -> _UpgradedValue:
    histogram = value.histo
    totals = proto.HistogramTotals(
        min=histogram.min,
        max=histogram.max,
        num=histogram.num,
        sum=histogram.sum,
        sum_squares=histogram.sum_squares,
    )
    content = proto.HistogramPluginData(totals=totals)
    return _UpgradedValue("histograms", content, compute_bucket_table(histogram))


_CONVERTERS: dict[str | None, Callable[[Message], _UpgradedValue]] = {
    "simple_value": _convert_scalar,
    "image": _convert_image,
    "audio": _convert_audio,
    "histo": _convert_histogram,
}


def compute_bucket_table(histogram: Message) -> NDArray[np.float64]:
    """Convert a HistogramProto to rows of left edge, right edge and count.

    Empty buckets at both ends are dropped. A HistogramProto stores only the right edge of each
    bucket, and the outermost buckets reach up to 1e308; they are narrowed to the smallest and the
    largest value.

    Raises:
        FormatError: There are fewer edges than buckets.
    """
    counts = np.array(histogram.bucket)
    limits = np.array(histogram.bucket_limit)
    filled = np.flatnonzero(counts > 0)
    if not len(filled):
        return _NO_BUCKETS
    first, last = filled[0], filled[-1]
    inner = limits[first:last]
    if len(inner) < last - first:
        raise FormatError(
            "log.histogram_edges",
            "the histogram has {buckets} buckets, but {edges} edges",
            buckets=len(counts),
            edges=len(limits),
        )
    edges = np.concatenate([[histogram.min], inner, [histogram.max]])
    # Some writers leave the minimum and the maximum at 0. Use the edges of the buckets then.
    if edges[0] > edges[1]:
        edges[0] = limits[first - 1] if first else edges[1]
    if edges[-1] < edges[-2]:
        edges[-1] = limits[last] if last < len(limits) else edges[-2]
    edges = np.fmax.accumulate(edges)
    return np.stack([edges[:-1], edges[1:], counts[first : last + 1]], axis=1)


#: The columns of `HistogramBatch.totals`.
TOTALS_COLUMNS = tuple(column.name for column in fields(HistogramStats))

_NO_STATS = (np.nan,) * len(TOTALS_COLUMNS)
#: The non-finite counts of a HistogramProto, which does not store them.
_NO_NONFINITE = (0, 0, 0)
_STORED_DTYPES = {int(DType.FLOAT): "<f4", int(DType.DOUBLE): "<f8"}


@dataclass(frozen=True, slots=True, eq=False)
class HistogramBatch:
    """Many histograms as columns; the buckets of histogram ``i`` begin at ``starts[i]``."""

    starts: Int64
    left: Float64
    right: Float64
    counts: Float64
    totals: Float64
    """One row per histogram, with the columns `TOTALS_COLUMNS`; NaN where nothing was logged."""
    errors: dict[int, TracklightError] = field(default_factory=dict)
    """Why histograms could not be decoded, by index. These have no buckets."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def histogram_ids(self) -> Int64:
        """Return the index of the histogram of each bucket."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def decode_histograms(values: Sequence[bytes | None]) -> HistogramBatch:
    """Decode many histograms; None is a value that could not be read."""
    tables: list[NDArray[Any]] = []
    totals = np.full((len(values), len(TOTALS_COLUMNS)), np.nan)
    errors: dict[int, TracklightError] = {}
    for index, data in enumerate(values):
        table = _NO_BUCKETS
        if data is not None:
            try:
                table, totals[index] = _decode_histogram(data)
            except FormatError as error:
                errors[index] = error
        tables.append(table)
    starts = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([len(table) for table in tables], out=starts[1:])
    left, right, counts = np.ascontiguousarray(np.concatenate([_NO_BUCKETS, *tables]).T)
    return HistogramBatch(starts, left, right, counts, totals, errors)


def _decode_histogram(data: bytes) -> tuple[NDArray[Any], Iterable[float]]:
    """Return the bucket table and the row of totals."""
    value = proto.parse("Value", data)
    if value.HasField("histo"):
        stats = (getattr(value.histo, name) for name in TOTALS_COLUMNS[:5])
        return compute_bucket_table(value.histo), [*stats, *_NO_NONFINITE]
    table = _find_bucket_table(value)
    if table is not None:
        plugin_data = _parse_plugin_content(
            "HistogramPluginData", value.metadata.plugin_data.content
        )
        return table, _to_totals_row(plugin_data.totals if plugin_data.HasField("totals") else None)
    decoded = decode_value(data, Kind.HISTOGRAM)
    assert isinstance(decoded, Histogram)
    table = np.stack([decoded.edges_left, decoded.edges_right, decoded.counts], axis=1)
    return table, _to_totals_row(decoded.totals)


def _find_bucket_table(value: Message) -> NDArray[Any] | None:
    """Return the buckets in the encoding that nearly all writers use; None for any other."""
    tensor = value.tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    stored = _STORED_DTYPES.get(tensor.dtype)
    content = tensor.tensor_content
    if stored is None or len(sizes) != 2 or sizes[1] != 3 or not content:
        return None
    item_bytes = int(stored[-1])
    if len(content) != 3 * sizes[0] * item_bytes:
        return None
    return np.frombuffer(content, stored).reshape(-1, 3)


def _to_totals_row(stats: HistogramStats | Message | None) -> Iterable[float]:
    return _NO_STATS if stats is None else [getattr(stats, name) for name in TOTALS_COLUMNS]
