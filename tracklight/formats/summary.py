"""Builds ``Summary.Value`` messages: what an event logs under one tag.

Every function takes a ``display_name`` and a ``description`` (Markdown) to be shown for the tag.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tracklight.errors import UsageError
from tracklight.formats import proto
from tracklight.formats.event import DATA_CLASS_OF_PLUGIN, DataClass
from tracklight.formats.legacy import WAV_ENCODING
from tracklight.formats.proto import Message
from tracklight.formats.tensor import encode

#: What precision and recall divide by where nothing was found.
_LEAST_COUNT = 1e-7


class MeshContent(IntEnum):
    """``MeshPluginData.content_type``; ``components`` has the bits of all that a mesh has."""

    VERTEX = 1
    FACE = 2
    COLOR = 3


def describe(
    plugin: str, content: Message | None = None, *, display_name: str = "", description: str = ""
) -> Message:
    """The metadata that says which plugin a tag belongs to; with no plugin, a plain tensor."""
    return proto.SummaryMetadata(
        plugin_data=proto.PluginData(
            plugin_name=plugin.encode(),
            content=b"" if content is None else content.SerializeToString(),
        ),
        display_name=display_name.encode(),
        summary_description=description.encode(),
        data_class=DATA_CLASS_OF_PLUGIN.get(plugin, DataClass.TENSOR),
    )


def tensor(tag: str, array: ArrayLike, metadata: Message | None = None) -> Message:
    """An array of any type."""
    metadata = describe("") if metadata is None else metadata
    return proto.Value(tag=tag.encode(), tensor=encode(array), metadata=metadata)


def scalar(tag: str, value: float, *, dtype: DTypeLike = np.float32, **about: str) -> Message:
    """One number. TensorBoard's default reader shows it only if it is a float32."""
    return tensor(tag, np.asarray(value, dtype), describe("scalars", **about))


def images(tag: str, encoded: Sequence[bytes], width: int, height: int, **about: str) -> Message:
    """Pictures of one size, each an encoded file such as `png.encode_png` makes."""
    size = [str(width).encode(), str(height).encode()]
    array = np.array([*size, *encoded], object)
    return tensor(tag, array, describe("images", proto.ImagePluginData(), **about))


def audio(tag: str, clips: Sequence[bytes], labels: Sequence[str] = (), **about: str) -> Message:
    """Clips of sound, each a WAV file, with a label each if any are given."""
    if labels and len(labels) != len(clips):
        raise UsageError(f"{len(labels)} labels for {len(clips)} clips; give one each, or none")
    content = proto.AudioPluginData(encoding=WAV_ENCODING)
    array = np.full((len(clips), 2), b"", object)
    array[:, 0] = clips
    if labels:
        array[:, 1] = [label.encode() for label in labels]
    return tensor(tag, array, describe("audio", content, **about))


def text(tag: str, texts: str | ArrayLike, **about: str) -> Message:
    """A Markdown text, or an array of them, which is shown as a table."""
    return tensor(tag, texts, describe("text", proto.TextPluginData(), **about))


def histogram(tag: str, numbers: ArrayLike, *, buckets: int = 30, **about: str) -> Message:
    """How numbers are spread, in buckets of one width. NaN and infinities are counted apart."""
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
    counts = _count(flat, low, high, buckets) if len(flat) else np.zeros((0, 3))
    return tensor(tag, counts, describe("histograms", content, **about))


def _count(numbers: NDArray[np.float64], low: float, high: float, buckets: int) -> NDArray[Any]:
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
    """Precision and recall of scores in [0, 1] at evenly spaced thresholds."""
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
        positives / np.maximum(_LEAST_COUNT, positives + negatives),
        positives / np.maximum(_LEAST_COUNT, positives + missed),
    ]
    content = proto.PrCurvePluginData(num_thresholds=thresholds)
    return tensor(tag, np.array(rows, np.float32), describe("pr_curves", content, **about))


def mesh(
    name: str,
    vertices: ArrayLike,
    faces: ArrayLike | None = None,
    colors: ArrayLike | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    **about: str,
) -> list[Message]:
    """Meshes of vertices [n, points, 3] with faces [n, triangles, 3], or point clouds without.

    Colours are given for each vertex. All three are values of their own, under tags of their own.
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
        metadata = describe("mesh", content, **about)
        values.append(tensor(f"{name}_{part.name}", array, metadata))
    return values
