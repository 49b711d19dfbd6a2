"""Caches of the image renderer are bounded and never stale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.media.conftest import Open, open_log
from tests.dashboards.images.conftest import picture_record
from tests.dashboards.images.samples import noise, save
from tests.index import logs
from tracklight.analysis.media import StepsRequest, list_steps
from tracklight.dashboards import images
from tracklight.dashboards.images import (
    ImageRenderer,
    PixelsRequest,
    ThumbnailRequest,
    raster,
)
from tracklight.index.catalog import Catalog
from tracklight.util.memory import LruCache

__all__ = ["open_log"]


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    caches: list[LruCache[Any, Any]] = []

    def make_cache(max_bytes: int, idle_s: float | None = None) -> LruCache[Any, Any]:
        caches.append(LruCache(max_bytes=min(max_bytes, 900_000), idle_s=idle_s))
        return caches[-1]

    monkeypatch.setattr(images, "LruCache", make_cache)
    monkeypatch.setattr(raster, "LruCache", make_cache)
    files = ([save(noise(300, 300, 3, seed=seed))] for seed in range(20))
    records = (picture_record(step, parts) for step, parts in enumerate(files))
    logs.write(tmp_path, "a", b"".join(records))
    context = open_log(tmp_path)
    renderer = ImageRenderer(context)
    (steps,) = list_steps(context, StepsRequest(["picture"])).series
    for index, mark in enumerate(steps.fingerprint.tolist()):
        renderer.render_thumbnail(ThumbnailRequest("a", "picture", index, mark))
        renderer.read_pixels(PixelsRequest("a", "picture", index, mark))
        assert all(cache.size_bytes <= 900_000 for cache in caches)
    assert sum(cache.size_bytes > 0 for cache in caches) == 2


def test_requests_without_a_fingerprint_are_not_cached(tmp_path: Path, open_log: Open) -> None:
    """The file is rewritten with another image at the same position."""
    first, second = noise(300, 300, 3, seed=1), noise(300, 400, 3, seed=2)
    logs.write(tmp_path, "a", picture_record(1, [save(first)]))
    context = open_log(tmp_path)
    renderer = ImageRenderer(context)
    request = PixelsRequest("a", "picture", 0, width=3)
    assert renderer.read_pixels(request).values.tolist() == first[0, :3].ravel().tolist()
    logs.write(tmp_path, "a", picture_record(1, [save(second)]))
    assert isinstance(context.log, Catalog)
    context.log.refresh()
    assert renderer.read_pixels(request).values.tolist() == second[0, :3].ravel().tolist()
