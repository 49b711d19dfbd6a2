"""Build ``Summary.Value`` messages, the metadata of tags, and events with such values.

An event is the payload of a record of an event file. The functions that build values are named
after the kinds of values, as in ``tf.summary``. All take keyword arguments ``display_name`` and
``description`` (Markdown), which dashboards show for the tag. `encode_event` puts the values into
an event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tracklight.errors import UsageError
from tracklight.formats import proto
from tracklight.formats.proto import LENGTH_DELIMITED, VARINT, Message, decode_text, iter_fields
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tfrecord import BytesLike
from tracklight.types import LayoutCategory, LayoutChart, LayoutMargin

# ---- events

#: Written in the first event of every file. Version 2 marks restarts with `SessionStatus.START`.
FILE_VERSION = b"brain.Event:2"

#: ``AudioPluginData.encoding``
UNKNOWN_ENCODING = 0
WAV_ENCODING = 11


class SessionStatus(IntEnum):
    """``SessionLog.status``.

    START means that the program was restarted: events that were written before, at this step or
    later, are obsolete.
    """

    UNSPECIFIED = 0
    START = 1
    STOP = 2
    CHECKPOINT = 3


class DataClass(IntEnum):
    """``SummaryMetadata.data_class``: the general shape of the data of a plugin."""

    UNKNOWN = 0
    SCALAR = 1
    TENSOR = 2
    BLOB_SEQUENCE = 3


_DATA_CLASSES = frozenset(DataClass)

#: For metadata without a data class, which writers before 2020 left out.
DATA_CLASS_BY_PLUGIN = {
    "scalars": DataClass.SCALAR,
    "histograms": DataClass.TENSOR,
    "text": DataClass.TENSOR,
    "hparams": DataClass.TENSOR,
    "pr_curves": DataClass.TENSOR,
    "mesh": DataClass.TENSOR,
    "custom_scalars": DataClass.TENSOR,
    "images": DataClass.BLOB_SEQUENCE,
    "audio": DataClass.BLOB_SEQUENCE,
    "graphs": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata_graph": DataClass.BLOB_SEQUENCE,
    "graph_keras_model": DataClass.BLOB_SEQUENCE,
    "graph_tagged_run_metadata": DataClass.BLOB_SEQUENCE,
}


@dataclass(frozen=True, slots=True)
class TagMetadata:
    """The metadata of a tag, which its first value carries."""

    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: DataClass


def parse_metadata(data: BytesLike) -> TagMetadata:
    """Decode a SummaryMetadata; a missing data class is inferred from the plugin.

    The message is parsed by hand, so that programs which only list a log do not have to import
    protobuf.

    Raises:
        FormatError: The bytes are not a SummaryMetadata.
    """
    view = bytes(data)
    fields: dict[int, bytes] = {}
    plugin_fields: dict[int, bytes] = {}
    data_class = DataClass.UNKNOWN
    for field in iter_fields(view, 0, len(view)):
        if field.number == 4 and field.wire_type == VARINT and field.value in _DATA_CLASSES:
            data_class = DataClass(field.value)
        elif field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            plugin_fields.update(_iter_bytes_fields(view, field.start, field.end))
        elif field.wire_type == LENGTH_DELIMITED:
            fields[field.number] = view[field.start : field.end]
    plugin = decode_text(plugin_fields.get(1, b""))
    return TagMetadata(
        plugin=plugin,
        content=plugin_fields.get(2, b""),
        display_name=decode_text(fields.get(2, b"")),
        description=decode_text(fields.get(3, b"")),
        data_class=data_class or DATA_CLASS_BY_PLUGIN.get(plugin, DataClass.UNKNOWN),
    )


def _iter_bytes_fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for field in iter_fields(data, start, end):
        if field.wire_type == LENGTH_DELIMITED:
            yield field.number, data[field.start : field.end]


def decode_event(data: BytesLike) -> Message:
    """Decode an Event; raises FormatError if the bytes are not one."""
    return proto.parse("Event", data)


def encode_event(wall_time: float, step: int, values: Iterable[Message]) -> bytes:
    """Encode an event with summary values, such as `tracklight.formats.summary` builds."""
    return _serialize(wall_time, step, summary=proto.Summary(value=values))


def encode_file_version(wall_time: float, writer: str = "tracklight") -> bytes:
    """Encode the event that every file begins with."""
    source = proto.SourceMetadata(writer=writer.encode())
    return _serialize(wall_time, 0, file_version=FILE_VERSION, source_metadata=source)


def encode_session_status(wall_time: float, step: int, status: SessionStatus) -> bytes:
    """Encode an event that marks the start, the end or a checkpoint of the program."""
    return _serialize(wall_time, step, session_log=proto.SessionLog(status=status))


def encode_graph(wall_time: float, step: int, graph: Message) -> bytes:
    """Encode an event with the graph of a run, a GraphDef."""
    return _serialize(wall_time, step, graph_def=graph.SerializeToString())


def encode_run_metadata(wall_time: float, step: int, tag: str, metadata: Message) -> bytes:
    """Encode an event with the RunMetadata of one step: time and memory per node of the graph."""
    tagged = proto.TaggedRunMetadata(tag=tag.encode(), run_metadata=metadata.SerializeToString())
    return _serialize(wall_time, step, tagged_run_metadata=tagged)


def _serialize(wall_time: float, step: int, **fields: Message) -> bytes:
    data: bytes = proto.Event(wall_time=wall_time, step=step, **fields).SerializeToString()
    return data


# ---- values

#: The tag of the chart layout of the Custom Scalars dashboard.
LAYOUT_TAG = "custom_scalars__config__"

#: Avoids a division by zero in precision and recall.
_MIN_COUNT = 1e-7


class MeshContent(IntEnum):
    """``MeshPluginData.content_type``; ``components`` is a bit mask of the types of a mesh."""

    VERTEX = 1
    FACE = 2
    COLOR = 3


def make_metadata(
    plugin: str, content: Message | None = None, *, display_name: str = "", description: str = ""
) -> Message:
    """Build the SummaryMetadata of a tag.

    Args:
        plugin: The name of the plugin that the tag belongs to; empty for a plain tensor.
        content: The data of the plugin.
        display_name: Shown instead of the tag.
        description: Markdown.
    """
    return proto.SummaryMetadata(
        plugin_data=proto.PluginData(
            plugin_name=plugin.encode(),
            content=b"" if content is None else content.SerializeToString(),
        ),
        display_name=display_name.encode(),
        summary_description=description.encode(),
        data_class=DATA_CLASS_BY_PLUGIN.get(plugin, DataClass.TENSOR),
    )


def tensor(tag: str, array: ArrayLike, metadata: Message | None = None) -> Message:
    """Build a value from an array of any type; by default a plain tensor without a plugin."""
    metadata = make_metadata("") if metadata is None else metadata
    return proto.Value(tag=tag.encode(), tensor=encode_tensor(array), metadata=metadata)


def scalar(tag: str, value: float, *, dtype: DTypeLike = np.float32, **about: str) -> Message:
    """Build a scalar. TensorBoard shows only float32 by default."""
    return tensor(tag, np.asarray(value, dtype), make_metadata("scalars", **about))


def images(tag: str, encoded: Sequence[bytes], width: int, height: int, **about: str) -> Message:
    """Build a value from encoded images of the same size."""
    size = [str(width).encode(), str(height).encode()]
    array = np.array([*size, *encoded], object)
    return tensor(tag, array, make_metadata("images", proto.ImagePluginData(), **about))


def audio(tag: str, clips: Sequence[bytes], labels: Sequence[str] = (), **about: str) -> Message:
    """Build a value from WAV files, optionally with one label per clip.

    Raises:
        UsageError: The number of labels differs from the number of clips.
    """
    if labels and len(labels) != len(clips):
        raise UsageError(
            f"{len(labels)} labels for {len(clips)} clips; pass one label per clip, or none"
        )
    content = proto.AudioPluginData(encoding=WAV_ENCODING)
    array = np.full((len(clips), 2), b"", object)
    array[:, 0] = clips
    if labels:
        array[:, 1] = [label.encode() for label in labels]
    return tensor(tag, array, make_metadata("audio", content, **about))


def text(tag: str, texts: str | ArrayLike, **about: str) -> Message:
    """Build a value from a Markdown text, or from an array of texts, which is shown as a table."""
    return tensor(tag, texts, make_metadata("text", proto.TextPluginData(), **about))


def histogram(tag: str, numbers: ArrayLike, *, buckets: int = 30, **about: str) -> Message:
    """Build a histogram with buckets of equal width. NaN and Inf are counted separately."""
    given = np.asarray(numbers, np.float64).ravel()
    flat = given[np.isfinite(given)]
    low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.0, 0.0)
    totals = proto.HistogramTotals(
        min=low,
        max=high,
        num=len(flat),
        sum=flat.sum(),
        sum_squares=np.square(flat).sum(),
        nan=int(np.isnan(given).sum()),
        positive_infinity=int(np.isposinf(given).sum()),
        negative_infinity=int(np.isneginf(given).sum()),
    )
    content = proto.HistogramPluginData(totals=totals)
    counts = _count_buckets(flat, low, high, buckets) if len(flat) else np.zeros((0, 3))
    return tensor(tag, counts, make_metadata("histograms", content, **about))


def _count_buckets(
    numbers: NDArray[np.float64], low: float, high: float, buckets: int
) -> NDArray[Any]:
    if low == high:
        return np.array([[low, high, len(numbers)]])
    edges = np.linspace(low, high, buckets + 1)
    counts = np.histogram(numbers, edges)[0]
    return np.stack([edges[:-1], edges[1:], counts], axis=1)


def pr_curve(
    tag: str,
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    weights: ArrayLike = 1.0,
    thresholds: int = 201,
    **about: str,
) -> Message:
    """Build a precision-recall curve of scores in [0, 1], at evenly spaced thresholds.

    Args:
        tag: The tag.
        labels: The true class of each example.
        scores: The predicted probability of each example.
        weights: The weight of each example.
        thresholds: The number of thresholds.
        **about: ``display_name`` and ``description``.
    """
    truth = np.asarray(labels, bool)
    bucket = np.floor(np.asarray(scores, np.float64) * (thresholds - 1)).astype(np.int64)
    weight = np.broadcast_to(np.asarray(weights, np.float64), truth.shape)
    positives = np.bincount(bucket[truth], weight[truth], thresholds)[::-1].cumsum()[::-1]
    negatives = np.bincount(bucket[~truth], weight[~truth], thresholds)[::-1].cumsum()[::-1]
    missed = positives[0] - positives
    rows = [
        positives,
        negatives,
        negatives[0] - negatives,
        missed,
        positives / np.maximum(_MIN_COUNT, positives + negatives),
        positives / np.maximum(_MIN_COUNT, positives + missed),
    ]
    content = proto.PrCurvePluginData(num_thresholds=thresholds)
    return tensor(tag, np.array(rows, np.float32), make_metadata("pr_curves", content, **about))


def mesh(
    name: str,
    vertices: ArrayLike,
    faces: ArrayLike | None = None,
    colors: ArrayLike | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    **about: str,
) -> list[Message]:
    """Build the values of a batch of meshes, or of point clouds if there are no faces.

    Vertices, faces and colors are separate values with separate tags.

    Args:
        name: The common prefix of the tags.
        vertices: Array [n, points, 3].
        faces: Array [n, triangles, 3] of indices of vertices.
        colors: Array [n, points, 3] with values from 0 to 255.
        config: Options of three.js for the camera and the material.
        **about: ``display_name`` and ``description``.
    """
    parts: dict[MeshContent, NDArray[Any]] = {MeshContent.VERTEX: np.asarray(vertices, np.float32)}
    if faces is not None:
        parts[MeshContent.FACE] = np.asarray(faces, np.int32)
    if colors is not None:
        parts[MeshContent.COLOR] = np.asarray(colors, np.uint8)
    values = []
    for part, array in parts.items():
        content = proto.MeshPluginData(
            name=name.encode(),
            content_type=part,
            json_config=json.dumps(config or {}, sort_keys=True).encode(),
            shape=array.shape,
            components=sum(1 << present for present in parts),
        )
        metadata = make_metadata("mesh", content, **about)
        values.append(tensor(f"{name}_{part.name}", array, metadata))
    return values


@dataclass(frozen=True, slots=True)
class MultilineChart:
    """A chart of the tags that match any of some regular expressions."""

    title: str
    tags: Sequence[str]


class MarginSeries(NamedTuple):
    """The tags of a line and of the lower and upper edge of the band around it."""

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class MarginChart:
    """A chart of lines with bands around them."""

    title: str
    series: Sequence[MarginSeries]


def custom_scalars_layout(
    categories: Mapping[str, Sequence[MultilineChart | MarginChart]],
) -> Message:
    """Build the chart layout of the Custom Scalars dashboard, by the title of each category."""
    message = proto.Layout(
        category=[
            proto.Category(title=title.encode(), chart=[_build_chart(chart) for chart in charts])
            for title, charts in categories.items()
        ]
    )
    return tensor(LAYOUT_TAG, message.SerializeToString(), make_metadata("custom_scalars"))


def _build_chart(chart: MultilineChart | MarginChart) -> Message:
    if isinstance(chart, MultilineChart):
        lines = proto.MultilineChartContent(tag=[tag.encode() for tag in chart.tags])
        return proto.Chart(title=chart.title.encode(), multiline=lines)
    margins = [
        proto.MarginSeries(
            value=series.value.encode(), lower=series.lower.encode(), upper=series.upper.encode()
        )
        for series in chart.series
    ]
    return proto.Chart(title=chart.title.encode(), margin=proto.MarginChartContent(series=margins))


def parse_layout(data: bytes) -> tuple[LayoutCategory, ...]:
    """Decode a Layout message.

    Raises:
        FormatError: The bytes are not a Layout.
    """
    message = proto.parse("Layout", data)
    return tuple(
        LayoutCategory(
            title=decode_text(category.title),
            closed=category.closed,
            charts=tuple(_parse_chart(chart) for chart in category.chart),
        )
        for category in message.category
    )


def _parse_chart(chart: Message) -> LayoutChart:
    return LayoutChart(
        title=decode_text(chart.title),
        tags=tuple(decode_text(tag) for tag in chart.multiline.tag),
        margins=tuple(
            LayoutMargin(
                decode_text(series.value), decode_text(series.lower), decode_text(series.upper)
            )
            for series in chart.margin.series
        ),
    )
