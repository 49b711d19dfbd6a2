"""Metrics over steps are those of the curves, for a limited number of steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.pr_curves.curve_logs import count, request, write

GOOD = count([0, 1], [0.1, 0.9], 11)
BAD = count([0, 1], [0.9, 0.1], 11)


def test_metrics_are_those_of_the_curves(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, BAD), (7, GOOD)])
    context = open_log(tmp_path)
    (row,) = request(context, "history", tags=["pr"]).series
    assert (row.step.tolist(), row.index.tolist(), row.steps) == ([0, 7], [0, 1], 2)
    for index, step in enumerate([0, 7]):
        (curve,) = request(context, "curves", tags=["pr"], step=step).curves
        measures = curve.measures
        for name in ("average_precision", "area", "roc_area", "best_f1"):
            assert getattr(row, name)[index] == getattr(measures, name)


def test_unreadable_curve_is_nan(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, GOOD), (1, np.zeros((2, 2))), (2, GOOD)])
    (row,) = request(open_log(tmp_path), "history", tags=["pr"]).series
    assert np.isnan(row.average_precision).tolist() == [False, True, False]


@pytest.mark.parametrize(("steps", "expected"), [(200, 200), (201, 200), (900, 200)])
def test_many_steps_are_thinned(tmp_path: Path, open_log: Open, steps: int, expected: int) -> None:
    write(tmp_path, "a", [(step, GOOD) for step in range(steps)])
    (row,) = request(open_log(tmp_path), "history", tags=["pr"]).series
    assert (len(row.step), row.step[0], row.step[-1], row.steps) == (expected, 0, steps - 1, steps)


def test_series_share_a_limit(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.dashboards.pr_curves.MAX_TOTAL_STEPS", 8)
    for run in "abcd":
        write(tmp_path, run, [(step, GOOD) for step in range(9)])
    rows = request(open_log(tmp_path), "history", tags=["pr"]).series
    assert [row.step.tolist() for row in rows] == [[0, 8]] * 4
