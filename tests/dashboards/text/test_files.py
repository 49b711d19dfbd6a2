"""Texts are downloaded as they were logged."""

from __future__ import annotations

import json

import msgspec
import numpy as np

from tests.dashboards.text.conftest import Show


def test_text_as_file(show: Show) -> None:
    text = "# Title\r\n\n\ttab ünï 🎈"
    board = show(**{"a/b": [("notes/card", text)]})
    (value,) = board.values("notes/card")
    blob = board.request("raw", **msgspec.to_builtins(value), download=True)
    assert (blob.content.decode(), blob.filename) == (text, "a_b_notes_card_0.md")
    assert blob.immutable
    seen = board.request("raw", **msgspec.to_builtins(value))
    assert (seen.filename, seen.media_type) == (None, "text/plain; charset=utf-8")


def test_array_as_json(show: Show) -> None:
    texts = np.array([f"{n}" for n in range(8)], object).reshape(2, 2, 2)
    board = show(run=[("words", texts)])
    blob = board.request("raw", **msgspec.to_builtins(board.values("words")[0]))
    assert json.loads(blob.content) == texts.tolist()
