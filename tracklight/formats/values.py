"""Summary values of the old form turned into the new: a tensor, and metadata that names a plugin.

What the old form knows and a plain tensor has no place for (a histogram's sum, the sample rate of a
clip) goes into the plugin's data, under field numbers of tracklight's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto, tensor
from tracklight.formats.event import DATA_CLASS_BY_PLUGIN, UNKNOWN_ENCODING, WAV_ENCODING
from tracklight.formats.media import (
    decode_image,
    decode_wav,
    find_image_size,
    find_wav_sample_rate,
    sniff_media_type,
)
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType, encode_tensor
from tracklight.formats.tfrecord import BytesLike
from tracklight.formats.wire_format import decode_text
from tracklight.types import Float64, Int64, Kind
from tracklight.util import html


class _UpgradedValue(NamedTuple):
    plugin: str
    content: Message
    array: NDArray[Any]


def upgrade_legacy_value(value: Message) -> Message:
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
        data_class=DATA_CLASS_BY_PLUGIN[modern.plugin],
    )
    return proto.Value(
        tag=value.tag,
        node_name=value.node_name,
        metadata=metadata,
        tensor=encode_tensor(modern.array),
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


def compute_bucket_table(histogram: Message) -> NDArray[np.float64]:
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


_CONVERTERS: dict[str | None, Callable[[Message], _UpgradedValue]] = {
    "simple_value": _convert_scalar,
    "image": _convert_image,
    "audio": _convert_audio,
    "histo": _convert_histogram,
}


# What one logged value holds, decoded from the bytes of its ``Summary.Value`` message.


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
        pictures = html.render_images((sniff_media_type(data), data) for data in self.encoded)
        return html.render_block(title, pictures)

    def with_size(self) -> Images:
        """Return the images with the size in their first file's header where none was logged."""
        if (self.width and self.height) or not self.encoded:
            return self
        width, height = find_image_size(self.encoded[0]) or (self.width, self.height)
        return replace(self, width=width, height=height)

    def to_arrays(self) -> list[NDArray[Any]]:
        """Decode the pixels of each image, as [height, width, channels]."""
        return [decode_image(picture) for picture in self.encoded]


@dataclass(frozen=True, slots=True, repr=False)
class Audio:
    """Clips of sound, each an encoded file with a label (Markdown, often empty)."""

    clips: tuple[bytes, ...]
    labels: tuple[str, ...]
    sample_rate: float | None
    content_type: str
    #: 0 if the log does not say.
    channels: int = 0
    frames: int = 0

    def __repr__(self) -> str:
        count = html.format_count(len(self.clips), "clip")
        rate = f" at {self.sample_rate:g} Hz" if self.sample_rate else ""
        return f"<Audio: {count}{rate}, {self.content_type}, {sum(map(len, self.clips)):,} bytes>"

    def to_arrays(self) -> list[Float64]:
        """The samples of each in [-1, 1], as [frames, channels]; WAV files only."""
        return [decode_wav(clip) for clip in self.clips]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Strings in an array of any rank (rank 0 for a plain text); Markdown by custom."""

    array: NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class HistogramStats:
    """What a histogram's writer knew of all the numbers that it counted."""

    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    #: What was no number and is in no bucket; other writers than tracklight's do not tell.
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Histogram:
    """Counts of numbers in buckets; each holds its left edge, the last one its right edge too."""

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
    """Decode a value, of the old form or the new, of a series of that kind.

    The kind must be told, because only the first value of a tag says what the tag is.
    """
    value = upgrade_legacy_value(proto.parse("Value", data))
    if not value.HasField("tensor"):
        if kind is not Kind.TENSOR or value.WhichOneof("value"):
            raise FormatError(f'the value of "{decode_text(value.tag)}" is no {kind}')
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
        raise FormatError(f"no pictures: {_describe(array)}")
    width, height, *encoded = array.tolist()
    colorspace = parse_plugin_content("ImagePluginData", content).colorspace
    return Images(_to_size(width), _to_size(height), tuple(encoded), colorspace)


def _to_size(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else 0


def _to_audio(array: NDArray[Any], content: bytes) -> Audio:
    if array.dtype != object or array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise FormatError(f"no sound: {_describe(array)}")
    rows = array if array.ndim == 2 else array[:, np.newaxis]
    clips = tuple(rows[:, 0].tolist())
    labels = rows[:, 1].tolist() if rows.shape[1] > 1 else [b""] * len(rows)
    about = parse_plugin_content("AudioPluginData", content)
    found_rate = find_wav_sample_rate(clips[0]) if clips else None
    return Audio(
        clips=clips,
        labels=tuple(map(decode_text, labels)),
        sample_rate=about.sample_rate or found_rate,
        content_type=_get_content_type(about, found_rate is not None),
        channels=about.num_channels,
        frames=about.length_frames,
    )


def _get_content_type(about: Message, is_wav: bool) -> str:
    if about.content_type:
        return decode_text(about.content_type)
    if about.encoding == WAV_ENCODING or is_wav:
        return "audio/wav"
    return "application/octet-stream"


def _to_text(array: NDArray[Any]) -> Text:
    if array.dtype != object:
        raise FormatError(f"no text: {_describe(array)}")
    texts = np.empty(array.size, object)
    texts[:] = [decode_text(text) for text in array.ravel()]
    return Text(texts.reshape(array.shape))


def _to_histogram(array: NDArray[Any], content: bytes) -> Histogram:
    if array.dtype.kind not in "fiub" or array.ndim != 2 or array.shape[1] != 3:
        raise FormatError(f"no histogram: {_describe(array)}")
    left, right, counts = array.astype(np.float64).T
    about = parse_plugin_content("HistogramPluginData", content)
    if not about.HasField("totals"):
        return Histogram(left, right, counts)
    return Histogram(left, right, counts, parse_totals(about.totals))


def parse_totals(given: Message) -> HistogramStats:
    """A ``HistogramTotals`` message as a value."""
    return HistogramStats(
        given.min,
        given.max,
        given.num,
        given.sum,
        given.sum_squares,
        given.nan,
        given.positive_infinity,
        given.negative_infinity,
    )


def parse_plugin_content(name: str, content: bytes) -> Message:
    """A plugin's data; some old writers put JSON there, which says nothing that is needed."""
    try:
        return proto.parse(name, content)
    except FormatError:
        return getattr(proto, name)()


def _describe(array: NDArray[Any]) -> str:
    kind = "strings" if array.dtype == object else str(array.dtype)
    return f"a tensor of {kind} of shape {list(array.shape)}"


# Histograms by the thousand, as columns: what `values.decode_value` gives one by one.

#: Names of the columns of `Histograms.totals`.
TOTALS_COLUMNS = tuple(one.name for one in fields(HistogramStats))

_STORED = {int(DType.FLOAT): "<f4", int(DType.DOUBLE): "<f8"}

_UNKNOWN = (np.nan,) * len(TOTALS_COLUMNS)

_NO_NONFINITE = (0, 0, 0)

_NO_BUCKETS = np.zeros((0, 3))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramBatch:
    """The buckets of some histograms: those of number ``i`` begin at ``begin[i]``."""

    starts: Int64
    left: Float64
    right: Float64
    counts: Float64
    totals: Float64
    """A row for each, with the columns `TOTALS`; NaN where the log says nothing."""
    errors: dict[int, str] = field(default_factory=dict)
    """Why some could not be decoded, which then have no buckets."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def histogram_ids(self) -> Int64:
        """For each bucket, which histogram it belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def decode_histograms(values: Sequence[bytes | None]) -> HistogramBatch:
    """Decode values of the old form and the new; None stands for one that could not be read."""
    tables: list[NDArray[Any]] = []
    totals = np.full((len(values), len(TOTALS_COLUMNS)), np.nan)
    flaws: dict[int, str] = {}
    for place, data in enumerate(values):
        table = _NO_BUCKETS
        if data is not None:
            try:
                table, totals[place] = _decode_histogram(data)
            except FormatError as error:
                flaws[place] = str(error)
        tables.append(table)
    return _join_histograms(tables, totals, flaws)


def _join_histograms(
    tables: Sequence[NDArray[Any]], totals: Float64, flaws: dict[int, str]
) -> HistogramBatch:
    begin = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([len(table) for table in tables], out=begin[1:])
    joined = np.concatenate([_NO_BUCKETS, *tables])
    left, right, counts = np.ascontiguousarray(joined.T)
    return HistogramBatch(begin, left, right, counts, totals, flaws)


def _decode_histogram(data: bytes) -> tuple[NDArray[Any], Iterable[float]]:
    """The buckets, and the totals where the value has any."""
    value = proto.parse("Value", data)
    if value.HasField("histo"):
        given = value.histo
        return compute_bucket_table(given), [
            *(getattr(given, name) for name in TOTALS_COLUMNS[:5]),
            *_NO_NONFINITE,
        ]
    table = _find_table(value)
    if table is not None:
        return table, _parse_totals_row(value.metadata.plugin_data.content)
    decoded = decode_value(data, Kind.HISTOGRAM)
    assert isinstance(decoded, Histogram)
    table = np.stack([decoded.edges_left, decoded.edges_right, decoded.counts], axis=1)
    return table, _list_totals(decoded.totals)


def _find_table(value: Message) -> NDArray[Any] | None:
    """The buckets as nearly all writers store them; None for what needs a closer look."""
    tensor = value.tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    stored = _STORED.get(tensor.dtype)
    content = tensor.tensor_content
    if stored is None or len(sizes) != 2 or sizes[1] != 3 or not content:
        return None
    itemsize = int(stored[-1])
    if len(content) != 3 * sizes[0] * itemsize:
        return None
    return np.frombuffer(content, stored).reshape(-1, 3)


def _parse_totals_row(content: bytes) -> Iterable[float]:
    about = parse_plugin_content("HistogramPluginData", content)
    return _list_totals(parse_totals(about.totals) if about.HasField("totals") else None)


def _list_totals(totals: HistogramStats | None) -> Iterable[float]:
    return _UNKNOWN if totals is None else [getattr(totals, name) for name in TOTALS_COLUMNS]
