"""Report differences between logs of tracklight and of the original writers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tests.writer.event_files import iter_events
from tracklight.formats.tensor import decode_tensor

#: Runs, their tags, and for each tag steps and values.
Contents: TypeAlias = dict[str, dict[str, list[tuple[int, Any]]]]


def iter_differences(theirs: Path, ours: Path, rtol: float) -> Iterator[str]:
    """Yield a sentence for each run and tag that differs.

    Numbers are compared with the tolerance ``rtol``. Graphs and speeds only have to exist.
    """
    left, right = read_contents(theirs), read_contents(ours)
    yield from (f"no run {run}" for run in left.keys() - right.keys())
    yield from (f"new run {run}" for run in right.keys() - left.keys())
    for run in left.keys() & right.keys():
        for tag in left[run].keys() | right[run].keys():
            difference = _compare(left[run].get(tag), right[run].get(tag), rtol)
            if difference:
                yield f"{run}: {difference} {tag}"


def read_contents(logdir: Path) -> Contents:
    runs: Contents = {}
    for directory in {path.parent for path in logdir.rglob("events.out.tfevents.*")}:
        tags = runs.setdefault(directory.relative_to(logdir).as_posix(), {})
        plugins: dict[str, bytes] = {}
        for event in iter_events(directory):
            if event.graph_def:
                tags.setdefault("(graph)", []).append((event.step, "a graph"))
            for value in event.summary.value:
                tag = value.tag.decode()
                plugin = plugins.setdefault(tag, value.metadata.plugin_data.plugin_name)
                tags.setdefault(tag, []).append((event.step, _extract(tag, value, plugin)))
    return runs


def _extract(tag: str, value: Any, plugin: bytes) -> Any:
    kind = value.WhichOneof("value")
    if plugin.startswith(b"graph"):
        return "a graph"
    if tag.endswith("steps_per_second"):
        return "a speed"
    if plugin == b"hparams":
        return len(value.metadata.plugin_data.content)
    if kind == "tensor":
        array = decode_tensor(value.tensor)
        if plugin == b"images":
            return [*array[:2].tolist(), *map(_read_pixels, array[2:].tolist())]
        return array.tolist() if array.dtype.kind == "O" else array
    if kind == "image":
        return _read_pixels(value.image.encoded_image_string)
    if kind == "histo":
        histogram = value.histo
        statistics = [
            histogram.min,
            histogram.max,
            histogram.num,
            histogram.sum,
            histogram.sum_squares,
        ]
        return np.array([*statistics, *histogram.bucket_limit, *histogram.bucket])
    return value.audio.encoded_audio_string if kind == "audio" else np.array(value.simple_value)


def _read_pixels(encoded: bytes) -> Any:
    from PIL import Image

    image = Image.open(io.BytesIO(encoded))
    # The palette of a GIF depends on the encoder.
    return image.size if image.format == "GIF" else np.asarray(image)


def _compare(
    left: list[tuple[int, Any]] | None, right: list[tuple[int, Any]] | None, rtol: float
) -> str:
    if left is None or right is None:
        return "no" if right is None else "new"
    if [step for step, _ in left] != [step for step, _ in right]:
        return "other steps of"
    values = zip(left, right, strict=True)
    return "" if all(_agree(a, b, rtol) for (_, a), (_, b) in values) else "other values of"


def _agree(left: Any, right: Any, rtol: float) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=True)
        return len(left) == len(right) and all(_agree(a, b, rtol) for a, b in pairs)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        if left.shape != right.shape or left.dtype != right.dtype:
            return False
        # Values near zero may have the absolute error of larger intermediate values.
        return bool(np.allclose(left, right, rtol=rtol, atol=rtol / 10, equal_nan=True))
    return bool(left == right)
