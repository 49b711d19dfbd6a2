"""What kind of file some bytes are, told by their first few; what a log claims is not believed."""

from __future__ import annotations

UNKNOWN = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"

_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"\xff\xfa": "audio/mpeg",
    b"\xff\xf3": "audio/mpeg",
    b"\xff\xf2": "audio/mpeg",
    b"\xff\xf1": "audio/aac",
    b"\xff\xf9": "audio/aac",
    b"fLaC": "audio/flac",
    b"OggS": "audio/ogg",
    b"\x1a\x45\xdf\xa3": "video/webm",
}
_BRANDS = {b"avif": "image/avif", b"M4A ": "audio/mp4"}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def sniff(data: bytes) -> str:
    """A type that a browser can show and that can run nothing; else one that it only saves."""
    if data[:4] == b"RIFF":
        return _RIFF.get(bytes(data[8:12]), UNKNOWN)
    if data[4:8] == b"ftyp":
        return _BRANDS.get(bytes(data[8:12]), "video/mp4")
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), UNKNOWN)
