"""Weights of a model as histograms and as pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.keras.variables import read_variable
from tracklight.sdk.pictures import encode_pixels
from tracklight.sdk.values import put_off_histogram
from tracklight.sdk.writer import EventWriter

Pixels = NDArray[np.uint8]

#: As Keras's own callback has them.
_BUCKETS = 30
#: A picture beyond this is thinned out.
_MAX_SIDE = 1024
_MAX_TILES = 256
#: A bias is drawn as a strip, no longer than this many times its height.
_STRIP_RATIO = 16
_ZERO = 128


def log_weights(writer: EventWriter, model: Any, step: int, *, with_images: bool) -> None:
    """Log every weight of the model's layers under the path that Keras gives it."""
    for name, array in iter_weights(model):
        build, size_bytes = put_off_histogram(f"{name}/histogram", array, _BUCKETS)
        writer.add_later(build, step, size_bytes=size_bytes, always_describe=True)
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


def draw_weight(array: NDArray[Any]) -> Pixels:
    """A picture of a weight of any rank, in which 0 is grey and the largest is black or white.

    A vector is a strip, a matrix is itself, lying down; a kernel is a sheet of its filters.
    """
    squeezed = np.squeeze(array)
    if squeezed.ndim < 2:
        return _draw_strip(squeezed.reshape(-1))
    if squeezed.ndim == 2:
        lying = squeezed if squeezed.shape[0] <= squeezed.shape[1] else squeezed.T
        return _shade(_thin(lying))
    return _draw_sheet(squeezed)


def _build_image(tag: str, array: NDArray[Any]) -> Any:
    from tracklight.formats.summary import images

    picture = encode_pixels(draw_weight(array))
    return images(tag, [picture.encoded], picture.width, picture.height)


def _draw_strip(vector: NDArray[Any]) -> Pixels:
    row = _shade(_thin(vector[None]))
    return np.repeat(row, math.ceil(row.shape[1] / _STRIP_RATIO) or 1, axis=0)


def _draw_sheet(kernel: NDArray[Any]) -> Pixels:
    """Tiles with a line between them; in the layout of Keras the last axis has the filters."""
    filters = np.moveaxis(kernel, -1, 0)
    # A filter of a picture has its height and width first, and then what it reads from.
    depth = math.prod(filters.shape[3:])
    tiles = np.moveaxis(filters.reshape(*filters.shape[:3], depth), -1, 1)
    tiles = tiles.reshape(-1, *filters.shape[1:3])[:_MAX_TILES]
    tiles = _shade(tiles[:, :_MAX_SIDE, :_MAX_SIDE])
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    height, width = tiles.shape[1] + 1, tiles.shape[2] + 1
    sheet = np.full((rows * height - 1, columns * width - 1), 0, np.uint8)
    for place, tile in enumerate(tiles):
        top, left = place // columns * height, place % columns * width
        sheet[top : top + height - 1, left : left + width - 1] = tile
    return _thin(sheet)


def _thin(matrix: NDArray[Any]) -> NDArray[Any]:
    down, across = (math.ceil(side / _MAX_SIDE) or 1 for side in matrix.shape)
    return matrix[::down, ::across]


def _shade(array: NDArray[Any]) -> Pixels:
    numbers = np.nan_to_num(array.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    scaled = numbers * (127 / largest) if largest else numbers
    return np.asarray(np.rint(scaled) + _ZERO, np.uint8)
