from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tracklight.analysis.embeddings.loading import SpriteSheet, read_sprite_sheet
from tracklight.errors import FormatError


def sheet(width: int, height: int) -> io.BytesIO:
    buffer = io.BytesIO()
    Image.new("L", (width, height)).save(buffer, "PNG")
    return buffer


def test_sheets_need_not_be_square() -> None:
    assert read_sprite_sheet(sheet(100, 20), (10, 20), 10) == SpriteSheet(100, 20, 10, 20, 10)
    assert read_sprite_sheet(sheet(33, 20), (10, 5), 12) == SpriteSheet(33, 20, 10, 5, 3)


def test_without_a_size_the_grid_is_square() -> None:
    assert read_sprite_sheet(sheet(30, 60), (), 8) == SpriteSheet(30, 60, 10, 20, 3)


@pytest.mark.parametrize(
    ("size", "count", "sentence"),
    [
        ((10, 10), 5, "30 x 10 pixels, which has room for 3 pictures of 10 x 10, not for 5"),
        ((40, 10), 1, "room for 0 pictures"),
        ((), 2000, "room for 0 pictures of 0 x 0, not for 2000"),
    ],
)
def test_one_that_is_too_small_is_told(size: tuple[int, ...], count: int, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_sprite_sheet(sheet(30, 10), size, count)


def test_what_is_no_picture_is_told() -> None:
    with pytest.raises(FormatError, match="no picture of a kind that is known"):
        read_sprite_sheet(io.BytesIO(b"hello"), (1, 1), 1)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_read_or_refused(data: bytes, cut: int) -> None:
    with contextlib.suppress(FormatError):
        read_sprite_sheet(io.BytesIO(sheet(3, 3).getvalue()[:cut] + data), (1, 1), 9)
