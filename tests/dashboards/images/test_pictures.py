"""However many pictures are looked at, no more are held than may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.images.conftest import picture_record
from tests.dashboards.images.samples import noise, save
from tests.index import logs
from tests.media.conftest import Open, open_log
from tracklight.dashboards.images import pictures
from tracklight.dashboards.images.asks import PixelsAsk, ThumbnailAsk
from tracklight.dashboards.images.pictures import Pictures
from tracklight.media.shelf import Shelf

__all__ = ["open_log"]


def test_memory_does_not_grow_with_what_was_seen(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelves: list[Shelf[Any, Any]] = []

    def make_shelf(limit_bytes: int, idle_s: float | None = None) -> Shelf[Any, Any]:
        shelves.append(Shelf(min(limit_bytes, 900_000), idle_s))
        return shelves[-1]

    monkeypatch.setattr(pictures, "Shelf", make_shelf)
    files = ([save(noise(300, 300, 3, seed=seed))] for seed in range(20))
    records = (picture_record(step, parts) for step, parts in enumerate(files))
    logs.write(tmp_path, "a", b"".join(records))
    seen = Pictures(open_log(tmp_path))
    for index in range(20):
        seen.thumbnail(ThumbnailAsk("a", "picture", index))
        seen.pixels(PixelsAsk("a", "picture", index))
        assert all(shelf.held_bytes <= 900_000 for shelf in shelves)
    assert sum(shelf.held_bytes > 0 for shelf in shelves) == 2
