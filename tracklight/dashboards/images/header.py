"""What a picture says of itself, without decoding it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tracklight.dashboards.images.kinds import SVG, UNKNOWN, FileKind, find_kind
from tracklight.dashboards.images.playing import find_playing
from tracklight.dashboards.images.video import read_video
from tracklight.errors import FormatError

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

#: A picture with more pixels is not decoded; it would take most of a computer's memory.
MOST_PIXELS = 200_000_000

_ORIENTATION = 0x0112
#: Bits of a channel in Pillow's modes, where they are not eight.
_BITS = {"1": 1, "I": 32, "F": 32, "I;16": 16, "I;16B": 16, "I;16L": 16}
#: PNG's colour types where a channel has sixteen bits; for most of them Pillow has no mode.
_DEEP_MODES = {0: "I;16", 2: "RGB;16", 4: "LA;16", 6: "RGBA;16"}
_CHANNELS = {"RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4, "LA": 2}


@dataclass(frozen=True, slots=True)
class Header:
    """Width and height are those of the file; ``orientation`` says how it is to be turned."""

    kind: FileKind
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
    def shown_size(self) -> tuple[int, int]:
        is_on_its_side = self.orientation >= 5
        return (self.height, self.width) if is_on_its_side else (self.width, self.height)


def read_header(data: bytes) -> Header:
    """Raises a `FormatError` for what can or may not be shown."""
    kind = find_kind(data)
    if kind.is_video:
        video = read_video(data) if kind.name == "MP4" else None
        width, height, duration_ms = video or (0, 0, 0)
        return Header(kind, width, height, "", 0, duration_ms, 1)
    _check(kind, data)
    with open_picture(kind, data) as file:
        width, height = file.size
        orientation = _find_orientation(kind, file)
        mode = _find_deep_mode(kind, data) or file.mode
    if width * height > MOST_PIXELS:
        raise FormatError(
            f"a picture of {width:,} x {height:,} pixels is larger than the {MOST_PIXELS:,} that "
            "are decoded"
        )
    return Header(kind, width, height, mode, *find_playing(kind, data), orientation)


def open_picture(kind: FileKind, data: bytes) -> ImageFile:
    """A picture of which the header was read; the pixels are decoded when they are needed."""
    if kind.reader is None:
        raise FormatError(f"a file of the kind {kind.name} has no pixels to decode")
    module, name = kind.reader
    try:
        # By the class and not by Pillow's `open`, which would also try what we did not ask for:
        # some of its readers start other programs.
        opened: ImageFile = getattr(import_module(f"PIL.{module}"), name)(io.BytesIO(data))
        return opened
    # Readers of files from anywhere fail in any way they like.
    except Exception as error:
        raise cannot_decode(kind, error) from error


def cannot_decode(kind: FileKind, error: Exception) -> FormatError:
    reason = str(error).strip(" .") or type(error).__name__
    return FormatError(f"this {kind.name} file cannot be decoded: {reason:.150}")


def _check(kind: FileKind, data: bytes) -> None:
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
    if _is_cut(kind, data):
        raise FormatError(f"this {kind.name} file ends too early, after {len(data):,} bytes")


def _is_cut(kind: FileKind, data: bytes) -> bool:
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


def _find_orientation(kind: FileKind, file: ImageFile) -> int:
    """Browsers turn photographs only."""
    if kind.name != "JPEG":
        return 1
    try:
        found = file.getexif().get(_ORIENTATION, 1)
    except Exception:  # whatever is wrong with it, the picture may still be seen
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _find_deep_mode(kind: FileKind, data: bytes) -> str | None:
    if kind.name != "PNG" or len(data) < 26 or data[24] != 16:
        return None
    return _DEEP_MODES.get(data[25])
