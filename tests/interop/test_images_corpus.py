"""Every picture of real logs is shown, bit by bit as it was logged, whichever program wrote it."""

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
from tracklight.analysis.media.values import SeriesSteps, StepsRequest, ValueRequest
from tracklight.dashboards.images import Images
from tracklight.dashboards.images.schemas import ImageRequest, PixelsRequest, ThumbnailRequest

__all__ = ["open_log"]

CASES = "jax legacy_v1 sampling seed000 seed001 seed002 seed003 torch".split()


@pytest.mark.parametrize("case", CASES)
def test_every_picture_is_there(case: str, tmp_path: Path, open_log: Open) -> None:
    dashboard = Images(open_log(unpack(case, tmp_path)))
    for (run, tag), about in _read_tags(case).items():
        (steps,) = dashboard.steps(StepsRequest([tag], [run], overwritten=True)).series
        (current,) = dashboard.steps(StepsRequest([tag], [run])).series
        # TensorBoard forgets what a restart overwrote; what was just logged again, it keeps.
        assert about["n"] in (len(steps.step), len(current.step))
        assert (steps.step[0], steps.step[-1]) == (about["first"]["step"], about["last"]["step"])
        for ask in _iter_asks(steps):
            parts = dashboard.about(ask).parts
            assert not any(part.problem for part in parts)
            for part in parts:
                _check_pixels(dashboard, ask, part.part)
        assert len(dashboard.about(_iter_asks(steps)[0]).parts) == about["first"]["samples"]


def test_the_corpus_has_pictures() -> None:
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
        for run, told in runs.items()
        for tag, about in told["plugins"].get("images", {}).items()
    }


def _iter_asks(steps: SeriesSteps) -> list[ValueRequest]:
    pairs = zip(steps.index.tolist(), steps.mark.tolist(), strict=True)
    return [ValueRequest(steps.run, steps.tag, index, mark) for index, mark in pairs]


def _check_pixels(dashboard: Images, ask: ValueRequest, part: int) -> None:
    """What Pillow finds in the file is what is told of its last corner."""
    place = (ask.run, ask.tag, ask.index, ask.mark, part)
    pixels = _decode(dashboard.picture(ImageRequest(*place)).content)
    height, width = pixels.shape[:2]
    x, y = max(0, width - 64), max(0, height - 64)
    told = dashboard.pixels(PixelsRequest(*place, x=x, y=y, width=64, height=64))
    np.testing.assert_array_equal(told.values, pixels[y:, x:].ravel())
    thumbnail = _decode(dashboard.thumbnail(ThumbnailRequest(*place)).content)
    assert max(thumbnail.shape[:2]) == min(256, max(width, height))


def _decode(data: bytes) -> NDArray[Any]:
    image = Image.open(io.BytesIO(data))
    return np.atleast_3d(np.asarray(image.convert("RGB") if image.mode == "P" else image))
