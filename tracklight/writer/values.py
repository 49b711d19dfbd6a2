"""Builds what `tracklight.summary` logs from what programs pass to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.formats.summary import (
    LAYOUT_TAG,
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
    make_metadata,
    tensor,
)
from tracklight.writer.arguments import as_array, as_number, as_numbers
from tracklight.writer.histograms import (
    HistogramCounts,
    acquire_copy,
    compute_uniform_histogram,
    release_copy,
)
from tracklight.writer.media import as_pixels, encode_audio_clips, encode_images
from tracklight.writer.warnings import ArgumentError, warn_or_raise

#: A text beyond this is of no use to anyone who would have to scroll through it.
MAX_TEXT_BYTES = 64 << 20

#: protobuf cannot hold twice as much.
MAX_TENSOR_BYTES = 1 << 30


def build_scalar(tag: str, data: object, **about: str) -> Message:
    return summary.scalar(tag, as_number(data), **about)


def build_images(tag: str, data: object, max_outputs: int, **about: str) -> Message:
    pictures = encode_images(data, max_outputs)
    encoded = [picture.encoded for picture in pictures]
    return summary.images(tag, encoded, pictures[0].width, pictures[0].height, **about)


def build_audio(
    tag: str, data: object, sample_rate: object, max_outputs: int, **about: str
) -> Message:
    return summary.audio(tag, encode_audio_clips(data, sample_rate, max_outputs), **about)


def build_text(tag: str, data: object, **about: str) -> Message:
    texts = _as_texts(data)
    size = sum(len(text) for text in texts.flat)
    if size > MAX_TEXT_BYTES:
        raise ArgumentError(
            "data", f"has {size} characters; {MAX_TEXT_BYTES} are the most for a text"
        )
    return summary.text(tag, texts, **about)


def build_histogram(tag: str, data: object, buckets: object, **about: str) -> Message:
    return defer_histogram(tag, data, buckets, **about)[0]()


def defer_histogram(
    tag: str, data: object, buckets: object, **about: str
) -> tuple[Callable[[], Message], int]:
    """What builds the histogram of the numbers as they are now, and how many bytes it holds."""
    count = _as_count(buckets, "buckets", least=0)
    numbers = acquire_copy(as_numbers(data))

    def build() -> Message:
        spread = compute_uniform_histogram(numbers, count)
        release_copy(numbers)
        array = np.stack([spread.edges[:-1], spread.edges[1:], spread.counts], axis=1)
        if not spread.num:
            array = np.zeros((count, 3))
        content = proto.HistogramPluginData(totals=build_histogram_totals(spread))
        metadata = summary.make_metadata("histograms", content, **about)
        # Known by the plugin; TensorFlow leaves it out as well.
        metadata.ClearField("data_class")
        return summary.tensor(tag, array, metadata)

    return build, numbers.nbytes


def build_histogram_totals(spread: HistogramCounts) -> Message:
    """What is known of all numbers, for readers that look for it."""
    return proto.HistogramTotals(
        min=spread.min,
        max=spread.max,
        num=spread.num,
        sum=spread.sum,
        sum_squares=spread.sum_squares,
        nan=spread.nan,
        positive_infinity=spread.positive_infinity,
        negative_infinity=spread.negative_infinity,
    )


def build_mesh(
    name: str,
    vertices: object,
    faces: object | None,
    colors: object | None,
    config: Mapping[str, Any] | None,
    **about: str,
) -> list[Message]:
    points = _as_triples(vertices, "vertices")
    triangles = None if faces is None else _as_triples(faces, "faces")
    shades = None if colors is None else as_pixels(_as_triples(colors, "colors"))
    if triangles is not None and (triangles.min() < 0 or triangles.max() >= points.shape[1]):
        raise ArgumentError(
            "faces", f"name vertices that are not there; there are {points.shape[1]}"
        )
    if shades is not None and shades.shape != points.shape:
        raise ArgumentError(
            "colors", f"has shape {list(shades.shape)}, vertices {list(points.shape)}"
        )
    return summary.mesh(name, points, triangles, shades, config=config, **about)


def build_pr_curve(
    tag: str,
    labels: object,
    predictions: object,
    num_thresholds: object,
    weights: object | None,
    **about: str,
) -> Message:
    truth = as_numbers(labels, "labels").reshape(-1)
    scores = as_numbers(predictions, "predictions").reshape(-1).astype(np.float64)
    weight = np.ones(1) if weights is None else as_numbers(weights, "weights").reshape(-1)
    if truth.shape != scores.shape or weight.size not in (1, truth.size):
        sizes = f"{truth.size} labels, {scores.size} predictions, {weight.size} weights"
        raise ArgumentError("predictions", f"and the rest must be as many: {sizes}")
    if not np.isfinite(scores).all():
        raise ArgumentError("predictions", "must be in [0, 1], but some are not finite")
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        warn_or_raise("predictions", "must be in [0, 1]; they were clipped")
    thresholds = _as_count(num_thresholds, "num_thresholds", least=2)
    scores = np.clip(scores, 0, 1)
    return summary.pr_curve(tag, truth, scores, weights=weight, thresholds=thresholds, **about)


def build_tensor(tag: str, data: object, **about: str) -> Message:
    array = as_array(data)
    if array.nbytes > MAX_TENSOR_BYTES:
        raise ArgumentError("data", f"takes {array.nbytes} bytes; {MAX_TENSOR_BYTES} are the most")
    return summary.tensor(tag, array, summary.make_metadata("", **about))


def _as_texts(data: object) -> NDArray[np.object_]:
    if isinstance(data, (str, bytes)):
        # Not through numpy: its own strings would take four bytes a character.
        texts = np.empty((), object)
        texts[()] = data
        return texts
    try:
        array = np.asarray(data, object)
    except ValueError as error:
        raise ArgumentError("data", f"must be a text or an array of texts: {error}") from error
    if not array.size:
        raise ArgumentError("data", "is empty; give a text or an array of texts")
    for text in array.flat:
        if not isinstance(text, (str, bytes)):
            raise ArgumentError(
                "data", f"must be a text or an array of texts, not {type(text).__name__}"
            )
    return array


def _as_triples(data: object, argument: str) -> NDArray[Any]:
    array = as_numbers(data, argument)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[-1] != 3 or not array.size:
        raise ArgumentError(argument, f"has shape {list(array.shape)}; give [k, n, 3] or [n, 3]")
    return array


def _as_count(value: object, argument: str, *, least: int) -> int:
    count = as_number(value, argument)
    if count != int(count) or count < least:
        raise ArgumentError(argument, f"must be an int of at least {least}, not {count:g}")
    return int(count)


# Layouts of charts in the forms that programs have them in.

_LAYOUT_FORM = (
    '{"category": {"title": ["Multiline", ["loss/.*"]]}}, with "Margin" for bands of three tags'
)


def build_layout(data: Any) -> Message:
    """From TensorBoard's message, torch's nested dicts, or lists of Multiline and Margin."""
    if hasattr(data, "SerializeToString"):
        return tensor(LAYOUT_TAG, data.SerializeToString(), make_metadata("custom_scalars"))
    if not isinstance(data, Mapping):
        raise ArgumentError("layout", f"must be a dict such as {_LAYOUT_FORM}")
    return custom_scalars_layout(
        {str(title): _parse_charts(charts) for title, charts in data.items()}
    )


def _parse_charts(charts: Any) -> Sequence[MultilineChart | MarginChart]:
    if isinstance(charts, Mapping):
        return [_parse_chart(str(title), chart) for title, chart in charts.items()]
    if all(isinstance(chart, (MultilineChart, MarginChart)) for chart in charts):
        return list(charts)
    raise ArgumentError("layout", f"must be a dict such as {_LAYOUT_FORM}")


def _parse_chart(title: str, chart: Any) -> MultilineChart | MarginChart:
    match chart:
        case [str(kind), [*tags]] if kind.lower() == "multiline":
            return MultilineChart(title, tags)
        case [str(kind), [str(value), str(lower), str(upper)]] if kind.lower() == "margin":
            return MarginChart(title, [MarginSeries(value, lower, upper)])
    raise ArgumentError("layout", f'has a chart "{title}" of unknown form; give {_LAYOUT_FORM}')


# Graphs of programs in the forms that frameworks hand them out.

#: What readers want to see in the metadata of a graph that has a tag.
_GRAPH_CONTENT = b"1"


def encode_graph_event(graph: Any, step: int) -> bytes:
    """The event that holds a run's graph."""
    data: bytes = proto.Event(
        wall_time=time.time(), step=step, graph_def=_serialize_graph(graph)
    ).SerializeToString()
    return data


def build_keras_model(tag: str, model: Any) -> Message:
    """A Keras model's layers and how they are joined, as the JSON it gives of itself."""
    return build_graph_value(tag, "graph_keras_model", model.to_json().encode())


def build_graph_value(tag: str, plugin: str, content: bytes) -> Message:
    """A graph under a tag of its own; ``plugin`` says in which form."""
    # Without a data class: TensorBoard would take the value for a list that it is not.
    metadata = proto.SummaryMetadata(
        plugin_data=proto.PluginData(plugin_name=plugin.encode(), content=_GRAPH_CONTENT)
    )
    return tensor(tag, content, metadata)


def _serialize_graph(graph: Any) -> bytes:
    if isinstance(graph, (bytes, bytearray)):
        proto.parse("GraphDef", graph)
        return bytes(graph)
    if hasattr(graph, "as_graph_def"):
        graph = graph.as_graph_def(add_shapes=True)
    if not hasattr(graph, "SerializeToString"):
        raise ArgumentError("graph_data", f"must be a GraphDef, not a {type(graph).__name__}")
    data: bytes = graph.SerializeToString()
    return data
