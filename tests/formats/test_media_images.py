from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tracklight.errors import FormatError
from tracklight.formats.media import decode_image, encode_png


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_round_trip(channels: int) -> None:
    pixels = np.arange(2 * 3 * channels, dtype=np.uint8).reshape(2, 3, channels)

    np.testing.assert_array_equal(decode_image(encode_png(pixels)), pixels)


@pytest.mark.parametrize(
    ("mode", "kind", "channels"),
    [("1", "PNG", 1), ("P", "PNG", 3), ("P", "GIF", 3), ("CMYK", "JPEG", 3), ("I;16", "PNG", 1)],
)
def test_converts_color_modes(mode: str, kind: str, channels: int) -> None:
    stream = io.BytesIO()
    Image.new(mode, (3, 2)).save(stream, kind)

    assert decode_image(stream.getvalue()).shape == (2, 3, channels)


def test_transparent_palette_keeps_alpha() -> None:
    stream = io.BytesIO()
    Image.new("P", (3, 2)).save(stream, "PNG", transparency=0)

    assert decode_image(stream.getvalue()).tolist()[0][0] == [0, 0, 0, 0]


@pytest.mark.parametrize("encoded", [b"", b"<html>", encode_png(np.zeros((9, 9), np.uint8))[:44]])
def test_invalid_image_raises(encoded: bytes) -> None:
    with pytest.raises(FormatError, match="cannot be decoded as an image"):
        decode_image(encoded)


def test_formats_that_run_other_programs_raise() -> None:
    """Pillow decodes EPS with Ghostscript."""
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "EPS")
    with pytest.raises(FormatError, match="cannot be decoded as an image"):
        decode_image(stream.getvalue())
