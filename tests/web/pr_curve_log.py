"""A log of PR curves with known values: two runs, two classes, three steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests import builders as b
from tests.dashboards.pr_curves.curve_logs import count
from tests.web.event_writer import append_records
from tracklight.formats import proto, summary

RUNS = ("base", "large")
CLASSES = ("cat", "dog")
STEPS = (0, 100, 200)
#: Thresholds 0, 0.1 … 1.
THRESHOLDS = 11

_LABELS = [True] * 4 + [False] * 6


def make_curve(run: str, name: str, step: int) -> NDArray[np.float64]:
    """Return the six rows of a curve; the classes separate further with every step."""
    separation = (
        0.05 + 0.15 * STEPS.index(step) + 0.1 * RUNS.index(run) - 0.05 * CLASSES.index(name)
    )
    spread = np.linspace(-0.25, 0.25, 4), np.linspace(-0.25, 0.25, 6)
    scores = np.clip(
        np.concatenate([0.5 + separation + spread[0], 0.5 - separation + spread[1]]), 0, 1
    )
    return count(_LABELS, list(np.round(scores, 2)), THRESHOLDS)


def curve_record(tag: str, step: int, array: NDArray[np.float64]) -> bytes:
    metadata = summary.make_metadata(
        "pr_curves", proto.PrCurvePluginData(num_thresholds=array.shape[1])
    )
    value = summary.tensor(tag, array.astype(np.float32), metadata).SerializeToString()
    return b.record(b.event(b.summary(b.blob(1, value)), step=step, wall=1.7e9 + step))


def write_step(logdir: Path, step: int, like: int) -> None:
    """Append one step to every curve, with the values of step `like`."""
    for run in RUNS:
        for name in CLASSES:
            append_records(
                logdir / run, curve_record(f"pr/{name}", step, make_curve(run, name, like))
            )


def write_pr_curves(logdir: Path) -> None:
    for step in STEPS:
        write_step(logdir, step, step)
    append_records(logdir / "large", curve_record("odd/shape", 0, np.zeros((4, 7))))
    precision_only = make_curve("large", "cat", 200)
    precision_only[:4] = 0
    append_records(logdir / "large", curve_record("odd/uncounted", 0, precision_only))
