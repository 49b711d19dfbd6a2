from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tracklight.analysis.embeddings import SpriteSheet, read_sprite_sheet
from tracklight.errors import FormatError


def make_image(width: int, height: int) -> io.BytesIO:
    buffer = io.BytesIO()
    Image.new("L", (width, height)).save(buffer, "PNG")
    return buffer


def test_sheet_need_not_be_square() -> None:
    assert read_sprite_sheet(make_image(100, 20), (10, 20), 10) == SpriteSheet(100, 20, 10, 20, 10)
    assert read_sprite_sheet(make_image(33, 20), (10, 5), 12) == SpriteSheet(33, 20, 10, 5, 3)


def test_grid_is_square_without_a_cell_size() -> None:
    assert read_sprite_sheet(make_image(30, 60), (), 8) == SpriteSheet(30, 60, 10, 20, 3)


@pytest.mark.parametrize(
    ("size", "count", "message"),
    [
        ((10, 10), 5, "30 x 10 pixels has 3 cells of 10 x 10; 5 are needed"),
        ((40, 10), 1, "has 0 cells"),
        ((), 2000, "has 0 cells of 0 x 0; 2000 are needed"),
    ],
)
def test_rejects_images_that_are_too_small(size: tuple[int, ...], count: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_sprite_sheet(make_image(30, 10), size, count)


def test_rejects_files_that_are_not_images() -> None:
    with pytest.raises(FormatError, match="not an image in a known format"):
        read_sprite_sheet(io.BytesIO(b"hello"), (1, 1), 1)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_read_or_rejected(data: bytes, cut: int) -> None:
    with contextlib.suppress(FormatError):
        read_sprite_sheet(io.BytesIO(make_image(3, 3).getvalue()[:cut] + data), (1, 1), 9)
