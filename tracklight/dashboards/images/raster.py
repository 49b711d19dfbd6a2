"""Decoded pictures: their own numbers, and what of them a screen shows."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.images.header import Header, cannot_decode, open_picture
from tracklight.errors import FormatError

if TYPE_CHECKING:
    from PIL.Image import Image

#: Left, top, right and bottom, as Pillow has it.
Box = tuple[int, int, int, int]

#: What modes become whose pixels are no numbers of one channel each.
_PLAIN_MODES = {"1": "L", "PA": "RGBA", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB", "RGBX": "RGB"}
_SHOWN_MODES = frozenset({"L", "LA", "RGB", "RGBA"})
_CHANNELS = {
    "L": ("grey",),
    "LA": ("grey", "alpha"),
    "RGB": ("red", "green", "blue"),
    "RGBA": ("red", "green", "blue", "alpha"),
    "CMYK": ("cyan", "magenta", "yellow", "black"),
}
#: PNG's colour type and depth of grey and alpha in 16 bits, and of four channels in 8.
_DEEP_GREY_ALPHA = bytes((16, 4))
_FLAT_RGBA = bytes((8, 6))
#: Twice as quick as the usual level, and files are a few percent larger.
_PNG_LEVEL = 3


class Raster:
    """The pixels of a picture, upright.

    What Pillow has no mode for, colours of sixteen bits, is two pictures: ``low`` has the lower
    halves of the numbers.
    """

    def __init__(self, high: Image, low: Image | None = None) -> None:
        self._high = high
        self._low = low
        self._levels = [self._high]
        self._lock = threading.Lock()
        self._range: tuple[float, float] | None = None

    @property
    def size(self) -> tuple[int, int]:
        return self._high.size

    @property
    def channels(self) -> tuple[str, ...]:
        return _CHANNELS.get(self._high.mode, ("grey",))

    @property
    def size_bytes(self) -> int:
        """With all levels, of which each takes a quarter of the one before it.

        Pillow takes four bytes for a pixel in most modes, and never more.
        """
        width, height = self.size
        pictures = 2 if self._low else 1
        return width * height * 4 * pictures * 4 // 3

    def values(self, box: Box) -> NDArray[Any]:
        """The numbers of the file, as [height, width, channels]."""
        high = np.atleast_3d(np.asarray(self._high.crop(box)))
        if self._low is None:
            return high
        low = np.atleast_3d(np.asarray(self._low.crop(box)))
        joined: NDArray[Any] = high.astype(np.uint16) << 8 | low
        return joined

    def shown(self, box: Box | None = None) -> Image:
        """In eight bits: grey or colours, with or without alpha."""
        cut = self._high if box is None else self._high.crop(box)
        if cut.mode in _SHOWN_MODES:
            return cut
        if cut.mode == "CMYK":
            return cut.convert("RGB")
        return self._stretch(np.asarray(cut))

    def level(self, level: int) -> Image:
        """Scaled down to one half ``level`` times, as a screen shows it, in eight bits."""
        with self._lock:
            while len(self._levels) <= level:
                below = self._levels[-1] if len(self._levels) > 1 else self.shown()
                self._levels.append(below.reduce(2))
            return self._levels[level]

    def _stretch(self, array: NDArray[Any]) -> Image:
        """Numbers that no screen has, between black and white."""
        from PIL import Image

        if array.dtype.kind == "u":
            return Image.fromarray((array >> 8).astype(np.uint8))
        low, high = self._find_range()
        with np.errstate(all="ignore"):
            scaled = (array.astype(np.float64) - low) * (255 / ((high - low) or 1))
        return Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))

    def _find_range(self) -> tuple[float, float]:
        """Floats in [0, 1] are taken as such; what goes beyond is seen from least to most."""
        if self._range is None:
            array = np.asarray(self._high)
            finite = array[np.isfinite(array)]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
            is_unit = array.dtype.kind == "f" and low >= 0 and high <= 1
            self._range = (0.0, 1.0) if is_unit else (low, high)
        return self._range


def decode(header: Header, data: bytes, fits: int | None = None) -> Raster:
    """Raises a `FormatError` for what is damaged.

    With ``fits`` it may come in a smaller size, but with no side shorter than that, if that is
    quicker.
    """
    try:
        if header.mode == "LA;16":
            return _split_grey_alpha(_load(header, _relabel_grey_alpha(data)))
        if header.mode in ("RGB;16", "RGBA;16"):
            return Raster(_load(header, data), _load_low_halves(header, data))
        image = _upright(_plain(_load(header, data, fits)), header.orientation)
        return Raster(_narrow(image) if header.mode == "I;16" else image)
    except FormatError:
        raise
    # Decoders of files from anywhere fail in any way they like.
    except Exception as error:
        raise cannot_decode(header.kind, error) from error


def count_decoded(header: Header, fits: int) -> int:
    """How many pixels `decode` goes through: JPEG files can be decoded in an eighth of the size."""
    if header.kind.name != "JPEG":
        return header.pixels
    spare = min(header.width, header.height) // fits
    scale = next((scale for scale in (8, 4, 2) if spare >= scale), 1)
    return header.pixels // scale**2


def _load(header: Header, data: bytes, fits: int | None = None) -> Image:
    file = open_picture(header.kind, data)
    if fits is not None:
        file.draft(None, (fits, fits))
    file.load()
    return file


def _plain(image: Image) -> Image:
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("L", "RGB") and "transparency" in image.info:
        return image.convert("LA" if image.mode == "L" else "RGBA")
    plain = _PLAIN_MODES.get(image.mode)
    return image.convert(plain) if plain else image


def _narrow(image: Image) -> Image:
    """Older versions of Pillow give numbers of sixteen bits in 32."""
    from PIL import Image

    return Image.fromarray(np.asarray(image).astype(np.uint16)) if image.mode == "I" else image


def _upright(image: Image, orientation: int) -> Image:
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _load_low_halves(header: Header, data: bytes) -> Image:
    """Pillow keeps the first byte of each number; told that they come the other way round, it
    keeps the second."""
    file = open_picture(header.kind, data)
    codec, extents, offset, form = file.tile[0]
    assert isinstance(form, str)
    turned = (codec, extents, offset, form.replace("16B", "16L"))
    # Older versions of Pillow have a plain tuple.
    make_tile: Any = getattr(type(file.tile[0]), "_make", tuple)
    file.tile = [make_tile(turned)]
    file.load()
    return file


def _relabel_grey_alpha(data: bytes) -> bytes:
    """Two channels of two bytes have their bytes where four of one have them."""
    header = bytearray(data[12:29])
    if header[12:14] != _DEEP_GREY_ALPHA:
        raise ValueError("its header is not at its begin")
    header[12:14] = _FLAT_RGBA
    return data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]


def _split_grey_alpha(four: Image) -> Raster:
    from PIL import Image

    bands = four.split()
    return Raster(Image.merge("LA", bands[0::2]), Image.merge("LA", bands[1::2]))


def shrink(image: Image, most: int) -> Image:
    """The picture with no side longer than that, and sharp."""
    from PIL.Image import Resampling

    if max(image.size) <= most:
        return image
    width, height = (max(1, round(side * most / max(image.size))) for side in image.size)
    return image.resize((width, height), Resampling.LANCZOS, reducing_gap=3.0)


def encode(image: Image, as_photo: bool) -> tuple[bytes, str]:
    """A file and its type. What is no photograph, or has alpha, stays as it is to the last bit."""
    stream = io.BytesIO()
    if as_photo and image.mode in ("L", "RGB"):
        image.save(stream, "JPEG", quality=92, subsampling=0)
        return stream.getvalue(), "image/jpeg"
    image.save(stream, "PNG", compress_level=_PNG_LEVEL)
    return stream.getvalue(), "image/png"


def encode_light(picture: bytes) -> tuple[bytes, str]:
    """A file of the same picture that looks like it and is a fraction of its size."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(picture), formats=("PNG", "JPEG")) as image:
        image.save(stream, "WEBP", quality=85)
    return stream.getvalue(), "image/webp"
