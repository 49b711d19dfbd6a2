"""Areas over steps are those of the curves, and a long run costs no more than a short one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.pr_curves.curve_logs import ask, count, write

GOOD = count([0, 1], [0.1, 0.9], 11)
BAD = count([0, 1], [0.9, 0.1], 11)


def test_each_step_is_measured_as_its_curve_is(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, BAD), (7, GOOD)])
    context = open_log(tmp_path)
    (row,) = ask(context, "history", tags=["pr"]).series
    assert (row.step.tolist(), row.index.tolist(), row.steps) == ([0, 7], [0, 1], 2)
    for place, step in enumerate([0, 7]):
        (curve,) = ask(context, "curves", tags=["pr"], step=step).curves
        told = curve.measures
        for name in ("average_precision", "area", "roc_area", "best_f1"):
            assert getattr(row, name)[place] == getattr(told, name)


def test_what_is_no_curve_leaves_a_gap(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, GOOD), (1, np.zeros((2, 2))), (2, GOOD)])
    (row,) = ask(open_log(tmp_path), "history", tags=["pr"]).series
    assert np.isnan(row.average_precision).tolist() == [False, True, False]


@pytest.mark.parametrize(("steps", "told"), [(200, 200), (201, 200), (900, 200)])
def test_many_steps_are_thinned(tmp_path: Path, open_log: Open, steps: int, told: int) -> None:
    write(tmp_path, "a", [(step, GOOD) for step in range(steps)])
    (row,) = ask(open_log(tmp_path), "history", tags=["pr"]).series
    assert (len(row.step), row.step[0], row.step[-1], row.steps) == (told, 0, steps - 1, steps)


def test_many_series_share_what_is_read(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.dashboards.pr_curves.dashboard._MAX_TOTAL_STEPS", 8)
    for run in "abcd":
        write(tmp_path, run, [(step, GOOD) for step in range(9)])
    rows = ask(open_log(tmp_path), "history", tags=["pr"]).series
    assert [row.step.tolist() for row in rows] == [[0, 8]] * 4
