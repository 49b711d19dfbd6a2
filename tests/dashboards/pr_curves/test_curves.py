"""Curves at a step, and errors for those that cannot be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.pr_curves.curve_logs import count, request, write
from tracklight.errors import UsageError

GOOD = count([0, 1], [0.1, 0.9], 11)
BAD = count([0, 1], [0.9, 0.1], 11)


def test_returns_last_curve_at_or_before_the_step(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, BAD), (10, GOOD)])
    write(tmp_path, "b", [(5, BAD)])
    context = open_log(tmp_path)
    for step, expected in [
        (None, [("a", 10), ("b", 5)]),
        (9, [("a", 0), ("b", 5)]),
        (4, [("a", 0)]),
        (-1, []),
    ]:
        curves = request(context, "curves", tags=["pr"], step=step).curves
        assert [(row.run, row.step) for row in curves] == expected


def test_columns_are_as_logged(tmp_path: Path, open_log: Open) -> None:
    rows = count([0, 1, 1, 0], [0.25, 0.5, 0.75, 0.5], 5, [0.5, 1.5, 2, 1])
    write(tmp_path, "a", [(0, rows)])
    (curve,) = request(open_log(tmp_path), "curves", tags=["pr"]).curves
    columns = curve.columns
    names = ["true_positives", "false_positives", "true_negatives", "false_negatives"]
    for name, logged in zip(names, rows, strict=False):
        np.testing.assert_array_equal(getattr(columns, name), logged)
    np.testing.assert_array_equal(columns.threshold, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(columns.precision, [*rows[4, :4], np.nan])
    np.testing.assert_allclose(columns.recall, rows[5])
    np.testing.assert_allclose(columns.false_positive_rate, rows[1] / 1.5)
    assert (curve.thresholds, curve.has_counts, curve.step) == (5, True, 0)


def test_unreadable_curve_has_an_error(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, np.zeros((4, 7)))])
    write(tmp_path, "b", [(0, GOOD)])
    unreadable, readable = request(open_log(tmp_path), "curves", tags=["pr"]).curves
    assert "the shape is [4, 7]" in unreadable.error.message
    assert unreadable.columns is None
    assert readable.error is None


def test_scalars_are_not_curves(tmp_path: Path, open_log: Open) -> None:
    """They are indexed as scalars, so they have no locations in the file."""
    write(tmp_path, "a", [(0, np.float32(1)), (1, np.float32(2))])
    context = open_log(tmp_path)
    assert request(context, "steps", tags=["pr"]).series == []
    assert request(context, "curves", tags=["pr"]).curves == []
    assert request(context, "history", tags=["pr"]).series == []


def test_many_thresholds_are_thinned(tmp_path: Path, open_log: Open) -> None:
    scores = np.arange(1, 5001) / 5000
    rows = count(list(scores > 0.3), list(scores), 5001)
    write(tmp_path, "a", [(0, rows)])
    (curve,) = request(open_log(tmp_path), "curves", tags=["pr"]).curves
    assert curve.thresholds == 5001
    assert len(curve.columns.threshold) == 2000
    assert curve.columns.threshold[[0, -1]].tolist() == [0, 1]
    assert curve.measures.average_precision == pytest.approx(1.0)


def test_overwritten_curves_are_left_out(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, BAD), (5, BAD), (9, BAD), (5, GOOD)])
    context = open_log(tmp_path)
    (steps,) = request(context, "steps", tags=["pr"]).series
    assert steps.step.tolist() == [0, 5]
    (curve,) = request(context, "curves", tags=["pr"]).curves
    assert (curve.step, curve.index, curve.measures.roc_area) == (5, 3, 1.0)


def test_one_curve_by_index(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, BAD), (1, GOOD)])
    context = open_log(tmp_path)
    (steps,) = request(context, "steps", tags=["pr"]).series
    for index, area in enumerate([0.0, 1.0]):
        fingerprint = int(steps.fingerprint[index])
        curve = request(
            context, "curve", "GET", run="a", tag="pr", index=index, fingerprint=fingerprint
        )
        assert (curve.step, curve.measures.roc_area) == (index, area)


def test_unknown_runs_and_tags_have_no_curves(tmp_path: Path, open_log: Open) -> None:
    write(tmp_path, "a", [(0, GOOD)])
    context = open_log(tmp_path)
    assert request(context, "curves", tags=["other"]).curves == []
    assert request(context, "curves", tags=["pr"], runs=["b"]).curves == []


def test_too_many_curves_raise_usage_error(
    tmp_path: Path, open_log: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.dashboards.pr_curves.MAX_CURVES", 1)
    write(tmp_path, "a", [(0, GOOD)])
    write(tmp_path, "b", [(0, GOOD)])
    with pytest.raises(UsageError, match="select fewer"):
        request(open_log(tmp_path), "curves", tags=["pr"])
