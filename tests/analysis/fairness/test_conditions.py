"""Conditions that select the rows of a slice."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.evaluation.slices import SliceSpec
from tracklight.analysis.fairness import RowCondition, make_conditions
from tracklight.fairness import Buckets, evaluate

RANDOM = np.random.default_rng(0)
ROWS = 2000
DATA = {
    "sex": RANDOM.choice(["f", "m"], ROWS),
    "age": RANDOM.normal(40, 12, ROWS).round(3),
    "old": RANDOM.random(ROWS) < 0.3,
    "label": RANDOM.integers(0, 2, ROWS),
    "score": RANDOM.random(ROWS),
}


def count_rows(conditions: list[RowCondition]) -> int:
    fits = np.ones(ROWS, bool)
    for each in conditions:
        column = DATA[each.column]
        if each.value is not None:
            fits &= column.astype(str) == each.value
        if each.low is not None:
            fits &= column >= each.low
        if each.high is not None:
            fits &= (column <= each.high) if each.is_closed else (column < each.high)
    return int(fits.sum())


def test_conditions_select_the_rows_of_every_slice() -> None:
    result = evaluate(
        DATA,
        label="label",
        prediction="score",
        slices=[
            "sex",
            "old",
            SliceSpec(["sex", "age"], {"age": Buckets(quantiles=7)}),
            SliceSpec("age", {"age": Buckets(edges=(25, 40, 60))}),
            "age > 52.5 and sex = 'f'",
            "age between 30 and 40 and old",
            "age < 30.5",
            "label = 1 and age >= 20.25",
        ],
        where="age <= 70",
    )
    stored = result.stored
    assert len(stored.result.slices) > 20
    for key, count in zip(stored.result.slices, stored.result.counts, strict=True):
        conditions = make_conditions(key, stored.where, stored.bucket_edges)
        assert conditions is not None
        assert count_rows(conditions) == count, key


@pytest.mark.parametrize(
    "where", ["age > 60 or sex = 'f'", "not old", "sex in ('f', 'm')", "sex > 'f'", "age > score"]
)
def test_other_filters_have_no_conditions(where: str) -> None:
    assert make_conditions((("filter", where),)) is None


def test_missing_values_and_names_of_buckets() -> None:
    assert make_conditions((("filter", "city is null"),)) == [RowCondition("city", is_missing=True)]
    key = (("age", "[20, 30)"), ("height", "< 1.5"), ("weight", ">= 60"), ("city", "< me"))
    assert make_conditions(key) == [
        RowCondition("age", low=20, high=30),
        RowCondition("height", high=1.5),
        RowCondition("weight", low=60),
        RowCondition("city", "< me"),
    ]
