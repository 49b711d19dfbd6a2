"""One picture that holds many, as the projector wants them: row by row, in a square grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.sdk.arrays import as_numbers
from tracklight.sdk.lenient import Misuse
from tracklight.sdk.pictures import as_pixels

#: What a browser can surely show as one texture.
MAX_SIDE = 8192


def make_sprite(images: object) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """A sheet of pictures [n, height, width, channels], and the width and height of each in it.

    Pictures that would make the sheet too large are made smaller, by leaving out rows and columns.
    """
    pixels = _as_batch(images)
    side = math.ceil(math.sqrt(len(pixels)))
    stride = math.ceil(side * max(pixels.shape[1:3]) / MAX_SIDE)
    pixels = pixels[:, ::stride, ::stride]
    count, height, width, channels = pixels.shape
    cells = np.zeros((side * side, height, width, channels), np.uint8)
    cells[:count] = pixels
    rows = cells.reshape(side, side, height, width, channels).swapaxes(1, 2)
    return rows.reshape(side * height, side * width, channels), (width, height)


def find_cell_size(width: int, height: int, count: int) -> tuple[int, int]:
    """The width and height of each of ``count`` pictures in a sheet of that size."""
    side = math.ceil(math.sqrt(count))
    if not count or width % side or height % side:
        raise Misuse("sprite", f"is {width} x {height}, which {side} pictures a side do not divide")
    return width // side, height // side


def _as_batch(images: object) -> NDArray[np.uint8]:
    array: NDArray[Any] = as_numbers(images, "images")
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[-1] not in (1, 3, 4) or not array.size:
        raise Misuse("images", f"has shape {list(array.shape)}; give [n, height, width, channels]")
    return as_pixels(array)
