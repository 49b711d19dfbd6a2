"""Where the tiles of a picture are, at every size in which it is looked at."""

from __future__ import annotations

import io
import os
import struct
import threading
import zlib
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.images.header import ImageHeader, make_decode_error, open_image
from tracklight.errors import FormatError, UsageError
from tracklight.util.lru_cache import LruCache

if TYPE_CHECKING:
    from PIL.Image import Image

TILE_SIZE_PX = 512


def count_levels(size: tuple[int, int]) -> int:
    """How many sizes there are: each has half of the one before, and the last fits into a tile."""
    level = 0
    while max(size) > TILE_SIZE_PX:
        size = halve_size(size)
        level += 1
    return level + 1


def halve_size(size: tuple[int, int]) -> tuple[int, int]:
    return -(-size[0] // 2), -(-size[1] // 2)


def compute_tile_box(
    size: tuple[int, int], level: int, x: int, y: int
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a tile in a picture of which the whole has that size."""
    levels = count_levels(size)
    if level >= levels:
        raise UsageError(f"this picture has {levels} levels, so there is no level {level}")
    for _ in range(level):
        size = halve_size(size)
    left, top = x * TILE_SIZE_PX, y * TILE_SIZE_PX
    if left >= size[0] or top >= size[1]:
        raise UsageError(f"level {level} is {size[0]:,} x {size[1]:,}, without a tile {x}, {y}")
    return left, top, min(left + TILE_SIZE_PX, size[0]), min(top + TILE_SIZE_PX, size[1])


# Decoded pictures: their own numbers, and what of them a screen shows.

#: Left, top, right and bottom, as Pillow has it.
Box = tuple[int, int, int, int]

#: What modes become whose pixels are no numbers of one channel each.
_PLAIN_MODES = {"1": "L", "PA": "RGBA", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB", "RGBX": "RGB"}

_SHOWN_MODES = frozenset({"L", "LA", "RGB", "RGBA"})

_CHANNEL_NAMES = {
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
        return _CHANNEL_NAMES.get(self._high.mode, ("grey",))

    @property
    def size_bytes(self) -> int:
        """With all levels, of which each takes a quarter of the one before it.

        Pillow takes four bytes for a pixel in most modes, and never more.
        """
        width, height = self.size
        pictures = 2 if self._low else 1
        return width * height * 4 * pictures * 4 // 3

    def read_values(self, box: Box) -> NDArray[Any]:
        """The numbers of the file, as [height, width, channels]."""
        high = np.atleast_3d(np.asarray(self._high.crop(box)))
        if self._low is None:
            return high
        low = np.atleast_3d(np.asarray(self._low.crop(box)))
        joined: NDArray[Any] = high.astype(np.uint16) << 8 | low
        return joined

    def to_display(self, box: Box | None = None) -> Image:
        """In eight bits: grey or colours, with or without alpha."""
        cut = self._high if box is None else self._high.crop(box)
        if cut.mode in _SHOWN_MODES:
            return cut
        if cut.mode == "CMYK":
            return cut.convert("RGB")
        return self._stretch(np.asarray(cut))

    def get_level(self, level: int) -> Image:
        """Scaled down to one half ``level`` times, as a screen shows it, in eight bits."""
        with self._lock:
            while len(self._levels) <= level:
                below = self._levels[-1] if len(self._levels) > 1 else self.to_display()
                self._levels.append(below.reduce(2))
            return self._levels[level]

    def _stretch(self, array: NDArray[Any]) -> Image:
        """Numbers that no screen has, between black and white."""
        from PIL import Image

        if array.dtype.kind == "u":
            return Image.fromarray((array >> 8).astype(np.uint8))
        low, high = self._get_range()
        with np.errstate(all="ignore"):
            scaled = (array.astype(np.float64) - low) * (255 / ((high - low) or 1))
        return Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))

    def _get_range(self) -> tuple[float, float]:
        """Floats in [0, 1] are taken as such; what goes beyond is seen from least to most."""
        if self._range is None:
            array = np.asarray(self._high)
            finite = array[np.isfinite(array)]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
            is_unit = array.dtype.kind == "f" and low >= 0 and high <= 1
            self._range = (0.0, 1.0) if is_unit else (low, high)
        return self._range


def decode_image(header: ImageHeader, data: bytes, min_side_px: int | None = None) -> Raster:
    """Raises a `FormatError` for what is damaged.

    With ``fits`` it may come in a smaller size, but with no side shorter than that, if that is
    quicker.
    """
    try:
        if header.mode == "LA;16":
            return _split_grey_alpha(_load(header, _relabel_grey_alpha(data)))
        if header.mode in ("RGB;16", "RGBA;16"):
            return Raster(_load(header, data), _load_low_halves(header, data))
        image = _rotate_upright(
            _to_plain_mode(_load(header, data, min_side_px)), header.orientation
        )
        return Raster(_to_uint16(image) if header.mode == "I;16" else image)
    except FormatError:
        raise
    # Decoders of files from anywhere fail in any way they like.
    except Exception as error:
        raise make_decode_error(header.format, error) from error


def count_decoded_pixels(header: ImageHeader, min_side_px: int) -> int:
    """How many pixels `decode` goes through: JPEG files can be decoded in an eighth of the size."""
    if header.format.name != "JPEG":
        return header.pixels
    spare = min(header.width, header.height) // min_side_px
    scale = next((scale for scale in (8, 4, 2) if spare >= scale), 1)
    return header.pixels // scale**2


def _load(header: ImageHeader, data: bytes, fits: int | None = None) -> Image:
    file = open_image(header.format, data)
    if fits is not None:
        file.draft(None, (fits, fits))
    file.load()
    return file


def _to_plain_mode(image: Image) -> Image:
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("L", "RGB") and "transparency" in image.info:
        return image.convert("LA" if image.mode == "L" else "RGBA")
    plain = _PLAIN_MODES.get(image.mode)
    return image.convert(plain) if plain else image


def _to_uint16(image: Image) -> Image:
    """Older versions of Pillow give numbers of sixteen bits in 32."""
    from PIL import Image

    return Image.fromarray(np.asarray(image).astype(np.uint16)) if image.mode == "I" else image


def _rotate_upright(image: Image, orientation: int) -> Image:
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


def _load_low_halves(header: ImageHeader, data: bytes) -> Image:
    """Pillow keeps the first byte of each number; told that they come the other way round, it
    keeps the second."""
    file = open_image(header.format, data)
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


def shrink_to_fit(image: Image, max_side_px: int) -> Image:
    """The picture with no side longer than that, and sharp."""
    from PIL.Image import Resampling

    if max(image.size) <= max_side_px:
        return image
    width, height = (max(1, round(side * max_side_px / max(image.size))) for side in image.size)
    return image.resize((width, height), Resampling.LANCZOS, reducing_gap=3.0)


def encode_image(image: Image, as_photo: bool) -> tuple[bytes, str]:
    """A file and its type. What is no photograph, or has alpha, stays as it is to the last bit."""
    stream = io.BytesIO()
    if as_photo and image.mode in ("L", "RGB"):
        image.save(stream, "JPEG", quality=92, subsampling=0)
        return stream.getvalue(), "image/jpeg"
    image.save(stream, "PNG", compress_level=_PNG_LEVEL)
    return stream.getvalue(), "image/png"


def encode_webp(picture: bytes) -> tuple[bytes, str]:
    """A file of the same picture that looks like it and is a fraction of its size."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(picture), formats=("PNG", "JPEG")) as image:
        image.save(stream, "WEBP", quality=85)
    return stream.getvalue(), "image/webp"


# Decodes pictures, not too many at once, and keeps the last ones, within bounds.

_SMALL_BYTES = 48 << 20

#: A picture of more pixels is a large one.
_MAX_SMALL_PIXELS = 8_000_000

#: Two pictures of 10,000 x 10,000 pixels, so that they can be compared; not for long.
_LARGE_BYTES = 1200 << 20

_LARGE_IDLE_S = 60.0


class LoggedImage(NamedTuple):
    """A picture as it was logged, and what it says of itself."""

    data: bytes
    header: ImageHeader


class DecodedImage(NamedTuple):
    """A picture with its pixels."""

    header: ImageHeader
    raster: Raster


class RasterCache:
    """May be asked from any thread. Large pictures are decoded one at a time, and of the others
    no more at once than there are processors."""

    def __init__(self) -> None:
        self._small: LruCache[Hashable, DecodedImage] = LruCache(max_bytes=_SMALL_BYTES)
        self._large: LruCache[Hashable, DecodedImage] = LruCache(
            max_bytes=_LARGE_BYTES, idle_s=_LARGE_IDLE_S
        )
        self._room_for_small = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._room_for_large = threading.Lock()

    def find(self, key: Hashable | None) -> DecodedImage | None:
        return self._small.find(key) or self._large.find(key)

    def get(self, key: Hashable | None, file: LoggedImage) -> DecodedImage:
        """Kept under ``key`` if there is one."""
        with self.limit_decoding(file.header.pixels):
            # Who waited for the room may have waited for this very picture.
            known = self.find(key)
            if known is not None:
                return known
            decoded = DecodedImage(file.header, decode_image(file.header, file.data))
            if key is not None:
                cache = self._large if file.header.pixels > _MAX_SMALL_PIXELS else self._small
                cache.put(key, decoded, decoded.raster.size_bytes)
            return decoded

    def limit_decoding(self, pixels: int) -> AbstractContextManager[bool]:
        """To be held while so many pixels are decoded."""
        return self._room_for_large if pixels > _MAX_SMALL_PIXELS else self._room_for_small
