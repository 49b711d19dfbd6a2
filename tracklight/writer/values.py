"""Build ``Summary.Value`` messages from the arguments of logging calls.

Used by `tracklight.summary` and, where PyTorch's format is the same, by `tracklight.torch`. The
keyword arguments of the ``build_*`` functions (``description``) go into the metadata. All of them
raise `ArgumentError` for data that cannot be logged.
"""

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

#: Longer texts are rejected: nobody can read them in a browser.
MAX_TEXT_BYTES = 64 << 20
#: protobuf messages are limited to 2 GiB.
MAX_TENSOR_BYTES = 1 << 30

_LAYOUT_FORM = (
    '{"category": {"title": ["Multiline", ["loss/.*"]]}}, with "Margin" for bands of three tags'
)
#: TensorBoard requires this content in the metadata of a graph that is logged under a tag.
_GRAPH_CONTENT = b"1"


def build_scalar(tag: str, data: object, **metadata: str) -> Message:
    return summary.scalar(tag, as_number(data), **metadata)


def build_images(tag: str, data: object, max_outputs: int, **metadata: str) -> Message:
    images = encode_images(data, max_outputs)
    encoded = [image.encoded for image in images]
    return summary.images(tag, encoded, images[0].width, images[0].height, **metadata)


def build_audio(
    tag: str, data: object, sample_rate: object, max_outputs: int, **metadata: str
) -> Message:
    return summary.audio(tag, encode_audio_clips(data, sample_rate, max_outputs), **metadata)


def build_text(tag: str, data: object, **metadata: str) -> Message:
    texts = _as_texts(data)
    size = sum(len(text) for text in texts.flat)
    if size > MAX_TEXT_BYTES:
        raise ArgumentError("data", f"has {size} characters; the maximum is {MAX_TEXT_BYTES}")
    return summary.text(tag, texts, **metadata)


def build_histogram(tag: str, data: object, buckets: object, **metadata: str) -> Message:
    return defer_histogram(tag, data, buckets, **metadata)[0]()


def defer_histogram(
    tag: str, data: object, buckets: object, **metadata: str
) -> tuple[Callable[[], Message], int]:
    """Copy the data, so that the histogram can be built later by the writer thread.

    Returns:
        A function that builds the message, to be called once, and the number of bytes that it
        keeps in memory.
    """
    count = _as_count(buckets, "buckets", minimum=0)
    numbers = acquire_copy(as_numbers(data))

    def build() -> Message:
        histogram = compute_uniform_histogram(numbers, count)
        release_copy(numbers)
        array = np.stack([histogram.edges[:-1], histogram.edges[1:], histogram.counts], axis=1)
        if not histogram.num:
            array = np.zeros((count, 3))
        content = proto.HistogramPluginData(totals=build_histogram_totals(histogram))
        message = summary.make_metadata("histograms", content, **metadata)
        # Implied by the plugin; TensorFlow omits it as well.
        message.ClearField("data_class")
        return summary.tensor(tag, array, message)

    return build, numbers.nbytes


def build_histogram_totals(histogram: HistogramCounts) -> Message:
    """Return the statistics of all numbers, an extension that TensorBoard ignores."""
    return proto.HistogramTotals(
        min=histogram.min,
        max=histogram.max,
        num=histogram.num,
        sum=histogram.sum,
        sum_squares=histogram.sum_squares,
        nan=histogram.nan,
        positive_infinity=histogram.positive_infinity,
        negative_infinity=histogram.negative_infinity,
    )


def build_mesh(
    name: str,
    vertices: object,
    faces: object | None,
    colors: object | None,
    config: Mapping[str, Any] | None,
    **metadata: str,
) -> list[Message]:
    points = _as_triples(vertices, "vertices")
    triangles = None if faces is None else _as_triples(faces, "faces")
    rgb = None if colors is None else as_pixels(_as_triples(colors, "colors"))
    if triangles is not None and (triangles.min() < 0 or triangles.max() >= points.shape[1]):
        raise ArgumentError(
            "faces", f"must be vertex indices below {points.shape[1]}, the number of vertices"
        )
    if rgb is not None and rgb.shape != points.shape:
        raise ArgumentError(
            "colors",
            f"must have the shape of vertices, {list(points.shape)}, not {list(rgb.shape)}",
        )
    return summary.mesh(name, points, triangles, rgb, config=config, **metadata)


def build_pr_curve(
    tag: str,
    labels: object,
    predictions: object,
    num_thresholds: object,
    weights: object | None,
    **metadata: str,
) -> Message:
    truth = as_numbers(labels, "labels").reshape(-1)
    scores = as_numbers(predictions, "predictions").reshape(-1).astype(np.float64)
    weight = np.ones(1) if weights is None else as_numbers(weights, "weights").reshape(-1)
    if truth.shape != scores.shape or weight.size not in (1, truth.size):
        sizes = f"{truth.size} labels, {scores.size} predictions, {weight.size} weights"
        raise ArgumentError("predictions", f"must match labels and weights in size: {sizes}")
    if not np.isfinite(scores).all():
        raise ArgumentError("predictions", "must be in [0, 1], but contains NaN or infinite values")
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        warn_or_raise("predictions", "must be in [0, 1]; they were clipped")
    thresholds = _as_count(num_thresholds, "num_thresholds", minimum=2)
    scores = np.clip(scores, 0, 1)
    return summary.pr_curve(tag, truth, scores, weights=weight, thresholds=thresholds, **metadata)


def build_tensor(tag: str, data: object, **metadata: str) -> Message:
    array = as_array(data)
    if array.nbytes > MAX_TENSOR_BYTES:
        raise ArgumentError("data", f"has {array.nbytes} bytes; the maximum is {MAX_TENSOR_BYTES}")
    return summary.tensor(tag, array, summary.make_metadata("", **metadata))


def _as_texts(data: object) -> NDArray[np.object_]:
    if isinstance(data, (str, bytes)):
        # Not as a NumPy string, which takes four bytes per character.
        texts = np.empty((), object)
        texts[()] = data
        return texts
    try:
        array = np.asarray(data, object)
    except ValueError as error:
        raise ArgumentError("data", f"must be a string or an array of strings: {error}") from error
    if not array.size:
        raise ArgumentError("data", "is empty; pass a string or an array of strings")
    for text in array.flat:
        if not isinstance(text, (str, bytes)):
            raise ArgumentError(
                "data", f"must be a string or an array of strings, not {type(text).__name__}"
            )
    return array


def _as_triples(data: object, argument: str) -> NDArray[Any]:
    array = as_numbers(data, argument)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[-1] != 3 or not array.size:
        raise ArgumentError(
            argument, f"has shape {list(array.shape)}; expected [k, n, 3] or [n, 3]"
        )
    return array


def _as_count(value: object, argument: str, *, minimum: int) -> int:
    count = as_number(value, argument)
    if count != int(count) or count < minimum:
        raise ArgumentError(argument, f"must be an int of at least {minimum}, not {count:g}")
    return int(count)


def build_layout(data: Any) -> Message:
    """Build the value of a custom scalars layout.

    Args:
        data: TensorBoard's ``Layout`` message, nested dicts in PyTorch's form, or a dict of lists
            of charts.
    """
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
    raise ArgumentError("layout", f'has an invalid chart "{title}"; expected {_LAYOUT_FORM}')


def encode_graph_event(graph: Any, step: int) -> bytes:
    """Return a serialized event with a graph: a GraphDef, its bytes or a ``tf.Graph``."""
    data: bytes = proto.Event(
        wall_time=time.time(), step=step, graph_def=_serialize_graph(graph)
    ).SerializeToString()
    return data


def build_keras_model(tag: str, model: Any) -> Message:
    """Build the value of a Keras model from its ``to_json()``."""
    return build_graph_value(tag, "graph_keras_model", model.to_json().encode())


def build_graph_value(tag: str, plugin: str, content: bytes) -> Message:
    """Build the value of a graph that is logged under a tag; ``plugin`` determines the format."""
    # No data class: with one, TensorBoard would expect a list.
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
