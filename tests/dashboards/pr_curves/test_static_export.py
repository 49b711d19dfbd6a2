"""A copy of a board carries curves under the addresses at which the page looks for them."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.media.conftest import Open
from tests.dashboards.pr_curves.curve_logs import count, write
from tracklight.analysis.media.static_export import value_path
from tracklight.analysis.media.values import ValueRequest
from tracklight.dashboards.pr_curves.dashboard import PrCurves

GOOD = count([0, 1], [0.1, 0.9], 11)


def test_a_copy_has_steps_curves_and_their_history(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(step, GOOD) for step in range(100)], tag="pr/one")
    write(tmp_path, "b", [(0, GOOD)], tag="pr/one")
    parts = dict(PrCurves(open_log(tmp_path)).export_static(["a"]))
    (steps,) = parts["steps/pr%2Fone"].series  # type: ignore[attr-defined]
    assert (len(steps.step), steps.step[-1]) == (30, 99)
    for index, mark, step in zip(steps.index, steps.mark, steps.step, strict=True):
        path = value_path("curve", ValueRequest("a", "pr/one", int(index), int(mark)))
        assert parts[path].step == step  # type: ignore[attr-defined]
    (history,) = parts["history/pr%2Fone"].series  # type: ignore[attr-defined]
    assert len(history.step) == 100
    assert len(parts) == 32


def test_a_log_without_curves_has_nothing_to_copy(tmp_path: Path, open_log: Open) -> None:
    assert list(PrCurves(open_log(tmp_path)).export_static([])) == []
