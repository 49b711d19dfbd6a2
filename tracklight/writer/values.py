"""Build ``Summary.Value`` messages from the arguments of logging calls.

Used by `tracklight.summary` and, where PyTorch's format is the same, by `tracklight.torch`. The
keyword arguments of the ``build_*`` functions (``description``) go into the metadata. All of them
raise `ArgumentError` for data that cannot be logged.

Histograms have uniform (TensorFlow 2) or exponential (TensorFlow 1, PyTorch) buckets. NaN and
infinities are counted separately and do not affect edges or sums. Counting is done by a compiled
kernel where it is available, otherwise by NumPy. `acquire_copy` copies the input into pooled
memory, so that the writer thread can count it later.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from tracklight.writer import as_array, as_number, as_numbers
from tracklight.writer.media import as_pixels, encode_audio_clips, encode_images
from tracklight.writer.warnings import ArgumentError, warn_or_raise

# ---- histograms

Floats = NDArray[np.float64]

#: float32 or float64; not converted, because converting takes as long as counting.
Reals = NDArray[Any]

_MIN_BUCKET_EDGE = 1e-12
_MAX_BUCKET_EDGE = 1e20
#: Differences of larger numbers may overflow, so they are scaled down before counting.
_MAX_UNSCALED = 1e300
_SCALE = 2.0**-100

#: Smaller arrays are cached by Python's allocator; larger ones are too much to keep.
_POOLED_SIZES = range(64 << 10, 4 << 20)
#: Enough for the layers of a model that are logged in quick succession.
_MAX_POOL_BYTES = 16 << 20
_pool: deque[NDArray[np.uint8]] = deque()


@dataclass(frozen=True, slots=True)
class HistogramCounts:
    """Bucket edges and counts, and statistics of all finite numbers."""

    edges: Floats
    counts: Floats
    min: float
    max: float
    num: int
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


@dataclass(frozen=True, slots=True)
class _FiniteValues:
    """The finite numbers of an array, their statistics, and the number of others."""

    numbers: Reals
    low: float
    high: float
    sum: float
    sum_squares: float
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0


def compute_uniform_histogram(numbers: NDArray[Any], buckets: int) -> HistogramCounts:
    """Count numbers in buckets of equal width, as TensorFlow 2 does.

    Args:
        numbers: An array of any shape.
        buckets: Number of buckets. They are half open, except for the last one, which is closed.

    Returns:
        The histogram; all edges are 0 if there are no finite numbers.
    """
    finite = _split_finite(numbers)
    largest = max(abs(finite.low), abs(finite.high))
    scale = _SCALE if largest > _MAX_UNSCALED else 1.0
    low, high = finite.low * scale, finite.high * scale
    edges = np.linspace(low, high, buckets + 1) / scale
    counts = np.zeros(buckets, np.int64)
    if low < high and buckets:
        scaled = finite.numbers if scale == 1.0 else np.asarray(finite.numbers * scale)
        counts = count_uniform(scaled, low, (high - low) / buckets, buckets)
    elif buckets:
        counts[-1] = finite.numbers.size
    return _build_counts(finite, edges, counts)


def compute_exponential_histogram(numbers: NDArray[Any]) -> HistogramCounts:
    """Count numbers in buckets whose limits grow by a factor of 1.1, as TensorFlow 1 does.

    Empty buckets at both ends are removed, except for one at the start.
    """
    finite = _split_finite(numbers)
    inner = compute_exponential_edges()
    counts = np.zeros(inner.size + 1, np.int64)
    count_exponential(finite.numbers, counts)
    edges = np.concatenate([[min(finite.low, inner[0])], inner, [max(finite.high, inner[-1])]])
    used = np.flatnonzero(counts)
    first, last = (used[0], used[-1]) if used.size else (counts.size // 2, counts.size // 2)
    start = max(0, first - 1)
    return _build_counts(finite, edges[start : last + 2], counts[start : last + 1])


@functools.cache
def compute_exponential_limits() -> Floats:
    """Return the positive limits, multiplied repeatedly to reproduce TensorFlow's rounding."""
    limits = []
    limit = _MIN_BUCKET_EDGE
    while limit < _MAX_BUCKET_EDGE:
        limits.append(limit)
        limit *= 1.1
    return np.array(limits)


@functools.cache
def compute_exponential_edges() -> Floats:
    """Return the negated limits, zero, and the limits."""
    limits = compute_exponential_limits()
    return np.concatenate([-limits[::-1], [0.0], limits])


def _split_finite(numbers: NDArray[Any]) -> _FiniteValues:
    kind = np.float32 if numbers.dtype == np.float32 else np.float64
    flat = np.ascontiguousarray(numbers, kind).reshape(-1)
    totals = compute_totals(flat)
    if np.isfinite(totals[-1]):
        return _FiniteValues(flat, *totals)
    finite = flat[np.isfinite(flat)]
    others = np.isnan(flat).sum(), np.isposinf(flat).sum(), np.isneginf(flat).sum()
    return _FiniteValues(finite, *compute_totals(finite), *map(int, others))


def _build_counts(
    finite: _FiniteValues, edges: Floats, counts: NDArray[np.int64]
) -> HistogramCounts:
    return HistogramCounts(
        edges,
        counts.astype(np.float64),
        finite.low,
        finite.high,
        finite.numbers.size,
        finite.sum,
        finite.sum_squares,
        finite.nan,
        finite.positive_infinity,
        finite.negative_infinity,
    )


def acquire_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy in pooled memory; pass it to `release_copy` when it is not needed.

    Page faults of newly allocated memory cost more than the copying itself. The copy is not left in
    the caches of the processor: the writer thread reads it later.
    """
    if array.nbytes not in _POOLED_SIZES:
        return np.array(array)
    memory = _acquire_memory(array.nbytes)[: array.nbytes]
    copy = memory.view(array.dtype).reshape(array.shape)
    if array.flags.c_contiguous:
        copy_bytes(array.reshape(-1).view(np.uint8), memory)
    else:
        np.copyto(copy, array)
    return copy


def release_copy(copy: NDArray[Any]) -> None:
    """Return the memory of a copy to the pool. The copy must not be used afterwards."""
    memory = copy.base
    if isinstance(memory, np.ndarray):
        pooled_bytes = sum(pooled.nbytes for pooled in _pool.copy())
        if pooled_bytes + memory.nbytes <= _MAX_POOL_BYTES:
            _pool.append(memory)


def _acquire_memory(size_bytes: int) -> NDArray[np.uint8]:
    for _ in range(len(_pool)):
        try:
            memory = _pool.pop()  # the latest one, which may be in the caches of the processor
        except IndexError:  # another thread emptied the pool
            break
        if size_bytes <= memory.nbytes <= 2 * size_bytes:
            return memory
        _pool.appendleft(memory)
    return np.empty(size_bytes, np.uint8)


def copy_bytes_numpy(source: NDArray[np.uint8], target: NDArray[np.uint8]) -> None:
    np.copyto(target, source)


def compute_totals_numpy(numbers: Reals) -> tuple[float, float, float, float]:
    """Return minimum, maximum, sum and sum of squares."""
    if not numbers.size:
        return 0.0, 0.0, 0.0, 0.0
    wide = numbers.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        # Not `dot`: it uses BLAS threads, which would compete with the training.
        sums = float(wide.sum()), float(np.einsum("i,i->", wide, wide))
    return float(numbers.min()), float(numbers.max()), *sums


def count_uniform_numpy(values: Reals, low: float, width: float, buckets: int) -> NDArray[np.int64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = (values.astype(np.float64, copy=False) - low) / width
    # The comparison is false for NaN (the width may be 0), which thus goes to the last bucket.
    at = np.where(at < buckets - 1, at, buckets - 1).astype(np.int64)
    return np.bincount(at, minlength=buckets)


def _compute_totals_compiled(numbers: Reals) -> tuple[float, float, float, float]:
    return _encode.sum_up(numbers)


def _count_uniform_compiled(
    values: Reals, low: float, width: float, buckets: int
) -> NDArray[np.int64]:
    counts = np.zeros((_encode.ROWS, buckets), np.int64)
    _encode.count_uniform(values, low, width, counts)
    return np.asarray(counts.sum(axis=0))


def count_exponential_numpy(values: Reals, counts: NDArray[np.int64]) -> None:
    counts += np.bincount(
        np.searchsorted(compute_exponential_edges(), values, "right"), minlength=counts.size
    )


def _count_exponential_compiled(values: Reals, counts: NDArray[np.int64]) -> None:
    _encode.count_exponential(values, *_make_cells(), counts)


@functools.cache
def _make_cells() -> tuple[Floats, NDArray[np.int16]]:
    """Return the edges and the lookup table that the compiled kernel needs."""
    edges = np.append(compute_exponential_edges(), np.nan)  # a sentinel that no number reaches
    cells = np.zeros(_encode.CELLS, np.int16)
    _encode.fill_cells(edges, cells)
    return edges, cells


try:
    from tracklight.formats import _encode
    from tracklight.formats._encode import copy_past_caches as copy_bytes

    compute_totals = _compute_totals_compiled
    count_uniform = _count_uniform_compiled
    count_exponential = _count_exponential_compiled
except ImportError:
    copy_bytes = copy_bytes_numpy
    compute_totals = compute_totals_numpy
    count_uniform = count_uniform_numpy
    count_exponential = count_exponential_numpy


# ---- values

#: Longer texts are rejected: they cannot be read in a browser.
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
    if type(value) is int and value >= minimum:  # the usual case
        return value
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
