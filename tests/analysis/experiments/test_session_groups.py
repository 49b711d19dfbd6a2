from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.experiments.metrics import Aggregation, aggregate_metric, group_sessions
from tracklight.analysis.experiments.sessions import Session

NAN, INF = np.nan, np.inf
SESSIONS = [Session(f"s{n}", {}, group) for n, group in enumerate("abaab")]


def test_groups_are_in_the_order_of_their_first_sessions() -> None:
    groups = group_sessions(SESSIONS)
    assert groups.names == ["a", "b"]
    assert groups.counts.tolist() == [3, 2]
    assert groups.first_sessions.tolist() == [0, 1]
    assert groups.list_members() == [[0, 2, 3], [1, 4]]


@pytest.mark.parametrize(
    ("over", "expected"), [("mean", 3.0), ("median", 2.0), ("min", 1.0), ("max", 6.0)]
)
def test_repeats_become_one_number(over: Aggregation, expected: float) -> None:
    values = np.array([1.0, 7.0, 2.0, 6.0, NAN])
    steps = np.array([10.0, 3.0, 11.0, 12.0, NAN])
    merged = aggregate_metric(group_sessions(SESSIONS), values, steps, over)
    assert merged.values.tolist() == [expected, 7.0]
    assert merged.steps.tolist() == [11.0, 3.0]
    assert merged.deviation.tolist() == pytest.approx([np.std([1, 2, 6], ddof=1), 0.0])


def test_what_no_session_has_is_missing_and_what_is_nan_is_not() -> None:
    values = np.array([INF, NAN, 1.0, 1.0, NAN])
    steps = np.array([1.0, NAN, 1.0, 1.0, NAN])
    merged = aggregate_metric(group_sessions(SESSIONS), values, steps, "mean")
    assert merged.values[0] == INF
    assert np.isnan(merged.steps[1])


def test_a_metric_that_nobody_has_is_missing_everywhere() -> None:
    nowhere = np.full(5, NAN)
    merged = aggregate_metric(group_sessions(SESSIONS), nowhere, nowhere, "mean")
    assert np.isnan(merged.values).all() and len(merged.values) == 2
