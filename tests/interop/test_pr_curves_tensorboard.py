"""PR curves of real logs agree with TensorBoard's plugin."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.media.conftest import Open, open_log
from tests.archives import extract
from tests.dashboards.pr_curves.curve_logs import request
from tests.interop.test_corpus import read_oracle
from tracklight.plugin import Context

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

with warnings.catch_warnings():
    # A library bundled with TensorBoard issues warnings.
    warnings.simplefilter("ignore", DeprecationWarning)
    from tensorboard.plugins.pr_curve.pr_curves_plugin import PrCurvesPlugin

__all__ = ["open_log"]

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


@pytest.mark.parametrize(("case", "series"), [("torch", 4), ("legacy_v1", 1)])
def test_curves_of_the_corpus_agree(case: str, series: int, tmp_path: Path, open_log: Open) -> None:
    extract(CORPUS / f"{case}.tar.xz", tmp_path)
    context = open_log(tmp_path / case)
    runs = read_oracle(case)["multiplexer"]["runs"]
    expected = [
        (run, tag, about["n"])
        for run, it in runs.items()
        for tag, about in it["plugins"].get("pr_curves", {}).items()
    ]
    assert len(expected) == series
    for run, tag, count in expected:
        theirs = read_theirs(tmp_path / case / run, tag)
        assert len(theirs) == count
        compare(context, run, tag, theirs)


def compare(context: Context, run: str, tag: str, theirs: list[dict[str, Any]]) -> None:
    for entry in theirs:
        (curve,) = request(context, "curves", tags=[tag], runs=[run], step=entry["step"]).curves
        columns = curve.columns
        assert (curve.step, curve.wall_time) == (entry["step"], entry["wall_time"])
        shown = len(entry["precision"])
        for name in ("precision", "recall"):
            assert getattr(columns, name)[:shown].tolist() == pytest.approx(entry[name], abs=0)
        assert columns.threshold[:shown].tolist() == pytest.approx(entry["thresholds"])
        for name in COUNTS:
            assert getattr(columns, name)[:shown].astype(int).tolist() == entry[name]
        # TensorBoard omits trailing thresholds without points, also those with a weight below 1.
        beyond = columns.true_positives[shown:] + columns.false_positives[shown:]
        np.testing.assert_array_equal(np.isnan(columns.precision[shown:]), beyond == 0)


def read_theirs(run_dir: Path, tag: str) -> list[dict[str, Any]]:
    """Return the response of TensorBoard's server, computed without a server."""
    events = EventAccumulator(str(run_dir), size_guidance={"tensors": 0}).Reload().Tensors(tag)
    make: Any = PrCurvesPlugin._make_pr_entry
    return [
        make(None, event.step, event.wall_time, tensor_util.make_ndarray(event.tensor_proto))
        for event in events
    ]
