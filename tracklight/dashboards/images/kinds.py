"""Which kind of file a picture is, told by its bytes, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from tracklight.formats.media_type import sniff

#: As far as this the root of an SVG file is looked for.
_HEAD_BYTES = 4096
_TIFF_STARTS = (b"II*\0", b"MM\0*")


@dataclass(frozen=True, slots=True)
class FileKind:
    """``reader`` is the class of Pillow's that opens such files; none for videos and drawings."""

    name: str
    suffix: str
    media_type: str = ""
    """What browsers know it by if they show it as it is; else it has to become a PNG file."""
    reader: tuple[str, str] | None = None

    @property
    def is_video(self) -> bool:
        return self.media_type.startswith("video/")


UNKNOWN = FileKind("unknown", "bin")
SVG = FileKind("SVG", "svg")
_TIFF = FileKind("TIFF", "tiff", reader=("TiffImagePlugin", "TiffImageFile"))

_BY_MEDIA_TYPE = {
    "image/png": FileKind("PNG", "png", "image/png", ("PngImagePlugin", "PngImageFile")),
    "image/jpeg": FileKind("JPEG", "jpg", "image/jpeg", ("JpegImagePlugin", "JpegImageFile")),
    "image/gif": FileKind("GIF", "gif", "image/gif", ("GifImagePlugin", "GifImageFile")),
    "image/webp": FileKind("WebP", "webp", "image/webp", ("WebPImagePlugin", "WebPImageFile")),
    "image/avif": FileKind("AVIF", "avif", "image/avif", ("AvifImagePlugin", "AvifImageFile")),
    "image/bmp": FileKind("BMP", "bmp", reader=("BmpImagePlugin", "BmpImageFile")),
    "video/mp4": FileKind("MP4", "mp4", "video/mp4"),
    "video/webm": FileKind("WebM", "webm", "video/webm"),
}


def find_kind(data: bytes) -> FileKind:
    """`UNKNOWN` for what is no picture."""
    known = _BY_MEDIA_TYPE.get(sniff(data))
    if known is not None:
        return known
    if data.startswith(_TIFF_STARTS):
        return _TIFF
    return SVG if _is_svg(data[:_HEAD_BYTES]) else UNKNOWN


def _is_svg(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and b"<svg" in text.lower()
