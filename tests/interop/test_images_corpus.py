"""The Images dashboard returns every image of real logs with the logged pixels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.analysis.media.conftest import Open, open_log
from tests.interop.test_corpus import read_oracle, unpack
from tracklight.analysis.media import SeriesSteps, StepsRequest, ValueRequest
from tracklight.dashboards.images import ImageRequest, Images, PixelsRequest, ThumbnailRequest

__all__ = ["open_log"]

CASES = "jax legacy_v1 sampling seed000 seed001 seed002 seed003 torch".split()


@pytest.mark.parametrize("case", CASES)
def test_returns_every_image(case: str, tmp_path: Path, open_log: Open) -> None:
    dashboard = Images(open_log(unpack(case, tmp_path)))
    for (run, tag), about in _read_tags(case).items():
        (steps,) = dashboard.steps(StepsRequest([tag], [run], overwritten=True)).series
        (current,) = dashboard.steps(StepsRequest([tag], [run])).series
        # TensorBoard drops points overwritten by a restart, but keeps repeated steps.
        assert about["n"] in (len(steps.step), len(current.step))
        assert (steps.step[0], steps.step[-1]) == (about["first"]["step"], about["last"]["step"])
        for request in _list_requests(steps):
            parts = dashboard.about(request).parts
            assert not any(part.problem for part in parts)
            for part in parts:
                _check_pixels(dashboard, request, part.part)
        assert len(dashboard.about(_list_requests(steps)[0]).parts) == about["first"]["samples"]


def test_corpus_has_images() -> None:
    counts = {case: len(_read_tags(case)) for case in CASES}
    assert {case for case, count in counts.items() if count} >= {
        "jax",
        "legacy_v1",
        "sampling",
        "seed003",
        "torch",
    }


def _read_tags(case: str) -> dict[tuple[str, str], Any]:
    runs = read_oracle(case)["multiplexer"]["runs"]
    return {
        (run, tag): about
        for run, info in runs.items()
        for tag, about in info["plugins"].get("images", {}).items()
    }


def _list_requests(steps: SeriesSteps) -> list[ValueRequest]:
    pairs = zip(steps.index.tolist(), steps.fingerprint.tolist(), strict=True)
    return [ValueRequest(steps.run, steps.tag, index, mark) for index, mark in pairs]


def _check_pixels(dashboard: Images, request: ValueRequest, part: int) -> None:
    """Compare the pixels of the bottom right corner with Pillow."""
    location = (request.run, request.tag, request.index, request.fingerprint, part)
    pixels = _decode(dashboard.picture(ImageRequest(*location)).content)
    height, width = pixels.shape[:2]
    x, y = max(0, width - 64), max(0, height - 64)
    response = dashboard.pixels(PixelsRequest(*location, x=x, y=y, width=64, height=64))
    np.testing.assert_array_equal(response.values, pixels[y:, x:].ravel())
    thumbnail = _decode(dashboard.thumbnail(ThumbnailRequest(*location)).content)
    assert max(thumbnail.shape[:2]) == min(256, max(width, height))


def _decode(data: bytes) -> NDArray[Any]:
    image = Image.open(io.BytesIO(data))
    return np.atleast_3d(np.asarray(image.convert("RGB") if image.mode == "P" else image))
