from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.experiments.columns import Aggregation, aggregate_metric, group_sessions
from tracklight.analysis.experiments.sessions import Session

NAN, INF = np.nan, np.inf
SESSIONS = [Session(f"s{n}", {}, group) for n, group in enumerate("abaab")]


def test_groups_are_ordered_by_their_first_sessions() -> None:
    groups = group_sessions(SESSIONS)
    assert groups.names == ["a", "b"]
    assert groups.counts.tolist() == [3, 2]
    assert groups.first_sessions.tolist() == [0, 1]
    assert groups.list_members() == [[0, 2, 3], [1, 4]]


@pytest.mark.parametrize(
    ("aggregation", "expected"), [("mean", 3.0), ("median", 2.0), ("min", 1.0), ("max", 6.0)]
)
def test_repeats_are_aggregated(aggregation: Aggregation, expected: float) -> None:
    values = np.array([1.0, 7.0, 2.0, 6.0, NAN])
    steps = np.array([10.0, 3.0, 11.0, 12.0, NAN])
    result = aggregate_metric(group_sessions(SESSIONS), values, steps, aggregation)
    assert result.values.tolist() == [expected, 7.0]
    assert result.steps.tolist() == [11.0, 3.0]
    assert result.deviation.tolist() == pytest.approx([np.std([1, 2, 6], ddof=1), 0.0])


def test_groups_without_the_metric_have_nan_steps() -> None:
    values = np.array([INF, NAN, 1.0, 1.0, NAN])
    steps = np.array([1.0, NAN, 1.0, 1.0, NAN])
    result = aggregate_metric(group_sessions(SESSIONS), values, steps, "mean")
    assert result.values[0] == INF
    assert np.isnan(result.steps[1])


def test_metric_without_any_session() -> None:
    missing = np.full(5, NAN)
    result = aggregate_metric(group_sessions(SESSIONS), missing, missing, "mean")
    assert np.isnan(result.values).all() and len(result.values) == 2
