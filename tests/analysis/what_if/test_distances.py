"""Distances of lists, compared with their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from tracklight.analysis.predictors import Task
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn, make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.counterfactuals import (
    list_counterfactuals,
    make_flip_test,
    select_candidates,
)
from tracklight.analysis.what_if.distances import DistanceSpace, select_equal_rows
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import UsageError

EQUAL = [[1.0, 2.0, 4.0], [1.5, None, 0.0], [2.0, 2.0, 2.0], [1.0, 2.0, 5.0]]
RAGGED = [[1.0, 2.0], [1.5], None, [], [3.0, None, 0.5], [1.0, 2.5]]
WORDS = [["a", "b"], ["a"], ["b", "b", "c"], None, ["a", "b"]]


def compare(first: Any, second: Any, scale: float, agreement: float) -> float:
    if first is None or second is None:
        return 1.0
    if isinstance(first, str):
        return 0.0 if first == second else agreement
    return abs(first - second) * scale


@pytest.mark.parametrize("rows", [EQUAL, RAGGED, WORDS], ids=["equal", "ragged", "words"])
def test_lists_are_compared_item_by_item(rows: list[Any]) -> None:
    items = [item for row in rows for item in row or [] if item is not None]
    counts = np.unique(items, return_counts=True)[1] / len(items)
    agreement = float(np.sum(counts**2))
    scale = 0.0 if isinstance(items[0], str) else 1 / float(np.std(items, ddof=1))
    space = DistanceSpace(DataTable([make_column("x", rows)]), ["x"])
    for place, row in enumerate(rows):
        expected = []
        for other in rows:
            if not row or not other:
                expected.append(1.0)
                continue
            size = max(len(row), len(other))
            padded = [[*each, *[None] * (size - len(each))] for each in (row, other)]
            pairs = zip(*padded, strict=True)
            expected.append(np.mean([compare(a, b, scale, agreement) for a, b in pairs]))
        assert space.compute(place) == pytest.approx(expected)


def test_vectors_of_float32_are_compared_in_blocks() -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(3000, 400)).astype(np.float32)
    offsets = 400 * np.arange(3001)
    column = DataColumn("v", "float", matrix.reshape(-1), offsets=offsets)
    space = DistanceSpace(DataTable([column]), ["v"])
    exact = matrix.astype(np.float64)
    expected = np.abs(exact - exact[7]).mean(axis=1) / exact.std(ddof=1)
    assert space.compute(7) == pytest.approx(expected)
    assert space.compute(7, "l2") == pytest.approx(expected**2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None, 1], [True, False, False, True]),
        (["id 1", "id 2", "id 3", None], [True, False, False, False]),
        ([b"a", b"b", b"a", None], [True, False, True, False]),
        ([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [1.0]], [True, False, True, False]),
        ([["a", "b"], ["a"], None, ["a", "b"]], [True, False, False, True]),
        ([[1.0, None], [1.0, None], [1.0, 2.0], None], [True, True, False, False]),
        ([[[1.0], [2.0]], [[1.0, 2.0]], [[1.0], [2.0]], None], [True, False, True, False]),
        ([None, 2, None, 1], [True, False, True, False]),
    ],
    ids=["numbers", "ids", "bytes", "vectors", "words", "missing items", "sequences", "missing"],
)
def test_rows_with_the_same_value_are_found(values: list[Any], expected: list[bool]) -> None:
    table = DataTable([make_column("x", values)])
    assert select_equal_rows(table, 0, ["x"]).tolist() == expected


def test_spread_of_many_values_with_missing_ones() -> None:
    values = np.random.default_rng(1).normal(1000, 3, (40, 8000))  # several parts
    values[3, :7] = np.nan
    column = DataColumn("v", "float", values.reshape(-1), offsets=8000 * np.arange(41))
    space = DistanceSpace(DataTable([column]), ["v"])
    expected = np.abs(values[5] - values[8]).mean() / np.nanstd(values, ddof=1)
    assert space.compute(5)[8] == pytest.approx(expected)


def test_only_changed_columns_are_prepared_again() -> None:
    table = DataTable([make_column("a", [1.0, 2.0, 4.0]), make_column("b", [3.0, 3.0, 9.0])])
    first = DistanceSpace(table, table.names)
    edited = table.with_row_values(0, {"b": 6.0})
    prepared: list[int] = []
    space = DistanceSpace(edited, edited.names, lambda done, _: prepared.append(done), first)
    assert set(prepared) == {3}  # the values of b follow the three of a
    fresh = DistanceSpace(edited, edited.names)
    assert space.compute(0).tolist() == fresh.compute(0).tolist()
    assert space.compute(0).tolist() != first.compute(0).tolist()


def make_workspace(columns: dict[str, Any], task: Task = "classification") -> Workspace:
    model = wrap_model(lambda c: np.nan_to_num(np.asarray(c["x"]), posinf=1), "m", task=task)
    return Workspace(to_table(columns), [model])


def test_deleted_rows_do_not_scale_distances() -> None:
    columns = {
        "x": [0.1, 0.4, 0.9, 0.3, 1.0],
        "word": ["a", "b", "b", "a", "c"],
        "v": [[1.0, 2.0], [3.0, 5.0], [2.0, 2.0], [0.0, 1.0], [1000.0, -500.0]],
        "words": [["a"], ["a", "b"], ["b"], ["a"], ["z", "z", "z"]],
    }
    workspace = make_workspace(columns)
    before = workspace.get_space().compute(0)
    workspace.delete(4)
    left = make_workspace({name: values[:4] for name, values in columns.items()})
    for metric in ("l1", "l2", "cosine"):
        found = workspace.get_space().compute(0, metric)[:4]
        assert found == pytest.approx(left.get_space().compute(0, metric))
    frame = pandas.DataFrame(columns).iloc[:4]
    by_x = workspace.get_space().compute_features(0, 1)["x"]
    assert by_x == pytest.approx(0.3 / frame["x"].std())
    by_v = workspace.get_space().compute_features(0, 1)["v"]
    assert by_v == pytest.approx(2.5 / np.std(np.concatenate(frame["v"].tolist()), ddof=1))
    workspace.undo()
    assert workspace.get_space().compute(0) == pytest.approx(before)


def test_deleted_rows_do_not_count_for_the_difference_of_values() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 500.0]
    workspace = make_workspace({"x": values}, "regression")
    workspace.delete(4)
    limit = np.std(values[:4], ddof=1)
    expected = [abs(value - 1) >= limit for value in values[:4]]
    assert select_candidates(workspace, "m", 0).tolist() == [*expected, False]
    flipped, _ = make_flip_test(workspace, "m", 0)(workspace.table)
    assert flipped.tolist()[:4] == expected


def test_infinite_values_count_as_missing() -> None:
    x, y = [0.1, 0.9, 0.8, 0.2, 0.95], [np.inf, 2.0, 5.0, -np.inf, np.nan]
    workspace = make_workspace({"x": x, "y": y})
    found = list_counterfactuals(workspace, 0, select_candidates(workspace, "m", 0), count=5)
    spread = np.std(x, ddof=1)
    expected = {2: 0.7 / spread + 1, 1: 0.8 / spread + 1, 4: 0.85 / spread + 1}
    assert {each.row: each.distance for each in found} == pytest.approx(expected)
    assert [each.row for each in found] == list(expected)
    between = workspace.get_space().compute_features(1, 2)["y"]
    assert between == pytest.approx(3 / np.std([2.0, 5.0], ddof=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.compute(3), "the data have no row 3; rows are 0 to 2"),
        (lambda s: s.compute(-1), "the data have no row -1; rows are 0 to 2"),
        (lambda s: s.compute(0, "l3"), '"l3" is not a distance'),
        (lambda s: s.compute(0, weights={"y": 1}), '"y" is not a feature that rows are compared'),
        (lambda s: s.compute(0, weights={"x": -1}), 'the weight of "x" must be a number from 0'),
        (lambda s: s.compute(0, weights={"x": np.inf}), 'the weight of "x" must be a number from'),
        (
            lambda s: s.compute(0, weights={"x": 0, "word": 0}),
            "there is no feature by which rows can be compared",
        ),
        (
            lambda s: s.compute(0, "cosine", weights={"x": 0}),
            "the cosine distance needs numeric features",
        ),
    ],
)
def test_rows_that_cannot_be_compared(call: Any, message: str) -> None:
    space = DistanceSpace(to_table({"x": [1, 2, 3], "word": ["a", "b", "a"]}), ["x", "word"])
    with pytest.raises(UsageError) as error:
        call(space)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("metric", ["l1", "l2", "cosine"])
def test_distances_of_some_rows(metric: Any) -> None:
    space = DistanceSpace(to_table({"x": [1.0, 2.0, 4.0, 8.0]}), ["x"])
    among = np.array([True, False, True, False])
    every, some = space.compute(0, metric), space.compute(0, metric, among=among)
    assert some[among].tolist() == every[among].tolist()
    assert np.isposinf(some[~among]).all()


def test_images_are_equal_or_different() -> None:
    png = b"\x89PNG\r\n\x1a\n"
    images = [png + b"a", png + b"b", png + b"a", None]
    space = DistanceSpace(DataTable([make_column("x", images)]), ["x"])
    agreement = (2 / 3) ** 2 + (1 / 3) ** 2
    assert space.compute(0) == pytest.approx([0, agreement, 0, 1])
    assert space.compute(3).tolist() == [1, 1, 1, 1]


def test_missing_words_of_lists_are_different() -> None:
    rows = [["a", None], ["a", "b"], [None, None]]
    space = DistanceSpace(DataTable([make_column("x", rows)]), ["x"])
    assert space.compute(0) == pytest.approx([0.5, 0.5, 1])
    assert space.compute(1) == pytest.approx([0.5, 0, 1])
    other = DistanceSpace(DataTable([make_column("x", [["a", "b"], ["b", "b"], ["a"]])]), ["x"])
    agreement = (2 / 5) ** 2 + (3 / 5) ** 2
    assert other.compute(0) == pytest.approx([0, agreement / 2, 0.5])


def test_numbers_that_do_not_vary_have_no_distance() -> None:
    columns = {"same": [5.0, 5.0, 5.0], "one": [1.0, None, None], "none": [None] * 3}
    space = DistanceSpace(to_table(columns), list(columns))
    assert space.compute_features(0, 0) == {"same": 0, "one": 0, "none": 1}
    assert space.compute_features(0, 1) == {"same": 0, "one": 1, "none": 1}


def test_at_least_one_counterfactual_is_asked_for() -> None:
    workspace = make_workspace({"x": [0.1, 0.9]})
    with pytest.raises(UsageError, match="the number of counterfactuals must be at least 1"):
        list_counterfactuals(workspace, 0, select_candidates(workspace, "m", 0), count=0)
