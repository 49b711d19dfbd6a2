from __future__ import annotations

import pytest

from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, sniff_media_type


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
        (b"RIFF....WAVEfmt ", "audio/wav"),
        (b"RIFF....EVIL", UNKNOWN_MEDIA_TYPE),
        (b"....ftypavif", "image/avif"),
        (b"....ftypM4A ", "audio/mp4"),
        (b"....ftypisom", "video/mp4"),
        (b"ID3\x04....", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"OggS\x00", "audio/ogg"),
        (b"fLaC....", "audio/flac"),
        (b"<svg onload='alert(1)'>", UNKNOWN_MEDIA_TYPE),
        (b"<html><script>", UNKNOWN_MEDIA_TYPE),
        (b"%PDF-1.7", UNKNOWN_MEDIA_TYPE),
        (b"", UNKNOWN_MEDIA_TYPE),
    ],
)
def test_detects_only_types_that_run_no_code(data: bytes, kind: str) -> None:
    assert sniff_media_type(data) == kind
