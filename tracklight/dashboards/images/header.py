"""Detect the format of a logged image or video and read its header, without decoding pixels."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.media import sniff_media_type

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

#: The root element of an SVG file is expected within this prefix.
_SVG_PREFIX_BYTES = 4096
_TIFF_STARTS = (b"II*\0", b"MM\0*")


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A file format of images or videos.

    Attributes:
        name: Name for messages and the page.
        suffix: File suffix for downloads.
        media_type: Media type if browsers can show the file as it is, else empty.
        pillow_class: Module and class of Pillow that opens such files; None for videos and SVG.
    """

    name: str
    suffix: str
    media_type: str = ""
    pillow_class: tuple[str, str] | None = None

    @property
    def is_video(self) -> bool:
        return self.media_type.startswith("video/")


UNKNOWN = ImageFormat("unknown", "bin")
SVG = ImageFormat("SVG", "svg")
_TIFF = ImageFormat("TIFF", "tiff", pillow_class=("TiffImagePlugin", "TiffImageFile"))

_BY_MEDIA_TYPE = {
    "image/png": ImageFormat("PNG", "png", "image/png", ("PngImagePlugin", "PngImageFile")),
    "image/jpeg": ImageFormat("JPEG", "jpg", "image/jpeg", ("JpegImagePlugin", "JpegImageFile")),
    "image/gif": ImageFormat("GIF", "gif", "image/gif", ("GifImagePlugin", "GifImageFile")),
    "image/webp": ImageFormat("WebP", "webp", "image/webp", ("WebPImagePlugin", "WebPImageFile")),
    "image/avif": ImageFormat("AVIF", "avif", "image/avif", ("AvifImagePlugin", "AvifImageFile")),
    "image/bmp": ImageFormat("BMP", "bmp", pillow_class=("BmpImagePlugin", "BmpImageFile")),
    "video/mp4": ImageFormat("MP4", "mp4", "video/mp4"),
    "video/webm": ImageFormat("WebM", "webm", "video/webm"),
}


def detect_format(data: bytes) -> ImageFormat:
    """Return the format of a file by its first bytes; `UNKNOWN` if it is not an image or video."""
    known = _BY_MEDIA_TYPE.get(sniff_media_type(data))
    if known is not None:
        return known
    if data.startswith(_TIFF_STARTS):
        return _TIFF
    return SVG if _is_svg(data[:_SVG_PREFIX_BYTES]) else UNKNOWN


def _is_svg(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and b"<svg" in text.lower()


# ---- header

#: Larger images are not decoded, because they could exhaust the memory.
MAX_PIXELS = 200_000_000
_EXIF_ORIENTATION = 0x0112
#: Bits per channel of those Pillow modes that do not have 8.
_BITS = {"1": 1, "I": 32, "F": 32, "I;16": 16, "I;16B": 16, "I;16L": 16}
#: Modes of 16-bit PNG files by color type; Pillow has no mode for most of them.
_DEEP_MODES = {0: "I;16", 2: "RGB;16", 4: "LA;16", 6: "RGBA;16"}
_CHANNELS = {"RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4, "LA": 2}


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """The header of an image or video file.

    Attributes:
        format: The file format.
        width, height: Size as stored in the file, before it is rotated.
        mode: A mode of Pillow, or ``RGB;16``, ``LA;16``, ``RGBA;16``; empty for videos.
        frames: Number of frames; 0 for videos.
        duration_ms: Duration of one loop of an animation, or of a video.
        orientation: EXIF orientation, from 1 (upright) to 8.
    """

    format: ImageFormat
    width: int
    height: int
    mode: str
    frames: int
    duration_ms: int
    orientation: int

    @property
    def bits(self) -> int:
        """Bits per channel; 0 for videos."""
        if not self.mode:
            return 0
        return 16 if self.mode.endswith(";16") else _BITS.get(self.mode, 8)

    @property
    def channels(self) -> int:
        """Number of channels in the file; a palette counts as one. 0 for videos."""
        if not self.mode:
            return 0
        return _CHANNELS.get(self.mode.removesuffix(";16"), 1)

    @property
    def pixels(self) -> int:
        return self.width * self.height

    @property
    def display_size(self) -> tuple[int, int]:
        is_transposed = self.orientation >= 5
        return (self.height, self.width) if is_transposed else (self.width, self.height)


def read_header(data: bytes) -> ImageHeader:
    """Read the header of an image or video.

    Raises:
        FormatError: The file is corrupt, too large, or of a format that cannot be shown.
    """
    image_format = detect_format(data)
    if image_format.is_video:
        video = parse_mp4(data) if image_format.name == "MP4" else None
        width, height, duration_ms = video or (0, 0, 0)
        return ImageHeader(image_format, width, height, "", 0, duration_ms, 1)
    _check_displayable(image_format, data)
    with open_image(image_format, data) as file:
        width, height = file.size
        orientation = _read_orientation(image_format, file)
        mode = _find_deep_mode(image_format, data) or file.mode
    if width * height > MAX_PIXELS:
        raise FormatError(
            "images.too_many_pixels",
            "this image has {width:,} x {height:,} pixels; images with more "
            "than {max_pixels:,} are not decoded",
            width=width,
            height=height,
            max_pixels=MAX_PIXELS,
        )
    return ImageHeader(
        image_format, width, height, mode, *parse_animation(image_format, data), orientation
    )


def open_image(image_format: ImageFormat, data: bytes) -> ImageFile:
    """Open an image with Pillow, which reads the header and decodes pixels on demand."""
    if image_format.pillow_class is None:
        raise FormatError(
            "images.unsupported_format",
            "files of format {name} cannot be decoded",
            name=image_format.name,
        )
    module, name = image_format.pillow_class
    try:
        # Not `PIL.Image.open`: it tries every format, and some of its plugins start programs.
        opened: ImageFile = getattr(import_module(f"PIL.{module}"), name)(io.BytesIO(data))
        return opened
    except Exception as error:  # Pillow may raise anything on corrupt files
        raise make_decode_error(image_format, error) from error


def make_decode_error(image_format: ImageFormat, error: Exception) -> FormatError:
    reason = str(error).strip(" .") or type(error).__name__
    return FormatError(
        "images.cannot_decode",
        "this {name} file cannot be decoded: {reason:.150}",
        name=image_format.name,
        reason=reason,
    )


def _check_displayable(image_format: ImageFormat, data: bytes) -> None:
    if not data:
        raise FormatError("images.empty", "this image is empty (0 bytes)")
    if image_format is SVG:
        raise FormatError(
            "images.svg",
            "SVG images may contain scripts and are not shown; download the file to view it",
        )
    if image_format is UNKNOWN:
        raise FormatError(
            "images.unknown_format",
            "unknown image format: {size:,} bytes that start with {hex}",
            size=len(data),
            hex=data[:8].hex(" "),
        )
    if _is_truncated(image_format, data):
        raise FormatError(
            "images.truncated",
            "this {name} file is truncated after {size:,} bytes",
            name=image_format.name,
            size=len(data),
        )


def _is_truncated(image_format: ImageFormat, data: bytes) -> bool:
    """Return whether the end of the file is missing, if that can be checked quickly."""
    if image_format.name == "PNG":
        return data.rfind(b"IEND") < 0
    if image_format.name == "JPEG":
        return data.rfind(b"\xff\xd9") < 0
    if image_format.name == "GIF":
        return not data.rstrip(b"\0").endswith(b";")
    if image_format.name == "WebP":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return False


def _read_orientation(image_format: ImageFormat, file: ImageFile) -> int:
    """Return the EXIF orientation of a JPEG file; browsers ignore it in other formats."""
    if image_format.name != "JPEG":
        return 1
    try:
        orientation = file.getexif().get(_EXIF_ORIENTATION, 1)
    except Exception:  # corrupt EXIF data; the image may still be readable
        return 1
    is_valid = isinstance(orientation, int) and 1 <= orientation <= 8
    return orientation if is_valid else 1


def _find_deep_mode(image_format: ImageFormat, data: bytes) -> str | None:
    if image_format.name != "PNG" or len(data) < 26 or data[24] != 16:
        return None
    return _DEEP_MODES.get(data[25])


# ---- animations
#
# Frames are counted by walking the blocks of the file. Pillow would decode GIF frames one by one.

#: Limits for hostile files with millions of frames, or of blocks without frames.
_MAX_FRAMES = 100_000
_MAX_ANIMATION_BYTES = 64 << 20
#: Browsers show frames with a shorter duration for the default duration instead.
_MIN_FRAME_MS = 10
_DEFAULT_FRAME_MS = 100


class Animation(NamedTuple):
    """Frames and duration of one loop."""

    frames: int
    duration_ms: int


STILL = Animation(1, 0)


def parse_animation(image_format: ImageFormat, data: bytes) -> Animation:
    """Return the frames of a GIF, PNG or WebP file; `STILL` if there is only one."""
    iter_frame_ms = {"GIF": _iter_gif_ms, "PNG": _iter_png_ms, "WebP": _iter_webp_ms}.get(
        image_format.name
    )
    if iter_frame_ms is None:
        return STILL
    frames, total_ms = 0, 0.0
    for frame_ms in iter_frame_ms(data[:_MAX_ANIMATION_BYTES]):
        frames += 1
        total_ms += frame_ms if frame_ms > _MIN_FRAME_MS else _DEFAULT_FRAME_MS
        if frames >= _MAX_FRAMES:
            break
    return Animation(frames, round(total_ms)) if frames > 1 else STILL


def _iter_gif_ms(data: bytes) -> Iterator[float]:
    """Yield the duration of each frame: graphic control extensions precede their frame."""
    at = 13 + _palette_bytes(data[10]) if len(data) > 13 else len(data)
    shown_ms = 0.0
    while at + 10 <= len(data):
        if data[at] == 0x2C:
            yield shown_ms
            at = _skip_blocks(data, at + 11 + _palette_bytes(data[at + 9]))
        elif data[at] == 0x21:
            if data[at + 1] == 0xF9:
                shown_ms = 10.0 * int.from_bytes(data[at + 4 : at + 6], "little")
            at = _skip_blocks(data, at + 2)
        else:
            return


def _palette_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def _iter_png_ms(data: bytes) -> Iterator[float]:
    """Yield the duration of each frame; only animations have an ``acTL`` chunk before ``IDAT``."""
    first = data.find(b"IDAT")
    at = 8
    if data.find(b"acTL", at, max(first, 0)) < 0:
        return
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"fcTL" and at + 34 <= len(data):
            numerator, denominator = struct.unpack_from(">HH", data, at + 28)
            yield 1000.0 * numerator / (denominator or 100)
        at += size + 12


def _iter_webp_ms(data: bytes) -> Iterator[float]:
    """Yield the duration of each frame; only files with a ``VP8X`` chunk can be animated."""
    if data[12:16] != b"VP8X" or len(data) < 21 or not data[20] & 2:
        return
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"ANMF":
            yield float(int.from_bytes(data[at + 20 : at + 23], "little"))
        at += 8 + size + size % 2


# ---- MP4 videos

#: Limit of boxes on one level; real files have a few.
_MAX_BOXES = 1000


class VideoInfo(NamedTuple):
    width: int
    height: int
    duration_ms: int


def parse_mp4(data: bytes) -> VideoInfo | None:
    """Return size and duration of an MP4 file; None if its boxes do not tell."""
    moov = _find_box(data, 0, len(data), b"moov")
    if moov is None:
        return None
    head = _find_box(data, *moov, b"mvhd")
    duration_ms = _parse_video_duration(data, *head) if head else 0
    for kind, start, stop in _iter_boxes(data, *moov):
        track = _find_box(data, start, stop, b"tkhd") if kind == b"trak" else None
        # Audio tracks have no size.
        if track and (size := _parse_video_size(data, *track)) != (0, 0):
            return VideoInfo(*size, duration_ms)
    return None


def _parse_video_duration(data: bytes, start: int, stop: int) -> int:
    """Parse an ``mvhd`` box; its version (first byte) tells whether times have 32 or 64 bits."""
    form = struct.Struct(">12xII" if data[start : start + 1] == b"\0" else ">20xIQ")
    if start + form.size > stop:
        return 0
    scale, duration = form.unpack_from(data, start)
    return round(1000 * duration / scale) if scale else 0


def _parse_video_size(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """Parse a ``tkhd`` box, which ends with width and height as 16.16 fixed-point numbers."""
    if stop - start < 84:
        return 0, 0
    width, height = struct.unpack_from(">II", data, stop - 8)
    return width >> 16, height >> 16


def _find_box(data: bytes, start: int, stop: int, wanted: bytes) -> tuple[int, int] | None:
    boxes = _iter_boxes(data, start, stop)
    return next(((begin, end) for kind, begin, end in boxes if kind == wanted), None)


def _iter_boxes(data: bytes, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield type, start and end of the contents of each box."""
    for _ in range(_MAX_BOXES):
        if start + 8 > stop:
            return
        size, kind = struct.unpack_from(">I4s", data, start)
        inside = start + 8
        if size == 1 and start + 16 <= stop:
            (size,) = struct.unpack_from(">Q", data, inside)
            inside += 8
        end = stop if size == 0 else start + size
        if not inside <= end <= stop:
            return
        yield kind, inside, end
        start = end
