"""What one logged value holds, decoded from the bytes of its ``Summary.Value`` message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight import _html
from tracklight.errors import FormatError
from tracklight.formats import proto, tensor
from tracklight.formats.crc32c import Buffer
from tracklight.formats.event import decode_text
from tracklight.formats.legacy import WAV_ENCODING, modernize
from tracklight.formats.media_type import sniff
from tracklight.formats.pixels import decode_pixels, find_size
from tracklight.formats.proto import Message
from tracklight.formats.wav import decode_wav, find_sample_rate
from tracklight.types import Float64, Kind


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
        count = _html.format_count(len(self.encoded), "image")
        size = f" of {self.width} x {self.height} pixels" if self.width else ""
        return f"<Images: {count}{size}, {sum(map(len, self.encoded)):,} bytes>"

    def _repr_html_(self) -> str:
        title = repr(self)[1:-1].removeprefix("Images: ")
        pictures = _html.render_images((sniff(data), data) for data in self.encoded)
        return _html.render_block(title, pictures)

    def with_size(self) -> Images:
        """Return the images with the size in their first file's header where none was logged."""
        if (self.width and self.height) or not self.encoded:
            return self
        width, height = find_size(self.encoded[0]) or (self.width, self.height)
        return replace(self, width=width, height=height)

    def to_arrays(self) -> list[NDArray[Any]]:
        """Decode the pixels of each image, as [height, width, channels]."""
        return [decode_pixels(picture) for picture in self.encoded]


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
        count = _html.format_count(len(self.clips), "clip")
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
class Totals:
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
    totals: Totals | None = None

    def __repr__(self) -> str:
        if not len(self.counts):
            return "<Histogram: empty>"
        edges = f"from {self.edges_left[0]:.6g} to {self.edges_right[-1]:.6g}"
        return f"<Histogram: {len(self.counts):,} buckets {edges}, {self.counts.sum():g} values>"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An array of any type."""

    array: NDArray[Any]


Decoded = Images | Audio | Text | Histogram | Tensor


def decode_value(data: Buffer, kind: Kind, *, max_bytes: int = tensor.MAX_BYTES) -> Decoded:
    """Decode a value, of the old form or the new, of a series of that kind.

    The kind must be told, because only the first value of a tag says what the tag is.
    """
    value = modernize(proto.parse("Value", data))
    if not value.HasField("tensor"):
        if kind is not Kind.TENSOR or value.WhichOneof("value"):
            raise FormatError(f'the value of "{decode_text(value.tag)}" is no {kind}')
        return Tensor(np.zeros(0, np.float32))
    array = tensor.decode(value.tensor, max_bytes=max_bytes)
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
    colorspace = parse_content("ImagePluginData", content).colorspace
    return Images(_to_size(width), _to_size(height), tuple(encoded), colorspace)


def _to_size(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else 0


def _to_audio(array: NDArray[Any], content: bytes) -> Audio:
    if array.dtype != object or array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise FormatError(f"no sound: {_describe(array)}")
    rows = array if array.ndim == 2 else array[:, np.newaxis]
    clips = tuple(rows[:, 0].tolist())
    labels = rows[:, 1].tolist() if rows.shape[1] > 1 else [b""] * len(rows)
    about = parse_content("AudioPluginData", content)
    found_rate = find_sample_rate(clips[0]) if clips else None
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
    about = parse_content("HistogramPluginData", content)
    if not about.HasField("totals"):
        return Histogram(left, right, counts)
    return Histogram(left, right, counts, to_totals(about.totals))


def to_totals(given: Message) -> Totals:
    """A ``HistogramTotals`` message as a value."""
    return Totals(
        given.min,
        given.max,
        given.num,
        given.sum,
        given.sum_squares,
        given.nan,
        given.positive_infinity,
        given.negative_infinity,
    )


def parse_content(name: str, content: bytes) -> Message:
    """A plugin's data; some old writers put JSON there, which says nothing that is needed."""
    try:
        return proto.parse(name, content)
    except FormatError:
        return getattr(proto, name)()


def _describe(array: NDArray[Any]) -> str:
    kind = "strings" if array.dtype == object else str(array.dtype)
    return f"a tensor of {kind} of shape {list(array.shape)}"
