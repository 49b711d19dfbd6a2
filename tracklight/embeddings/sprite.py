"""Sheets of pictures, one for each point, row by row from the upper left."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from tracklight.errors import FormatError


@dataclass(frozen=True, slots=True)
class Sprite:
    """A sheet that is ``columns`` pictures wide; sizes are in pixels."""

    width: int
    height: int
    cell_width: int
    cell_height: int
    columns: int


def read_sprite(file: BinaryIO, size: Sequence[int], count: int) -> Sprite:
    """How a sheet of ``count`` pictures is divided; only its head is read.

    ``size`` is the width and height of one picture; without it the grid is taken for square.
    """
    width, height = _read_size(file)
    if len(size) == 2 and all(size):
        cell_width, cell_height = size
    else:
        side = math.ceil(math.sqrt(count))
        cell_width, cell_height = width // side, height // side
    columns = width // cell_width if cell_width else 0
    rows = height // cell_height if cell_height else 0
    if columns * rows < count:
        raise FormatError(
            f"the sprite is {width} x {height} pixels, which has room for {columns * rows} "
            f"pictures of {cell_width} x {cell_height}, not for {count}"
        )
    return Sprite(width, height, cell_width, cell_height, columns)


def _read_size(file: BinaryIO) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as picture:
                width, height = picture.size
                return width, height
    except UnidentifiedImageError:  # which names the file by its address in memory
        raise FormatError("the sprite is no picture of a kind that is known") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"the sprite is no picture that can be read: {error}") from None
