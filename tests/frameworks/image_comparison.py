"""Check that the Images dashboard returns the pixels that a program logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.analysis.media.conftest import Open
from tracklight.analysis.media.values import StepsRequest, ValueRequest
from tracklight.dashboards.images import Images
from tracklight.dashboards.images.schemas import PixelsRequest

STEPS = 12
BATCH = np.random.default_rng(5).integers(0, 256, (STEPS, 2, 24, 40, 3)).astype(np.uint8)


def iter_shown(dashboard: Images, tag: str) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Every step of a tag, and the pixels of its pictures."""
    (steps,) = dashboard.steps(StepsRequest([tag])).series
    rows = zip(steps.index.tolist(), steps.step.tolist(), steps.mark.tolist(), strict=True)
    for index, step, mark in rows:
        place = (steps.run, steps.tag, index, mark)
        parts = dashboard.about(ValueRequest(*place)).parts
        asks = [PixelsRequest(*place, part.part, 0, 0, 64, 64) for part in parts]
        shown = [dashboard.pixels(ask) for ask in asks]
        yield step, [it.values.reshape(it.height, it.width, len(it.channels)) for it in shown]


def check_pixels(logdir: Path, open_log: Open, write: Callable[[Path], str], parts: int) -> None:
    """Write ``BATCH`` with ``write`` and compare the first ``parts`` images of every step."""
    tag = write(logdir / "a")
    shown = dict(iter_shown(Images(open_log(logdir)), tag))
    assert list(shown) == list(range(STEPS))
    for step, pictures in shown.items():
        np.testing.assert_array_equal(np.stack(pictures), BATCH[step][:parts])
