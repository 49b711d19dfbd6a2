from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.index import logs
from tracklight.analysis.experiments.columns import (
    MetricReduction,
    ReductionKind,
    build_hparam_columns,
    format_number,
    read_metric_values,
    reduce_points,
    should_use_log_scale,
)
from tracklight.analysis.experiments.importance import build_features
from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import Experiment, HParam, HParamValue, Interval


def make_sessions(*hparams: dict[str, HParamValue]) -> list[Session]:
    return [Session(str(n), values, str(n)) for n, values in enumerate(hparams)]


def test_columns_of_one_type() -> None:
    sessions = make_sessions(
        {"lr": 0.1, "opt": "b10", "flip": True}, {"lr": 0.2, "opt": "b9", "flip": False}
    )
    columns = {it.name: it for it in build_hparam_columns(sessions, [])}
    assert columns["lr"].states is None
    assert (columns["lr"].type, columns["lr"].values.tolist()) == ("number", [0.1, 0.2])
    assert (columns["opt"].categories, columns["opt"].values.tolist()) == (
        ["b9", "b10"],
        [1.0, 0.0],
    )
    assert columns["flip"].type == "bool"
    assert [columns[name].get_value(0) for name in ("lr", "opt", "flip")] == [0.1, "b10", True]


def test_columns_of_mixed_types_with_missing_values_and_nan() -> None:
    sessions = make_sessions(
        {"x": 1.0}, {"x": True}, {"x": "1.0"}, {}, {"x": math.nan}, {"x": math.nan}
    )
    (column,) = build_hparam_columns(sessions, [])
    assert (column.type, column.distinct_count) == ("mixed", 4)
    assert column.states is not None and column.states.tolist() == [0, 3, 2, 1, 0, 0]
    assert [column.get_value(row) for row in range(4)] == [1.0, True, "1.0", None]
    assert column.is_missing().tolist() == [False, False, False, True, False, False]


def test_columns_that_differ_and_are_common_come_first() -> None:
    sessions = make_sessions(
        {"same": 1.0, "z": 1.0, "rare": 1.0}, {"same": 1.0, "z": 2.0}, {"rare": 2.0}
    )
    names = [column.name for column in build_hparam_columns(sessions, [])]
    assert names == ["rare", "z", "same"]


def test_declarations_of_all_experiments_are_merged() -> None:
    experiments = [
        Experiment((HParam("lr"), HParam("unused", Interval(0, 1)))),
        Experiment((HParam("lr", display_name="Rate"),)),
    ]
    columns = build_hparam_columns(make_sessions({"lr": 1.0, "undeclared": 2.0}), experiments)
    found = {it.name: (it.label, it.is_declared, it.type, it.distinct_count) for it in columns}
    assert found == {
        "lr": ("Rate", True, "number", 1),
        "unused": ("unused", True, "number", 0),
        "undeclared": ("undeclared", False, "number", 1),
    }


def test_declared_columns_without_sessions_are_empty() -> None:
    (column,) = build_hparam_columns([], [Experiment((HParam("lr"),))])
    assert len(column.values) == 0


def test_log_scale_is_used_for_wide_positive_ranges() -> None:
    assert should_use_log_scale(np.array([1e-4, 1e-1, np.nan, np.inf]))
    assert not should_use_log_scale(np.array([16.0, 128.0]))
    assert not should_use_log_scale(np.array([0.0, 100.0]))
    assert not should_use_log_scale(np.array([np.nan]))


def test_one_text_does_not_turn_numbers_into_texts() -> None:
    cells: list[HParamValue] = [16.0, 32.0, "auto", 64.0]
    sessions = [Session(str(n), {"batch": cell}, str(n)) for n, cell in enumerate(cells)]
    (column,) = build_hparam_columns(sessions, [])
    assert (column.type, column.is_mostly_numbers) == ("mixed", True)
    (feature,) = build_features([column], np.arange(4))
    assert feature.is_ordered
    assert feature.is_missing.tolist() == [False, False, True, False]


def test_numbers_are_written_as_in_javascript() -> None:
    values = [0.0, 2.0, -1.5, 1e-05, 1.25e-06, 1e-07, 1.5e-10, 1e20, 1e21, 1.5e300, 0.1, 100.0]
    texts = "0 2 -1.5 0.00001 0.00000125 1e-7 1.5e-10 100000000000000000000 1e+21 1.5e+300 0.1 100"
    assert [format_number(value) for value in values] == texts.split()


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        (MetricReduction(), (1.0, 30)),
        (MetricReduction("min"), (0.5, 10)),
        (MetricReduction("max"), (3.0, 5)),
        (MetricReduction("mean", count=2), (0.75, 30)),
        (MetricReduction("mean", count=1), (1.0, 30)),
        (MetricReduction("step", step=10), (0.5, 10)),
        (MetricReduction("step", step=29), (0.5, 10)),
        (MetricReduction("step", step=30), (1.0, 30)),
    ],
)
def test_trials_of_files_are_reduced_like_curves_of_runs(
    tmp_path: Path, reduction: MetricReduction, expected: tuple[float, float]
) -> None:
    points = ((0, math.inf), (5, 3.0), (10, 0.5), (30, 1.0))
    assert reduce_points(points, reduction) == expected
    logs.write(tmp_path, "run", b"".join(logs.point(*point) for point in points))
    with closing(logs.open_catalog(tmp_path)) as log:
        (value,), _ = read_metric_values(log, [("run", "loss")], reduction)
    assert value == expected[0]


@pytest.mark.parametrize("kind", ["last", "min", "max", "mean", "step"])
def test_no_value_of_a_curve_without_points(kind: ReductionKind) -> None:
    value, step = reduce_points((), MetricReduction(kind))
    assert math.isnan(value) and math.isnan(step)
    value, step = reduce_points(((7, math.nan),), MetricReduction(kind, step=7))
    assert (math.isnan(value), step) == (True, 7)
