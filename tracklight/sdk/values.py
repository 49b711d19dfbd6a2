"""Builds what `tracklight.summary` logs from what programs pass to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.sdk.arrays import as_array, as_number, as_numbers
from tracklight.sdk.histogram import Spread, spread_uniform
from tracklight.sdk.lenient import Misuse, complain
from tracklight.sdk.pictures import as_pixels, encode_pictures
from tracklight.sdk.scratch import give_back, take_copy
from tracklight.sdk.sounds import encode_clips

#: A text beyond this is of no use to anyone who would have to scroll through it.
MAX_TEXT_BYTES = 64 << 20
#: protobuf cannot hold twice as much.
MAX_TENSOR_BYTES = 1 << 30


def build_scalar(tag: str, data: object, **about: str) -> Message:
    return summary.scalar(tag, as_number(data), **about)


def build_images(tag: str, data: object, max_outputs: int, **about: str) -> Message:
    pictures = encode_pictures(data, max_outputs)
    encoded = [picture.encoded for picture in pictures]
    return summary.images(tag, encoded, pictures[0].width, pictures[0].height, **about)


def build_audio(
    tag: str, data: object, sample_rate: object, max_outputs: int, **about: str
) -> Message:
    return summary.audio(tag, encode_clips(data, sample_rate, max_outputs), **about)


def build_text(tag: str, data: object, **about: str) -> Message:
    texts = _as_texts(data)
    size = sum(len(text) for text in texts.flat)
    if size > MAX_TEXT_BYTES:
        raise Misuse("data", f"has {size} characters; {MAX_TEXT_BYTES} are the most for a text")
    return summary.text(tag, texts, **about)


def build_histogram(tag: str, data: object, buckets: object, **about: str) -> Message:
    return put_off_histogram(tag, data, buckets, **about)[0]()


def put_off_histogram(
    tag: str, data: object, buckets: object, **about: str
) -> tuple[Callable[[], Message], int]:
    """What builds the histogram of the numbers as they are now, and how many bytes it holds."""
    count = _as_count(buckets, "buckets", least=0)
    numbers = take_copy(as_numbers(data))

    def build() -> Message:
        spread = spread_uniform(numbers, count)
        give_back(numbers)
        array = np.stack([spread.edges[:-1], spread.edges[1:], spread.counts], axis=1)
        if not spread.num:
            array = np.zeros((count, 3))
        content = proto.HistogramPluginData(totals=make_totals(spread))
        metadata = summary.describe("histograms", content, **about)
        # Known by the plugin; TensorFlow leaves it out as well.
        metadata.ClearField("data_class")
        return summary.tensor(tag, array, metadata)

    return build, numbers.nbytes


def make_totals(spread: Spread) -> Message:
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
        raise Misuse("faces", f"name vertices that are not there; there are {points.shape[1]}")
    if shades is not None and shades.shape != points.shape:
        raise Misuse("colors", f"has shape {list(shades.shape)}, vertices {list(points.shape)}")
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
        raise Misuse("predictions", f"and the rest must be as many: {sizes}")
    if not np.isfinite(scores).all():
        raise Misuse("predictions", "must be in [0, 1], but some are not finite")
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        complain("predictions", "must be in [0, 1]; they were clipped")
    thresholds = _as_count(num_thresholds, "num_thresholds", least=2)
    scores = np.clip(scores, 0, 1)
    return summary.pr_curve(tag, truth, scores, weights=weight, thresholds=thresholds, **about)


def build_tensor(tag: str, data: object, **about: str) -> Message:
    array = as_array(data)
    if array.nbytes > MAX_TENSOR_BYTES:
        raise Misuse("data", f"takes {array.nbytes} bytes; {MAX_TENSOR_BYTES} are the most")
    return summary.tensor(tag, array, summary.describe("", **about))


def _as_texts(data: object) -> NDArray[np.object_]:
    if isinstance(data, (str, bytes)):
        # Not through numpy: its own strings would take four bytes a character.
        texts = np.empty((), object)
        texts[()] = data
        return texts
    try:
        array = np.asarray(data, object)
    except ValueError as error:
        raise Misuse("data", f"must be a text or an array of texts: {error}") from error
    if not array.size:
        raise Misuse("data", "is empty; give a text or an array of texts")
    for text in array.flat:
        if not isinstance(text, (str, bytes)):
            raise Misuse("data", f"must be a text or an array of texts, not {type(text).__name__}")
    return array


def _as_triples(data: object, argument: str) -> NDArray[Any]:
    array = as_numbers(data, argument)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[-1] != 3 or not array.size:
        raise Misuse(argument, f"has shape {list(array.shape)}; give [k, n, 3] or [n, 3]")
    return array


def _as_count(value: object, argument: str, *, least: int) -> int:
    count = as_number(value, argument)
    if count != int(count) or count < least:
        raise Misuse(argument, f"must be an int of at least {least}, not {count:g}")
    return int(count)
