"""Decode images to pixels, scale and encode them, cache decoded images, and cut tiles."""

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
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    from PIL.Image import Image

#: Left, top, right and bottom, as in Pillow.
Box = tuple[int, int, int, int]

#: Conversions for Pillow modes that are not plain 8-bit channels.
_PLAIN_MODES = {"1": "L", "PA": "RGBA", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB", "RGBX": "RGB"}
_DISPLAY_MODES = frozenset({"L", "LA", "RGB", "RGBA"})

_CHANNEL_NAMES = {
    "L": ("gray",),
    "LA": ("gray", "alpha"),
    "RGB": ("red", "green", "blue"),
    "RGBA": ("red", "green", "blue", "alpha"),
    "CMYK": ("cyan", "magenta", "yellow", "black"),
}

#: Bit depth and color type in a PNG header: 16-bit gray with alpha, and 8-bit RGBA.
_DEEP_GRAY_ALPHA = bytes((16, 4))
_FLAT_RGBA = bytes((8, 6))
#: Twice as fast as the default level; files are a few percent larger.
_PNG_LEVEL = 3


class Raster:
    """The pixels of an image, rotated upright.

    Pillow has no modes for 16-bit colors. They are held as two images with the high and the low
    bytes.
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
        return _CHANNEL_NAMES.get(self._high.mode, ("gray",))

    @property
    def size_bytes(self) -> int:
        """Upper bound of the memory, including all levels: each is a quarter of the previous one.

        Pillow uses at most four bytes per pixel.
        """
        width, height = self.size
        images = 2 if self._low else 1
        return width * height * 4 * images * 4 // 3

    def read_values(self, box: Box) -> NDArray[Any]:
        """Return the pixel values as stored in the file, as ``[height, width, channels]``."""
        high = np.atleast_3d(np.asarray(self._high.crop(box)))
        if self._low is None:
            return high
        low = np.atleast_3d(np.asarray(self._low.crop(box)))
        joined: NDArray[Any] = high.astype(np.uint16) << 8 | low
        return joined

    def to_display(self, box: Box | None = None) -> Image:
        """Return the image, or a part of it, converted to 8 bits per channel."""
        cropped = self._high if box is None else self._high.crop(box)
        if cropped.mode in _DISPLAY_MODES:
            return cropped
        if cropped.mode == "CMYK":
            return cropped.convert("RGB")
        return self._stretch(np.asarray(cropped))

    def get_level(self, level: int) -> Image:
        """Return the display image halved ``level`` times."""
        with self._lock:
            while len(self._levels) <= level:
                previous = self._levels[-1] if len(self._levels) > 1 else self.to_display()
                self._levels.append(previous.reduce(2))
            return self._levels[level]

    def _stretch(self, array: NDArray[Any]) -> Image:
        """Map 16-bit, 32-bit and float values to 8-bit gray."""
        from PIL import Image

        if array.dtype.kind == "u":
            return Image.fromarray((array >> 8).astype(np.uint8))
        low, high = self._get_range()
        with np.errstate(all="ignore"):
            scaled = (array.astype(np.float64) - low) * (255 / ((high - low) or 1))
        return Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))

    def _get_range(self) -> tuple[float, float]:
        """Return the values shown as black and white: 0 and 1 if possible, else min and max."""
        if self._range is None:
            array = np.asarray(self._high)
            finite = array[np.isfinite(array)]
            low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
            is_unit = array.dtype.kind == "f" and low >= 0 and high <= 1
            self._range = (0.0, 1.0) if is_unit else (low, high)
        return self._range


def decode_image(header: ImageHeader, data: bytes, min_side_px: int | None = None) -> Raster:
    """Decode an image.

    Args:
        header: The header of the image.
        data: The file.
        min_side_px: If given, the result may be smaller than the image where that is faster to
            decode, but no side is shorter than this.

    Raises:
        FormatError: The file is corrupt.
    """
    try:
        if header.mode == "LA;16":
            return _split_gray_alpha(_load(header, _relabel_gray_alpha(data)))
        if header.mode in ("RGB;16", "RGBA;16"):
            return Raster(_load(header, data), _load_low_halves(header, data))
        image = _rotate_upright(
            _to_plain_mode(_load(header, data, min_side_px)), header.orientation
        )
        return Raster(_to_uint16(image) if header.mode == "I;16" else image)
    except FormatError:
        raise
    except Exception as error:  # Pillow may raise anything on corrupt files
        raise make_decode_error(header.format, error) from error


def count_decoded_pixels(header: ImageHeader, min_side_px: int) -> int:
    """Return how many pixels `decode_image` decodes; JPEG decodes at 1/2, 1/4 or 1/8 size."""
    if header.format.name != "JPEG":
        return header.pixels
    spare = min(header.width, header.height) // min_side_px
    scale = next((scale for scale in (8, 4, 2) if spare >= scale), 1)
    return header.pixels // scale**2


def _load(header: ImageHeader, data: bytes, min_side_px: int | None = None) -> Image:
    file = open_image(header.format, data)
    if min_side_px is not None:
        file.draft(None, (min_side_px, min_side_px))
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
    """Narrow 16-bit gray, which older versions of Pillow return as 32-bit integers."""
    from PIL import Image

    return Image.fromarray(np.asarray(image).astype(np.uint16)) if image.mode == "I" else image


def _rotate_upright(image: Image, orientation: int) -> Image:
    from PIL.Image import Transpose

    transposes = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(transposes[orientation]) if orientation in transposes else image


def _load_low_halves(header: ImageHeader, data: bytes) -> Image:
    """Load the low bytes of 16-bit colors.

    Pillow keeps only the first byte of each value. With the opposite byte order declared, that is
    the low byte.
    """
    file = open_image(header.format, data)
    codec, extents, offset, raw_mode = file.tile[0]
    assert isinstance(raw_mode, str)
    swapped = (codec, extents, offset, raw_mode.replace("16B", "16L"))
    # A plain tuple in older versions of Pillow.
    make_tile: Any = getattr(type(file.tile[0]), "_make", tuple)
    file.tile = [make_tile(swapped)]
    file.load()
    return file


def _relabel_gray_alpha(data: bytes) -> bytes:
    """Declare 16-bit gray with alpha as 8-bit RGBA, which has the same byte layout."""
    header = bytearray(data[12:29])
    if header[12:14] != _DEEP_GRAY_ALPHA:
        raise ValueError("the PNG header is not at the start")
    header[12:14] = _FLAT_RGBA
    return data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]


def _split_gray_alpha(image: Image) -> Raster:
    from PIL import Image

    bands = image.split()
    return Raster(Image.merge("LA", bands[0::2]), Image.merge("LA", bands[1::2]))


def shrink_to_fit(image: Image, max_side_px: int) -> Image:
    """Scale an image down so that no side is longer than ``max_side_px``."""
    from PIL.Image import Resampling

    if max(image.size) <= max_side_px:
        return image
    width, height = (max(1, round(side * max_side_px / max(image.size))) for side in image.size)
    return image.resize((width, height), Resampling.LANCZOS, reducing_gap=3.0)


def encode_image(image: Image, as_photo: bool) -> tuple[bytes, str]:
    """Return an encoded file and its media type: JPEG for photos without alpha, else PNG."""
    stream = io.BytesIO()
    if as_photo and image.mode in ("L", "RGB"):
        image.save(stream, "JPEG", quality=92, subsampling=0)
        return stream.getvalue(), "image/jpeg"
    image.save(stream, "PNG", compress_level=_PNG_LEVEL)
    return stream.getvalue(), "image/png"


def encode_webp(data: bytes) -> tuple[bytes, str]:
    """Convert a PNG or JPEG file to lossy WebP, a fraction of the size."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
        image.save(stream, "WEBP", quality=85)
    return stream.getvalue(), "image/webp"


# ---- cache

_SMALL_CACHE_BYTES = 48 << 20
#: Images with more pixels are large.
_MAX_SMALL_PIXELS = 8_000_000
#: Enough for two images of 10,000 x 10,000 pixels, so that they can be compared; kept briefly.
_LARGE_CACHE_BYTES = 1200 << 20
_LARGE_IDLE_S = 60.0


class LoggedImage(NamedTuple):
    """A logged file and its header."""

    data: bytes
    header: ImageHeader


class DecodedImage(NamedTuple):
    """A header and the decoded pixels."""

    header: ImageHeader
    raster: Raster


class RasterCache:
    """A cache of decoded images. Thread-safe.

    Large images are decoded one at a time, small ones at most one per CPU.
    """

    def __init__(self) -> None:
        self._small: LruCache[Hashable, DecodedImage] = LruCache(max_bytes=_SMALL_CACHE_BYTES)
        self._large: LruCache[Hashable, DecodedImage] = LruCache(
            max_bytes=_LARGE_CACHE_BYTES, idle_s=_LARGE_IDLE_S
        )
        self._small_slots = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._large_lock = threading.Lock()

    def find(self, key: Hashable | None) -> DecodedImage | None:
        return self._small.find(key) or self._large.find(key)

    def get(self, key: Hashable | None, file: LoggedImage) -> DecodedImage:
        """Return the decoded image from the cache, or decode it; without a key it is not cached."""
        with self.limit_decoding(file.header.pixels):
            # Another thread may have decoded the same image meanwhile.
            cached = self.find(key)
            if cached is not None:
                return cached
            decoded = DecodedImage(file.header, decode_image(file.header, file.data))
            if key is not None:
                cache = self._large if file.header.pixels > _MAX_SMALL_PIXELS else self._small
                cache.put(key, decoded, decoded.raster.size_bytes)
            return decoded

    def limit_decoding(self, pixels: int) -> AbstractContextManager[bool]:
        """Return a context manager to hold while decoding an image of this size."""
        return self._large_lock if pixels > _MAX_SMALL_PIXELS else self._small_slots


# ---- tiles

TILE_SIZE_PX = 512


def count_levels(size: tuple[int, int]) -> int:
    """Return the number of levels: each is half as large, and the last fits into one tile."""
    level = 0
    while max(size) > TILE_SIZE_PX:
        size = halve_size(size)
        level += 1
    return level + 1


def halve_size(size: tuple[int, int]) -> tuple[int, int]:
    return -(-size[0] // 2), -(-size[1] // 2)


def compute_tile_box(size: tuple[int, int], level: int, x: int, y: int) -> Box:
    """Return the pixels of a tile in an image that was halved ``level`` times.

    Raises:
        UsageError: There is no such level or tile.
    """
    levels = count_levels(size)
    if level >= levels:
        raise UsageError(
            "images.no_level",
            "no level {level}: this image has {levels} levels",
            level=level,
            levels=levels,
        )
    for _ in range(level):
        size = halve_size(size)
    left, top = x * TILE_SIZE_PX, y * TILE_SIZE_PX
    if left >= size[0] or top >= size[1]:
        raise UsageError(
            "images.no_tile",
            "no tile {x}, {y}: level {level} has {width:,} x {height:,} pixels",
            x=x,
            y=y,
            level=level,
            width=size[0],
            height=size[1],
        )
    return left, top, min(left + TILE_SIZE_PX, size[0]), min(top + TILE_SIZE_PX, size[1])
