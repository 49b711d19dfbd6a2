"""Which kind of file a picture is, told by its bytes, and what can be done with it."""

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

#: As far as this the root of an SVG file is looked for.
_HEAD_BYTES = 4096

_TIFF_STARTS = (b"II*\0", b"MM\0*")


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """``reader`` is the class of Pillow's that opens such files; none for videos and drawings."""

    name: str
    suffix: str
    media_type: str = ""
    """What browsers know it by if they show it as it is; else it has to become a PNG file."""
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
    """`UNKNOWN` for what is no picture."""
    known = _BY_MEDIA_TYPE.get(sniff_media_type(data))
    if known is not None:
        return known
    if data.startswith(_TIFF_STARTS):
        return _TIFF
    return SVG if _is_svg(data[:_HEAD_BYTES]) else UNKNOWN


def _is_svg(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and b"<svg" in text.lower()


# Size and length of an MP4 video, from its boxes.

#: Boxes beside each other that are looked at; a video has a few.
_MAX_BOXES = 1000


class VideoInfo(NamedTuple):
    width: int
    height: int
    duration_ms: int


def parse_mp4(data: bytes) -> VideoInfo | None:
    """None where the boxes do not say."""
    moov = _find_box(data, 0, len(data), b"moov")
    if moov is None:
        return None
    head = _find_box(data, *moov, b"mvhd")
    duration_ms = _parse_video_duration(data, *head) if head else 0
    for kind, start, stop in _iter_boxes(data, *moov):
        track = _find_box(data, start, stop, b"tkhd") if kind == b"trak" else None
        # A track of sound has no size.
        if track and (size := _parse_video_size(data, *track)) != (0, 0):
            return VideoInfo(*size, duration_ms)
    return None


def _parse_video_duration(data: bytes, start: int, stop: int) -> int:
    """The first byte says whether times have 32 or 64 bits."""
    form = struct.Struct(">12xII" if data[start : start + 1] == b"\0" else ">20xIQ")
    if start + form.size > stop:
        return 0
    scale, duration = form.unpack_from(data, start)
    return round(1000 * duration / scale) if scale else 0


def _parse_video_size(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """The last two numbers of the box, with sixteen bits behind the point."""
    if stop - start < 84:
        return 0, 0
    width, height = struct.unpack_from(">II", data, stop - 8)
    return width >> 16, height >> 16


def _find_box(data: bytes, start: int, stop: int, wanted: bytes) -> tuple[int, int] | None:
    boxes = _iter_boxes(data, start, stop)
    return next(((begin, end) for kind, begin, end in boxes if kind == wanted), None)


def _iter_boxes(data: bytes, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """The kind of each box and where its contents are."""
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


# How many frames a picture has and how long they take, from its blocks alone.
#
# Pillow knows as well, but goes through the frames of a GIF one by one, which may be many.

#: Counting ends here: a hostile file could have millions of frames, or of blocks without any.
_MAX_FRAMES = 100_000

_MAX_BYTES = 64 << 20

#: What browsers take for a frame that claims to be shown for no time.
_DEFAULT_FRAME_MS = 100

_MIN_FRAME_MS = 10


class Animation(NamedTuple):
    """One turn of an animation; of a still picture, one frame and no time."""

    frames: int
    duration_ms: int


STILL = Animation(1, 0)


def parse_animation(kind: ImageFormat, data: bytes) -> Animation:
    walk = {"GIF": _iter_gif_ms, "PNG": _iter_png_ms, "WebP": _iter_webp_ms}.get(kind.name)
    if walk is None:
        return STILL
    frames, total_ms = 0, 0.0
    for shown_ms in walk(data[:_MAX_BYTES]):
        frames += 1
        total_ms += shown_ms if shown_ms > _MIN_FRAME_MS else _DEFAULT_FRAME_MS
        if frames >= _MAX_FRAMES:
            break
    return Animation(frames, round(total_ms)) if frames > 1 else STILL


def _iter_gif_ms(data: bytes) -> Iterator[float]:
    """Graphic control extensions come before the frame that they are about."""
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
    """Only an animation has an ``acTL`` chunk, which comes before the pixels."""
    first = data.find(b"IDAT")
    at = 8
    if data.find(b"acTL", at, max(first, 0)) < 0:
        return
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"fcTL" and at + 34 <= len(data):
            part, whole = struct.unpack_from(">HH", data, at + 28)
            yield 1000.0 * part / (whole or 100)
        at += size + 12


def _iter_webp_ms(data: bytes) -> Iterator[float]:
    """Only the extended form, whose first chunk says so, can hold an animation."""
    if data[12:16] != b"VP8X" or len(data) < 21 or not data[20] & 2:
        return
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"ANMF":
            yield float(int.from_bytes(data[at + 20 : at + 23], "little"))
        at += 8 + size + size % 2


# What a picture says of itself, without decoding it.

#: A picture with more pixels is not decoded; it would take most of a computer's memory.
MAX_PIXELS = 200_000_000

_ORIENTATION = 0x0112

#: Bits of a channel in Pillow's modes, where they are not eight.
_BITS = {"1": 1, "I": 32, "F": 32, "I;16": 16, "I;16B": 16, "I;16L": 16}

#: PNG's colour types where a channel has sixteen bits; for most of them Pillow has no mode.
_DEEP_MODES = {0: "I;16", 2: "RGB;16", 4: "LA;16", 6: "RGBA;16"}

_CHANNELS = {"RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4, "LA": 2}


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Width and height are those of the file; ``orientation`` says how it is to be turned."""

    format: ImageFormat
    width: int
    height: int
    mode: str
    """One of Pillow's, or ``RGB;16``, ``LA;16``, ``RGBA;16``."""
    frames: int
    duration_ms: int
    """How long one turn of an animation or video takes."""
    orientation: int

    @property
    def bits(self) -> int:
        """Of a channel; of a video neither these nor the channels are known."""
        if not self.mode:
            return 0
        return 16 if self.mode.endswith(";16") else _BITS.get(self.mode, 8)

    @property
    def channels(self) -> int:
        """Those of the file: a palette is one."""
        if not self.mode:
            return 0
        return _CHANNELS.get(self.mode.removesuffix(";16"), 1)

    @property
    def pixels(self) -> int:
        return self.width * self.height

    @property
    def display_size(self) -> tuple[int, int]:
        is_on_its_side = self.orientation >= 5
        return (self.height, self.width) if is_on_its_side else (self.width, self.height)


def read_header(data: bytes) -> ImageHeader:
    """Raises a `FormatError` for what can or may not be shown."""
    kind = detect_format(data)
    if kind.is_video:
        video = parse_mp4(data) if kind.name == "MP4" else None
        width, height, duration_ms = video or (0, 0, 0)
        return ImageHeader(kind, width, height, "", 0, duration_ms, 1)
    _check(kind, data)
    with open_image(kind, data) as file:
        width, height = file.size
        orientation = _read_orientation(kind, file)
        mode = _find_deep_mode(kind, data) or file.mode
    if width * height > MAX_PIXELS:
        raise FormatError(
            f"a picture of {width:,} x {height:,} pixels is larger than the {MAX_PIXELS:,} that "
            "are decoded"
        )
    return ImageHeader(kind, width, height, mode, *parse_animation(kind, data), orientation)


def open_image(kind: ImageFormat, data: bytes) -> ImageFile:
    """A picture of which the header was read; the pixels are decoded when they are needed."""
    if kind.pillow_class is None:
        raise FormatError(f"a file of the kind {kind.name} has no pixels to decode")
    module, name = kind.pillow_class
    try:
        # By the class and not by Pillow's `open`, which would also try what we did not ask for:
        # some of its readers start other programs.
        opened: ImageFile = getattr(import_module(f"PIL.{module}"), name)(io.BytesIO(data))
        return opened
    # Readers of files from anywhere fail in any way they like.
    except Exception as error:
        raise make_decode_error(kind, error) from error


def make_decode_error(kind: ImageFormat, error: Exception) -> FormatError:
    reason = str(error).strip(" .") or type(error).__name__
    return FormatError(f"this {kind.name} file cannot be decoded: {reason:.150}")


def _check(kind: ImageFormat, data: bytes) -> None:
    if not data:
        raise FormatError("this picture has no bytes")
    if kind is SVG:
        raise FormatError(
            "this is a drawing in SVG, which may hold a program, so it is not shown; download it "
            "to look at it"
        )
    if kind is UNKNOWN:
        raise FormatError(
            f"these {len(data):,} bytes are no picture of a known kind; they begin with "
            f"{data[:8].hex(' ')}"
        )
    if _is_truncated(kind, data):
        raise FormatError(f"this {kind.name} file ends too early, after {len(data):,} bytes")


def _is_truncated(kind: ImageFormat, data: bytes) -> bool:
    """Whether the end of the file is missing, as far as that is quickly told."""
    if kind.name == "PNG":
        return data.rfind(b"IEND") < 0
    if kind.name == "JPEG":
        return data.rfind(b"\xff\xd9") < 0
    if kind.name == "GIF":
        return not data.rstrip(b"\0").endswith(b";")
    if kind.name == "WebP":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return False


def _read_orientation(kind: ImageFormat, file: ImageFile) -> int:
    """Browsers turn photographs only."""
    if kind.name != "JPEG":
        return 1
    try:
        found = file.getexif().get(_ORIENTATION, 1)
    except Exception:  # whatever is wrong with it, the picture may still be seen
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _find_deep_mode(kind: ImageFormat, data: bytes) -> str | None:
    if kind.name != "PNG" or len(data) < 26 or data[24] != 16:
        return None
    return _DEEP_MODES.get(data[25])
