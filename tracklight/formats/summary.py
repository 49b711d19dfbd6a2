"""Build ``Summary.Value`` messages, which an event logs under one tag.

The functions are named after the kinds of values, as in ``tf.summary``. All take keyword arguments
``display_name`` and ``description`` (Markdown), which dashboards show for the tag.
`tracklight.formats.event.encode_event` puts the values into an event.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tracklight.errors import UsageError
from tracklight.formats import proto
from tracklight.formats.event import DATA_CLASS_BY_PLUGIN, WAV_ENCODING, DataClass
from tracklight.formats.proto import Message
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.wire_format import decode_text
from tracklight.types import LayoutCategory, LayoutChart, LayoutMargin

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
