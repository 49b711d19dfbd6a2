"""Pixels from encoded pictures, with a library: a log may hold pictures of any format."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, MissingExtra

#: Pillow's modes whose pixels are no numbers of one channel each.
_PLAIN_MODE = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"}


def decode_pixels(encoded: bytes) -> NDArray[Any]:
    """A picture, or the first of an animation, as [height, width, channels]; mostly uint8."""
    try:
        pillow: Any = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise MissingExtra("decoding pictures", "images") from error
    try:
        with pillow.open(io.BytesIO(encoded)) as picture:
            if picture.mode == "P" and "transparency" in picture.info:
                picture = picture.convert("RGBA")
            elif picture.mode in _PLAIN_MODE:
                picture = picture.convert(_PLAIN_MODE[picture.mode])
            return np.atleast_3d(np.array(picture))
    # Pillow lets some of its decoders' own errors through.
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise FormatError(f"{len(encoded):,} bytes that are no picture: {error}") from error
