from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.embeddings.discovery import Bookmark, CameraDef, read_bookmarks
from tracklight.errors import FormatError

STATE = {
    "label": "State 1",
    "isSelected": True,
    "selectedProjection": "tsne",
    "dataSetDimensions": [2, 5],
    "tSNEIteration": 300,
    "tSNEPerplexity": 12,
    "tSNEis3d": False,
    "projections": [{"tsne-0": 1.5, "pca-0": None}, {"tsne-0": 2}],
    "cameraDef": {"orthographic": True, "position": [0, 0, 4], "target": [0.5, 0, 0], "zoom": 2},
    "customXLeftText": "man",
    "customYUpText": None,
    "selectedColorOptionName": "label",
    "somethingNew": [1],
}


def read(value: Any, shape: tuple[int, int] = (2, 5)) -> list[Bookmark]:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_bookmarks(io.BytesIO(text), shape)


def test_reads_bookmarks_of_tensorboard() -> None:
    (bookmark,) = read([STATE])
    assert bookmark.label == "State 1"
    assert bookmark.selected_projection == "tsne"
    assert (bookmark.tsne_iteration, bookmark.tsne_perplexity) == (300, 12)
    assert bookmark.tsne_is_3d is False
    assert bookmark.camera_def == CameraDef(True, (0, 0, 4), (0.5, 0, 0), 2)
    assert (bookmark.custom_x_left_text, bookmark.custom_y_up_text) == ("man", None)


@pytest.mark.parametrize("value", [b"", b"{}", [1], [{"label": 3}], b"\xff"])
def test_rejects_invalid_bookmarks(value: Any) -> None:
    with pytest.raises(FormatError, match="invalid bookmarks"):
        read(value)


def test_rejects_bookmarks_of_another_shape() -> None:
    with pytest.raises(FormatError, match=r"shape \[2, 5\], not \[3, 5\]"):
        read([STATE], (3, 5))


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        read(data)
