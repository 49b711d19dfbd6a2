"""Log the weights of a model as histograms and images, and its embeddings for the projector."""

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

Pixels = NDArray[np.uint8]

#: The number of buckets of Keras's own callback.
_BUCKETS = 30
#: Larger images are downsampled.
_MAX_SIDE_PX = 1024
_MAX_TILES = 256
#: A bias is drawn as a strip of at most this aspect ratio.
_STRIP_RATIO = 16
#: The gray level of zero.
_ZERO_LEVEL = 128

_EMBEDDINGS_DIR = "embeddings"


def log_weights(writer: EventWriter, model: Any, step: int, *, with_images: bool) -> None:
    """Log histograms, and optionally images, of all weights under their Keras paths."""
    for name, array in iter_weights(model):
        build, size_bytes = defer_histogram(f"{name}/histogram", array, _BUCKETS)
        writer.add_later(build, step, size_bytes=size_bytes, always_write_metadata=True)
        if with_images:
            writer.add([_build_image(f"{name}/image", array)], step)


def iter_weights(model: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and values of every weight; weights shared by layers once."""
    seen = set()
    for layer in model.layers:
        for weight in layer.weights:
            if id(weight) not in seen:
                seen.add(id(weight))
                path = getattr(weight, "path", None) or weight.name
                yield path.replace(":", "_"), read_variable(weight, "weights")


def render_weight(array: NDArray[Any]) -> Pixels:
    """Render a weight of any rank in gray: 0 is medium gray, the largest value black or white.

    A vector becomes a strip, a matrix is shown in landscape format, and a kernel becomes a grid of
    its filters.
    """
    squeezed = np.squeeze(array)
    if squeezed.ndim < 2:
        return _render_vector(squeezed.reshape(-1))
    if squeezed.ndim == 2:
        landscape = squeezed if squeezed.shape[0] <= squeezed.shape[1] else squeezed.T
        return _to_gray(_downsample(landscape))
    return _render_kernel(squeezed)


def _build_image(tag: str, array: NDArray[Any]) -> Any:
    from tracklight.formats.summary import images

    image = encode_pixels(render_weight(array))
    return images(tag, [image.encoded], image.width, image.height)


def _render_vector(vector: NDArray[Any]) -> Pixels:
    row = _to_gray(_downsample(vector[None]))
    return np.repeat(row, math.ceil(row.shape[1] / _STRIP_RATIO) or 1, axis=0)


def _render_kernel(kernel: NDArray[Any]) -> Pixels:
    """Render a grid of tiles with lines between them. In Keras, filters are on the last axis."""
    filters = np.moveaxis(kernel, -1, 0)
    # The axes of a 2D filter are height, width and input channels.
    depth = math.prod(filters.shape[3:])
    tiles = np.moveaxis(filters.reshape(*filters.shape[:3], depth), -1, 1)
    tiles = tiles.reshape(-1, *filters.shape[1:3])[:_MAX_TILES]
    tiles = _to_gray(tiles[:, :_MAX_SIDE_PX, :_MAX_SIDE_PX])
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    height, width = tiles.shape[1] + 1, tiles.shape[2] + 1
    grid = np.full((rows * height - 1, columns * width - 1), 0, np.uint8)
    for index, tile in enumerate(tiles):
        top, left = index // columns * height, index % columns * width
        grid[top : top + height - 1, left : left + width - 1] = tile
    return _downsample(grid)


def _downsample(matrix: NDArray[Any]) -> NDArray[Any]:
    down, across = (math.ceil(side / _MAX_SIDE_PX) or 1 for side in matrix.shape)
    return matrix[::down, ::across]


def _to_gray(array: NDArray[Any]) -> Pixels:
    numbers = np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    scaled = numbers * (127 / largest) if largest else numbers
    return np.asarray(np.rint(scaled) + _ZERO_LEVEL, np.uint8)


class EmbeddingLogger:
    """Writes the embedding layers of a model, epoch by epoch, for the projector.

    All files go to the directory of the run: readers look for the config next to event files and
    reject paths that lead out of it.

    Args:
        run_dir: Directory of the run.
        log_dir: Directory to which metadata paths are relative.
        metadata: A metadata file, or files by layer name.

    Raises:
        ArgumentError: ``run_dir`` is a URL.
    """

    def __init__(self, run_dir: str, log_dir: str, metadata: str | dict[str, str]) -> None:
        if "://" in run_dir:
            raise ArgumentError("embeddings_freq", f"needs a local `log_dir`, not {log_dir}")
        self._run_dir = Path(run_dir)
        self._log_dir = Path(log_dir)
        self._metadata = metadata
        self._infos: list[EmbeddingInfo] = []

    def check(self, model: Any) -> None:
        """Warn about metadata of layers that do not exist."""
        names = {layer.name for layer in iter_embedding_layers(model)}
        unknown = set(self._metadata) - names if isinstance(self._metadata, dict) else set()
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            problem = (
                f"names unknown embedding layers: {', '.join(sorted(unknown))}; known: {known}"
            )
            warn_or_raise("embeddings_metadata", problem)

    def log(self, model: Any, epoch: int) -> None:
        (self._run_dir / _EMBEDDINGS_DIR).mkdir(parents=True, exist_ok=True)
        added = [self._write(layer, epoch) for layer in iter_embedding_layers(model)]
        names = {info.tensor_name for info in added}
        # The newest first, because readers open the first one.
        self._infos = added + [info for info in self._infos if info.tensor_name not in names]
        config = ProjectorConfig()
        config.embeddings.extend(self._infos)
        visualize_embeddings(self._run_dir, config)

    def _write(self, layer: Any, epoch: int) -> EmbeddingInfo:
        vectors = read_variable(layer.embeddings, "embeddings").astype("<f4")
        name = f"{layer.name}:{epoch:05}"
        stem = re.sub(r"[^\w.-]", "_", f"{layer.name}-{epoch:05}")
        info = EmbeddingInfo(tensor_name=name, tensor_shape=list(vectors.shape))
        info.tensor_path = (
            f"{_EMBEDDINGS_DIR}/{_write_tensor(self._run_dir / _EMBEDDINGS_DIR / stem, vectors)}"
        )
        info.metadata_path = self._copy_metadata(layer.name)
        return info

    def _copy_metadata(self, layer: str) -> str:
        file = self._metadata if isinstance(self._metadata, str) else self._metadata.get(layer)
        if not file:
            return ""
        source = self._log_dir / os.path.expanduser(file)
        if not source.is_file():
            warn_or_raise("embeddings_metadata", f"names {source}, which does not exist")
            return ""
        target = self._run_dir / _EMBEDDINGS_DIR / source.name
        shutil.copyfile(source, target)
        return f"{_EMBEDDINGS_DIR}/{source.name}"


def iter_embedding_layers(model: Any) -> Iterator[Any]:
    """Yield the built embedding layers of a model and its inner models."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.layers.Embedding):
            if layer.built:
                yield layer
        elif hasattr(layer, "layers"):
            yield from iter_embedding_layers(layer)


def _write_tensor(path: Path, vectors: NDArray[np.float32]) -> str:
    """Write raw values, or TSV if readers would mistake the bytes for text; return the name."""
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


def read_variable(variable: Any, name: str) -> NDArray[Any]:
    """Return the values of a variable of any backend."""
    import keras

    # Not np.asarray(variable), for which NumPy 2 issues a warning.
    return as_numbers(keras.ops.convert_to_numpy(variable), name)


def read_number(variable: Any, name: str) -> float:
    return as_number(read_variable(variable, name), name)
