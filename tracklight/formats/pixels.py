"""Pixels from encoded pictures, with a library: a log may hold pictures of any format."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError

#: Pillow's modes whose pixels are no numbers of one channel each.
_PLAIN_MODE = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"}


#: Formats of images in logs. Pillow would try all that it knows, some of which run other programs.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO", "AVIF", "JPEG2000")


def find_size(encoded: bytes) -> tuple[int, int] | None:
    """Return width and height from the header of an encoded image; None if it tells neither."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded), formats=_FORMATS) as file:
            width, height = file.size
            return int(width), int(height)
    # The size of a decompression bomb is not needed: it cannot be decoded.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def decode_pixels(encoded: bytes) -> NDArray[Any]:
    """A picture, or the first of an animation, as [height, width, channels]; mostly uint8."""
    # Only who looks at pictures has to load this.
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded)) as file:
            picture: Image.Image = file
            if picture.mode == "P" and "transparency" in picture.info:
                picture = picture.convert("RGBA")
            elif picture.mode in _PLAIN_MODE:
                picture = picture.convert(_PLAIN_MODE[picture.mode])
            return np.atleast_3d(np.array(picture))
    # Pillow lets some of its decoders' own errors through.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"{len(encoded):,} bytes that are no picture: {error}") from error
