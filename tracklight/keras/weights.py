"""Numbers out of what Keras keeps on some device."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.projector import (
    EmbeddingInfo,
    ProjectorConfig,
    format_vectors,
    visualize_embeddings,
)
from tracklight.writer.arguments import as_number, as_numbers
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.media import encode_pixels
from tracklight.writer.values import defer_histogram
from tracklight.writer.warnings import ArgumentError, warn_or_raise


def read_variable(variable: Any, name: str) -> NDArray[Any]:
    """The numbers of a variable, on any backend."""
    import keras

    # Not by the variable's own way to numpy, for which numpy 2 warns.
    return as_numbers(keras.ops.convert_to_numpy(variable), name)


def read_number(variable: Any, name: str) -> float:
    return as_number(read_variable(variable, name), name)


# Weights of a model as histograms and as pictures.

Pixels = NDArray[np.uint8]

#: As Keras's own callback has them.
_BUCKETS = 30

#: A picture beyond this is thinned out.
_MAX_SIDE_PX = 1024

_MAX_TILES = 256

#: A bias is drawn as a strip, no longer than this many times its height.
_STRIP_RATIO = 16

_ZERO_LEVEL = 128


def log_weights(writer: EventWriter, model: Any, step: int, *, with_images: bool) -> None:
    """Log every weight of the model's layers under the path that Keras gives it."""
    for name, array in iter_weights(model):
        build, size_bytes = defer_histogram(f"{name}/histogram", array, _BUCKETS)
        writer.add_later(build, step, size_bytes=size_bytes, always_write_metadata=True)
        if with_images:
            writer.add([_build_image(f"{name}/image", array)], step)


def iter_weights(model: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Name and numbers of every weight, each one once though layers may share it."""
    seen = set()
    for layer in model.layers:
        for weight in layer.weights:
            if id(weight) not in seen:
                seen.add(id(weight))
                path = getattr(weight, "path", None) or weight.name
                yield path.replace(":", "_"), read_variable(weight, "weights")


def render_weight(array: NDArray[Any]) -> Pixels:
    """A picture of a weight of any rank, in which 0 is grey and the largest is black or white.

    A vector is a strip, a matrix is itself, lying down; a kernel is a sheet of its filters.
    """
    squeezed = np.squeeze(array)
    if squeezed.ndim < 2:
        return _render_vector(squeezed.reshape(-1))
    if squeezed.ndim == 2:
        lying = squeezed if squeezed.shape[0] <= squeezed.shape[1] else squeezed.T
        return _to_gray(_downsample(lying))
    return _render_kernel(squeezed)


def _build_image(tag: str, array: NDArray[Any]) -> Any:
    from tracklight.formats.summary import images

    picture = encode_pixels(render_weight(array))
    return images(tag, [picture.encoded], picture.width, picture.height)


def _render_vector(vector: NDArray[Any]) -> Pixels:
    row = _to_gray(_downsample(vector[None]))
    return np.repeat(row, math.ceil(row.shape[1] / _STRIP_RATIO) or 1, axis=0)


def _render_kernel(kernel: NDArray[Any]) -> Pixels:
    """Tiles with a line between them; in the layout of Keras the last axis has the filters."""
    filters = np.moveaxis(kernel, -1, 0)
    # A filter of a picture has its height and width first, and then what it reads from.
    depth = math.prod(filters.shape[3:])
    tiles = np.moveaxis(filters.reshape(*filters.shape[:3], depth), -1, 1)
    tiles = tiles.reshape(-1, *filters.shape[1:3])[:_MAX_TILES]
    tiles = _to_gray(tiles[:, :_MAX_SIDE_PX, :_MAX_SIDE_PX])
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    height, width = tiles.shape[1] + 1, tiles.shape[2] + 1
    sheet = np.full((rows * height - 1, columns * width - 1), 0, np.uint8)
    for place, tile in enumerate(tiles):
        top, left = place // columns * height, place % columns * width
        sheet[top : top + height - 1, left : left + width - 1] = tile
    return _downsample(sheet)


def _downsample(matrix: NDArray[Any]) -> NDArray[Any]:
    down, across = (math.ceil(side / _MAX_SIDE_PX) or 1 for side in matrix.shape)
    return matrix[::down, ::across]


def _to_gray(array: NDArray[Any]) -> Pixels:
    numbers = np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    scaled = numbers * (127 / largest) if largest else numbers
    return np.asarray(np.rint(scaled) + _ZERO_LEVEL, np.uint8)


# Embedding layers as files that the projector can open without a checkpoint.

_EMBEDDINGS_DIR = "embeddings"


class EmbeddingLogger:
    """Writes what the embedding layers of a model hold, epoch by epoch, beside a run's events.

    All goes into the folder of the run itself: readers only look for a config where there are
    events, and refuse paths that lead out of there.
    """

    def __init__(self, folder: str, log_dir: str, metadata: str | dict[str, str]) -> None:
        if "://" in folder:
            raise ArgumentError("embeddings_freq", f"needs a local `log_dir`, not {log_dir}")
        self._folder = Path(folder)
        self._log_dir = Path(log_dir)
        self._metadata = metadata
        self._infos: list[EmbeddingInfo] = []

    def check(self, model: Any) -> None:
        """Tell of labels for layers that are not there."""
        names = {layer.name for layer in iter_embedding_layers(model)}
        unknown = set(self._metadata) - names if isinstance(self._metadata, dict) else set()
        if unknown:
            there = ", ".join(sorted(names)) or "none"
            sentence = f"names no embedding layer: {', '.join(sorted(unknown))}; there are {there}"
            warn_or_raise("embeddings_metadata", sentence)

    def log(self, model: Any, epoch: int) -> None:
        (self._folder / _EMBEDDINGS_DIR).mkdir(parents=True, exist_ok=True)
        added = [self._write(layer, epoch) for layer in iter_embedding_layers(model)]
        names = {info.tensor_name for info in added}
        # The newest first, because that is what a reader opens by itself.
        self._infos = added + [info for info in self._infos if info.tensor_name not in names]
        config = ProjectorConfig()
        config.embeddings.extend(self._infos)
        visualize_embeddings(self._folder, config)

    def _write(self, layer: Any, epoch: int) -> EmbeddingInfo:
        vectors = read_variable(layer.embeddings, "embeddings").astype("<f4")
        name = f"{layer.name}:{epoch:05}"
        stem = re.sub(r"[^\w.-]", "_", f"{layer.name}-{epoch:05}")
        info = EmbeddingInfo(tensor_name=name, tensor_shape=list(vectors.shape))
        info.tensor_path = (
            f"{_EMBEDDINGS_DIR}/{_write_tensor(self._folder / _EMBEDDINGS_DIR / stem, vectors)}"
        )
        info.metadata_path = self._copy_metadata(layer.name)
        return info

    def _copy_metadata(self, layer: str) -> str:
        given = self._metadata if isinstance(self._metadata, str) else self._metadata.get(layer)
        if not given:
            return ""
        source = self._log_dir / os.path.expanduser(given)
        if not source.is_file():
            warn_or_raise("embeddings_metadata", f"names {source}, which is not there")
            return ""
        target = self._folder / _EMBEDDINGS_DIR / source.name
        shutil.copyfile(source, target)
        return f"{_EMBEDDINGS_DIR}/{source.name}"


def iter_embedding_layers(model: Any) -> Iterator[Any]:
    """Every embedding layer of a model and of the models inside it, once built."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.layers.Embedding):
            if layer.built:
                yield layer
        elif hasattr(layer, "layers"):
            yield from iter_embedding_layers(layer)


def _write_tensor(path: Path, vectors: NDArray[np.float32]) -> str:
    """Write a file of raw numbers, or of text where a reader would take the numbers for text."""
    raw = vectors.tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError:
        file = path.with_name(f"{path.name}.bytes")
        file.write_bytes(raw)
    else:
        file = path.with_name(f"{path.name}.tsv")
        file.write_text(format_vectors(vectors), encoding="utf-8")
    return file.name
