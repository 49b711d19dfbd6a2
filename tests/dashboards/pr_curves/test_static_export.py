"""A static export has curves under the paths that the page requests."""

from __future__ import annotations

from pathlib import Path

from tests.analysis.media.conftest import Open
from tests.dashboards.pr_curves.curve_logs import count, write
from tracklight.analysis.media import ValueRequest, value_path
from tracklight.dashboards.pr_curves import PrCurves

GOOD = count([0, 1], [0.1, 0.9], 11)


def test_exports_steps_curves_and_history(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(step, GOOD) for step in range(100)], tag="pr/one")
    write(tmp_path, "b", [(0, GOOD)], tag="pr/one")
    parts = dict(PrCurves(open_log(tmp_path)).export_static(["a"]))
    (steps,) = parts["steps/pr%2Fone"].series  # type: ignore[attr-defined]
    assert (len(steps.step), steps.step[-1]) == (30, 99)
    for index, fingerprint, step in zip(steps.index, steps.fingerprint, steps.step, strict=True):
        path = value_path("curve", ValueRequest("a", "pr/one", int(index), int(fingerprint)))
        assert parts[path].step == step  # type: ignore[attr-defined]
    (history,) = parts["history/pr%2Fone"].series  # type: ignore[attr-defined]
    assert len(history.step) == 100
    assert len(parts) == 32


def test_log_without_curves_exports_nothing(tmp_path: Path, open_log: Open) -> None:
    assert list(PrCurves(open_log(tmp_path)).export_static([])) == []
