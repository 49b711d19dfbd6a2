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


def read_all(value: Any, shape: tuple[int, int] = (2, 5)) -> tuple[list[Bookmark], list[str]]:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    bookmarks, notes = read_bookmarks(io.BytesIO(text), shape)
    return bookmarks, [str(note) for note in notes]


def read(value: Any) -> list[Bookmark]:
    bookmarks, notes = read_all(value)
    assert notes == []
    return bookmarks


def test_reads_bookmarks_of_tensorboard() -> None:
    (bookmark,) = read([STATE])
    assert bookmark.label == "State 1"
    assert bookmark.selected_projection == "tsne"
    assert (bookmark.tsne_iteration, bookmark.tsne_perplexity) == (300, 12)
    assert bookmark.tsne_is_3d is False
    assert bookmark.camera_def == CameraDef(True, (0, 0, 4), (0.5, 0, 0), 2)
    assert (bookmark.custom_x_left_text, bookmark.custom_y_up_text) == ("man", None)


@pytest.mark.parametrize("value", [b"", b"{}", b"[1", b"\xff"])
def test_rejects_invalid_bookmarks(value: Any) -> None:
    with pytest.raises(FormatError, match="invalid bookmarks"):
        read(value)


@pytest.mark.parametrize(
    ("bad", "note"),
    [
        (1, "bookmark 2 is not shown: it is not a saved view"),
        ({"label": 3}, "bookmark 2 is not shown: the value of label is not of the right type"),
        (
            {"label": "B", "tSNEPerplexity": "12"},
            'bookmark "B" is not shown: the value of tSNEPerplexity is not of the right type',
        ),
        (
            {"label": "C", "cameraDef": {**STATE["cameraDef"], "position": [0, 4]}},
            'bookmark "C" is not shown: the value of cameraDef.position is not of the right type',
        ),
        (
            {**STATE, "dataSetDimensions": [3, 5]},
            'bookmark "State 1" is not shown: it belongs to vectors of shape [3, 5], not [2, 5]',
        ),
    ],
)
def test_leaves_out_a_bookmark_with_a_bad_field(bad: Any, note: str) -> None:
    bookmarks, notes = read_all([STATE, bad, {**STATE, "label": "last", "tSNEPerplexity": 0}])
    assert [it.label for it in bookmarks] == ["State 1", "last"]
    assert notes == [note]


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        read(data)
