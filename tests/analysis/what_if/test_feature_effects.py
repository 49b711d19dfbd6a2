"""The values at which features are varied, the sampling of rows, and the scores of importance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.feature_effects import (
    choose_rows,
    compute_partial_dependence,
    compute_permutation_importance,
    compute_shapley_values,
    list_varied,
    make_grid,
    make_scorer,
    parse_label,
)
from tracklight.errors import UsageError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SEQUENCE = [[[1], [2, 3]], [[4]]]
VECTORS = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([1, 10, None], {"points": 4}, [1, 4, 7, 10]),
        ([1, 2], {"points": 10}, [1, 2]),
        ([0.0, 1.0, np.inf], {"points": 3}, [0, 0.5, 1]),
        ([0.0, 1.0, 1.0, 9.0], {"points": 2, "kind": "quantiles"}, [0, 9]),
        ([1, 5], {"points": 2, "value_range": (0, 10)}, [0, 10]),
        ([1, 5], {"values": [2.5, 1]}, [2.5, 1]),
        (["a", "b"], {"values": ["c"]}, ["c"]),
        ([True, None, False], {}, [False, True]),
        ([True, None], {}, [True]),
        ([None, None], {}, []),
        ([[1, 2], [5, 4]], {"index": 1, "points": 2}, [2, 4]),
        ([["a", "b"], ["a", "c"], ["d", "b"]], {"index": 1}, ["b"]),
    ],
)
def test_values_of_grids(values: Any, options: Any, expected: Any) -> None:
    assert make_grid(make_column("x", values), **options).values == expected


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1], {"points": 0}, "the number of points must be 1 to 1000"),
        ([1], {"points": 1001}, "the number of points must be 1 to 1000"),
        ([PNG], {}, '"x" is not a number or category and cannot be varied'),
        (SEQUENCE, {}, '"x" is not a number or category and cannot be varied'),
        ([[1], [1, 2]], {}, '"x" has lists of different lengths, whose items cannot be varied'),
        (VECTORS, {}, '"x" is a list; choose one of its 2 items'),
        (VECTORS, {"index": 2}, '"x" is a list; choose one of its 2 items'),
        ([1], {"values": ["a"]}, '"x" needs an integer value, not "a"'),
        ([1], {"value_range": (2, 1)}, 'the range of "x" must be two ascending numbers'),
        ([1], {"value_range": (0, np.nan)}, 'the range of "x" must be two ascending numbers'),
    ],
)
def test_features_that_cannot_be_varied(values: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_grid(make_column("x", values), **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("values", "items", "expected"),
    [
        ([1, 2], "", ["x"]),
        (VECTORS, "", ["x[0]", "x[1]"]),
        (VECTORS, "1,5-7", ["x[1]"]),
        ([["a", "b"], ["c", "d"]], "", []),
        ([[1], [1, 2]], "", []),
        (["a", "b"], "", []),
        (["a", "a"], "", ["x"]),
        ([PNG], "", []),
        (SEQUENCE, "", []),
        ([None, None], "", []),
    ],
)
def test_what_is_varied_of_a_feature(values: Any, items: str, expected: list[str]) -> None:
    assert list_varied(make_column("x", values), items) == expected


def test_a_column_whose_name_looks_like_an_item() -> None:
    table = to_table({"x[0]": [1], "y": [[1, 2]]})
    assert parse_label(table, "x[0]") == ("x[0]", None)
    assert parse_label(table, "y[1]") == ("y", 1)


TABLE = to_table(
    {
        "n": [1, None, 3, 4],
        "f": [0.5, 1.5, np.nan, 2.0],
        "flag": [True, None, False, True],
        "word": ["a", "b", None, "a"],
        "v": [[1, 2], [3, 4], [5, 6], [7, 8]],
        "nothing": [None] * 4,
    }
)
CODES = {"a": 1.0, "b": 2.0, "c": 3.0, None: 0.0}


def predict(table: DataTable) -> Any:
    """A function of all features that counts missing values as zero."""
    rows = table.to_rows()
    return np.array(
        [
            (row["n"] or 0) + 10 * (row["f"] or 0) + 100 * bool(row["flag"])
            + 1000 * CODES[row["word"]] + 10_000 * row["v"][1]
            for row in rows
        ]
    )  # fmt: skip


GRIDS = {
    "n": make_grid(TABLE.get_column("n"), values=[2, 7.5]),
    "f": make_grid(TABLE.get_column("f"), points=3),
    "flag": make_grid(TABLE.get_column("flag")),
    "word": make_grid(TABLE.get_column("word"), values=["c", "a", "c"]),
    "v": make_grid(TABLE.get_column("v"), values=[0.5, 9], index=1),
    "nothing": make_grid(TABLE.get_column("nothing")),
}


@pytest.mark.parametrize("batch_rows", [1, 5, 9, 100])
def test_every_grid_value_is_set_in_every_row(batch_rows: int) -> None:
    """The expected predictions come from rows that are changed one by one."""
    names = list(GRIDS)
    rows = np.array([0, 2, 1])
    sizes: list[int] = []

    def count(table: DataTable) -> Any:
        sizes.append(len(table))
        return predict(table)

    found = list(
        compute_partial_dependence(
            TABLE, rows, [[grid] for grid in GRIDS.values()], count, batch_rows=batch_rows
        )
    )
    for name, result in zip(names, found, strict=True):
        grid = GRIDS[name]
        expected = np.zeros((3, len(grid.values)))
        for at, row in enumerate(rows):
            for point, value in enumerate(grid.values):
                chosen = value
                if grid.index is not None:
                    chosen = list(TABLE.get_row(row)[name])
                    chosen[grid.index] = value
                changed = TABLE.with_row_values(int(row), {name: chosen})
                expected[at, point] = predict(changed.take([row]))[0]
        np.testing.assert_allclose(result.individual[:, :, 0], expected, err_msg=name)
        np.testing.assert_allclose(result.mean[:, 0], expected.mean(axis=0))
    assert max(sizes) <= max(batch_rows, 1)
    assert sum(sizes) == sum(3 * len(grid.values) for grid in GRIDS.values())


def test_features_without_values_have_no_variation() -> None:
    pairs = [[GRIDS["nothing"]], [GRIDS["nothing"], GRIDS["n"]], [GRIDS["n"], GRIDS["nothing"]]]
    results = list(compute_partial_dependence(TABLE, np.arange(4), pairs, predict))
    assert [result.variation for result in results] == [0, 0, 0]
    assert [result.mean.shape for result in results] == [(0, 1), (0, 2, 1), (2, 0, 1)]


def test_rows_are_sampled_without_repetition() -> None:
    assert choose_rows(5, None).tolist() == [0, 1, 2, 3, 4]
    assert choose_rows(5, 9).tolist() == [0, 1, 2, 3, 4]
    sample = choose_rows(1000, 100, seed=3)
    assert len(np.unique(sample)) == 100 and (np.diff(sample) > 0).all()
    assert sample.tolist() == choose_rows(1000, 100, seed=3).tolist()
    assert sample.tolist() != choose_rows(1000, 100, seed=4).tolist()
    with pytest.raises(UsageError, match="the sample must have at least one row"):
        choose_rows(5, 0)


def test_scores_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 50)
    labels[:5] = -1  # unknown
    scores = random.uniform(size=50)
    both = np.stack([1 - scores, scores], axis=1)
    known = labels >= 0
    auc = make_scorer("auc", labels, False)(both)
    assert auc == pytest.approx(roc_auc_score(labels[known], scores[known]))
    loss = make_scorer("log_loss", labels, False)(both)
    assert -loss == pytest.approx(log_loss(labels[known], both[known]))
    accuracy = make_scorer(None, labels, False)(both)
    assert accuracy == pytest.approx(np.mean((scores > 0.5)[known] == labels[known]))
    values = np.where(np.arange(50) < 5, np.nan, random.normal(size=50))
    used = ~np.isnan(values)
    r2 = make_scorer(None, values, True)(scores)
    assert r2 == pytest.approx(r2_score(values[used], scores[used]))
    error = make_scorer("mean_absolute_error", values, True)(scores)
    assert error == pytest.approx(-np.abs(values - scores)[used].mean())
    assert np.isnan(make_scorer("r2", np.ones(3), True)(np.zeros(3)))


LABELS = np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: make_scorer("r2", LABELS, False),
            '"r2" is not a metric here; use one of accuracy, auc, log_loss',
        ),
        (lambda: make_scorer(None, np.array([-1, -1]), False), "no row has a label"),
        (lambda: make_scorer(None, np.array([np.nan]), True), "no row has a label"),
        (
            lambda: make_scorer("auc", LABELS, False)(np.full((3, 3), 1 / 3)),
            '"auc" needs a model with two classes; use "accuracy" or "log_loss"',
        ),
        (
            lambda: compute_permutation_importance(
                TABLE, ["n"], predict, lambda scores: 0.0, repeats=0
            ),
            "the number of repetitions must be at least 1",
        ),
        (
            lambda: explain(background=np.empty(0, np.int64)),
            "the background must have at least one row",
        ),
        (lambda: explain(permutations=1), "at least 2 permutations are needed"),
        (lambda: explain(features=[]), "there is no feature to explain"),
    ],
)
def test_invalid_arguments_are_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == message


def test_standard_errors_of_shapley_values_are_those_of_repeated_samples() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(200, 3))
    table = to_table({"large": 10 * values[:, 0], "small": values[:, 1], "other": values[:, 2]})

    def total(columns: DataTable) -> Any:
        large, small, other = columns.to_matrix().T
        return large + small + large * other

    errors, found = [], []
    for seed in range(60):
        result = compute_shapley_values(
            table, np.array([3]), table.names, total, background=np.arange(200), seed=seed
        )
        found.append([result.values[name][0] for name in table.names])
        errors.append([result.standard_error[name][0] for name in table.names])
    ratio = np.std(found, axis=0) / np.mean(errors, axis=0)
    assert (ratio > 0.75).all() and (ratio < 1.33).all(), ratio


def explain(**options: Any) -> Any:
    arguments: dict[str, Any] = {"features": ["n"], "background": np.arange(4), **options}
    features = arguments.pop("features")
    return compute_shapley_values(TABLE, np.array([0]), features, predict, **arguments)
