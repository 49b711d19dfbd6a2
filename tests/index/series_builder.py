"""Build series from plain lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.types import Series


def series(
    steps: Sequence[int],
    values: Sequence[float],
    *,
    wall: Sequence[float] | None = None,
    overwritten: Sequence[int] = (),
    run: str = "run",
    tag: str = "loss",
) -> Series:
    """Return a series; wall times default to one per second from 1000."""
    step = np.array(steps, np.int64)
    times = 1000.0 + np.arange(len(step)) if wall is None else np.array(wall, np.float64)
    marks = np.zeros(len(step), np.bool_)
    marks[list(overwritten)] = True
    return Series(run, tag, step, times, np.array(values, np.float64), marks)
