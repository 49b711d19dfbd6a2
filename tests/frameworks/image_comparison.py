"""Check that the Images dashboard returns the pixels that a program logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.analysis.media.conftest import Open
from tracklight.analysis.media import StepsRequest, ValueRequest
from tracklight.dashboards.images import Images, PixelsRequest

STEPS = 12
BATCH = np.random.default_rng(5).integers(0, 256, (STEPS, 2, 24, 40, 3)).astype(np.uint8)


def iter_pixels(dashboard: Images, tag: str) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """Yield each step of a tag with the pixels of its images."""
    (steps,) = dashboard.steps(StepsRequest([tag])).series
    rows = zip(steps.index.tolist(), steps.step.tolist(), steps.fingerprint.tolist(), strict=True)
    for index, step, mark in rows:
        location = (steps.run, steps.tag, index, mark)
        parts = dashboard.about(ValueRequest(*location)).parts
        requests = [PixelsRequest(*location, part.part, 0, 0, 64, 64) for part in parts]
        responses = [dashboard.pixels(request) for request in requests]
        yield (
            step,
            [
                response.values.reshape(response.height, response.width, len(response.channels))
                for response in responses
            ],
        )


def check_pixels(logdir: Path, open_log: Open, write: Callable[[Path], str], parts: int) -> None:
    """Write ``BATCH`` with ``write`` and compare the first ``parts`` images of every step."""
    tag = write(logdir / "a")
    pixels = dict(iter_pixels(Images(open_log(logdir)), tag))
    assert list(pixels) == list(range(STEPS))
    for step, images in pixels.items():
        np.testing.assert_array_equal(np.stack(images), BATCH[step][:parts])
