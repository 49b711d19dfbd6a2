"""Slices: names, crossing, buckets and filters."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from tracklight.analysis.evaluation.filters import (
    Categorical,
    factorize,
    matches_like,
    parse_filter,
)
from tracklight.analysis.evaluation.slices import (
    Buckets,
    SliceEncoder,
    SliceSpec,
    format_slice,
    make_sort_key,
    parse_slice,
)
from tracklight.errors import UsageError

COLUMNS = {
    "sex": np.array(["F", "M", "F", None, "M"], object),
    "age": np.array([20.0, 35, 61, 40, np.nan]),
    "city": Categorical(["Rome", "Oslo"], np.array([0, 1, 1, 0, -1])),
    "paid": np.array([True, False, True, True, False]),
}


def assign(*specs, columns=None):
    encoder = SliceEncoder([parse_slice(spec) for spec in specs])
    encoded = encoder.encode(columns or COLUMNS, 5)
    names = [*(format_slice(key) for key in encoder.keys), None]
    return [[names[code] for code in part.codes] for part in encoded]


def test_overall():
    assert assign(None) == [["Overall"] * 5]


def test_rows_with_a_missing_value_are_in_no_slice():
    assert assign("sex") == [["sex:F", "sex:M", "sex:F", None, "sex:M"]]


def test_crossed_columns():
    (names,) = assign(["sex", "city"])
    assert names == [
        "sex_X_city:F_X_Rome",
        "sex_X_city:M_X_Oslo",
        "sex_X_city:F_X_Oslo",
        None,
        None,
    ]


def test_fixed_values():
    assert assign({"sex": "F"}) == [["sex:F", None, "sex:F", None, None]]


@pytest.mark.parametrize("value", [20, 20.0, "20", [20]])
def test_fixed_numbers(value):
    assert assign({"age": value})[0][:2] == ["age:20", None]


def test_numeric_and_boolean_columns():
    assert assign("paid")[0][:2] == ["paid:True", "paid:False"]
    assert assign("age")[0][:2] == ["age:20", "age:35"]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5, dtype=np.int8) - 3,
        np.array([-128, 127, 0, 0, 1], np.int8),
        np.array([-(2**63), 2**63 - 1, 0, 1, 2]),
        np.array([2**63, 2**63 + 1, 2**64 - 1, 0, 5], np.uint64),
        np.array([2**63, 2**63 + 1, 2**63 + 2, 2**63, 2**63], np.uint64),
    ],
)
def test_columns_of_integers(values):
    assert assign("id", columns={"id": values}) == [[f"id:{value}" for value in values.tolist()]]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Buckets(edges=[35, 60]), ["< 35", "[35, 60)", ">= 60", "[35, 60)"]),
        (Buckets(quantiles=2), ["< 37.5", "< 37.5", ">= 37.5", ">= 37.5"]),
        (Buckets(count=2), ["< 40", "< 40", ">= 40", ">= 40"]),
        (Buckets(width=20), ["< 40", "< 40", ">= 60", "[40, 60)"]),
    ],
)
def test_buckets(rule, expected):
    (names,) = assign(SliceSpec("age", buckets={"age": rule}))
    assert names == [*(f"age:{label}" for label in expected), None]


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        # The standard deviations are 0.29, 29 and 290: one digit finer is 0.01, 1 and 10.
        (np.linspace(0, 1, 1001), 3, (0.33, 0.67)),
        (np.linspace(0, 100, 1001), 3, (33, 67)),
        (np.linspace(0, 1000, 1001), 3, (330, 670)),
        (np.linspace(0, 1000, 1001), 250, tuple(range(4, 1000, 4))),
        (np.linspace(-1, 1, 1001), 2, (0,)),
        (np.array([7.123, 7.123]), 3, ()),
        (np.array([0, 5e-324]), 2, ()),
        (np.array([-1e300, 1e300]), 2, (0,)),
    ],
)
def test_bounds_of_equal_width_are_rounded(values, count, expected):
    assert Buckets(count=count).compute_edges(values) == expected


def test_bucket_edges_stay_those_of_the_first_chunk():
    encoder = SliceEncoder([SliceSpec("age", buckets={"age": Buckets(quantiles=2)})])
    encoder.encode({"age": np.array([1.0, 2, 3, 4])}, 4)
    encoder.encode({"age": np.array([100.0, 200])}, 2)
    assert [format_slice(key) for key in encoder.keys] == ["age:< 2.5", "age:>= 2.5"]


def test_slices_keep_their_number_in_later_chunks():
    encoder = SliceEncoder([SliceSpec("x")])
    first = encoder.encode({"x": np.array([5, 7])}, 2)[0].codes
    second = encoder.encode({"x": np.array([7, 9, 5])}, 3)[0].codes
    assert first.tolist() == [0, 1]
    assert second.tolist() == [1, 2, 0]


def test_filter_slice():
    (names,) = assign("age >= 40 and sex = 'F'")
    assert names == [None, None, "filter:age >= 40 and sex = 'F'", None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex = 'F'", [0, 2]),
        ("sex != 'F'", [1, 4]),
        ("not sex = 'F'", [1, 4]),
        ("sex is null", [3]),
        ("sex is not null", [0, 1, 2, 4]),
        ("age > 30", [1, 2, 3]),
        ("not age > 30", [0]),
        ("age between 30 and 50", [1, 3]),
        ("age not between 30 and 50", [0, 2]),
        ("city in ('Oslo', 'Bern')", [1, 2]),
        ("city not in ('Oslo')", [0, 3]),
        ("city like 'O%'", [1, 2]),
        ("city like '_ome'", [0, 3]),
        ("paid", [0, 2, 3]),
        ("paid = false", [1, 4]),
        ("sex = 'M' or age > 60 and paid", [1, 2, 4]),
        ("(sex = 'M' or age > 60) and paid", [2]),
        ('"age" <= 2e1', [0]),
        ("`age` <> 20", [1, 2, 3]),
        ("sex = 'F' OR sex IS NULL", [0, 2, 3]),
        ("answer", [0]),
        ("answer = FALSE", [1, 3]),
        ("day is null", [2]),
        ("day is not null and day = other", [0, 4]),
        ("day = '2020-01-02'", [0, 4]),
    ],
)
def test_filters(text, expected):
    columns = {
        **COLUMNS,
        "answer": np.array(["True", "false", None, "FALSE", "2"], object),
        "day": np.array(["2020-01-02", "2021-03-04", "NaT", "2020-01-03", "2020-01-02"], "M8[D]"),
        "other": np.array(["2020-01-02", "2021-03-05", "NaT", "NaT", "2020-01-02"], "M8[D]"),
    }
    assert np.flatnonzero(parse_filter(text).evaluate(columns, 5)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1, "1", 2.0, b"a", None], object), ["1", "1", "2", "a", None]),
        (np.array([np.nan, pandas.NA, pandas.NaT, "x"], object), [None, None, None, "x"]),
        (np.array([5, 10**12, 5]), ["5", str(10**12), "5"]),
        (np.array([0.5, np.nan, np.inf, 1e20]), ["0.5", None, "inf", "1e+20"]),
        (np.array([b"a", b"\xff"]), ["a", "\\xff"]),
        (np.array(["2020-01-02", "NaT"], "M8[ns]"), ["2020-01-02 00:00:00", None]),
        (np.array([1, 60], "m8[s]"), ["0:00:01", "0:01:00"]),
        (np.array([], np.int64), []),
        (np.array([True, False]), ["True", "False"]),
    ],
)
def test_values_of_all_types_are_categories(values, expected):
    found = factorize("x", values, 10)
    assert [found.values[code] if code >= 0 else None for code in found.codes] == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2)), 'column "x" must have one dimension, not 2'),
        (np.array([[1], [2, 3]], object), "a slice value cannot be compared: unhashable type"),
        (np.arange(11), 'column "x" has 11 distinct values; divide it into buckets to slice by it'),
    ],
)
def test_columns_that_have_no_categories(values, message):
    with pytest.raises(UsageError, match=message):
        factorize("x", values, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >", "expected a value instead of the end"),
        ("age > 3 sex", 'unexpected "sex"'),
        ("age = 'old'", 'column "age" is numeric'),
        ("sex > 3", 'column "sex" is text'),
        ("agee > 3", 'no column "agee"; did you mean "age"'),
        ("(age > 3", 'expected "\\)"'),
        ("; drop table", "invalid filter"),
        ("(" * 200 + "age > 1", "nested too deeply"),
        ("x" * 20_000, "longer than"),
        ("sex = city", None),
        ("> 3", 'expected a column instead of "> 3"'),
        ("not", "expected a column instead of the end"),
        ("sex like 3", '"like" needs a pattern in single quotes'),
        ("age not = 3", 'expected in, between or like instead of "= 3"'),
        ("sex = age", "different types"),
    ],
)
def test_invalid_filters_are_one_sentence(text, message):
    if message is None:
        parse_filter(text).evaluate(COLUMNS, 5)
        return
    with pytest.raises(UsageError, match=message):
        parse_filter(text).evaluate(COLUMNS, 5)


def test_like_is_not_exponential():
    assert not matches_like("a" * 2000, "%a" * 200 + "b")
    assert matches_like("abcabc", "a%c")
    assert matches_like("", "%")


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: Buckets(), "exactly one of"),
        (lambda: Buckets(edges=[3, 1]), "must be ascending"),
        (lambda: Buckets(quantiles=1), "number of buckets must be 2"),
        (lambda: Buckets(width=0), "must be positive"),
        (lambda: SliceSpec(("a", "a")), "uses a column twice"),
        (lambda: SliceSpec("a", buckets={"b": Buckets(count=2)}), "not in the slice"),
        (lambda: parse_slice(3), "a slice is a column"),
        (lambda: assign(SliceSpec("sex", buckets={"sex": Buckets(count=2)})), "is not numeric"),
        (
            lambda: SliceEncoder([SliceSpec("x")]).encode({"x": np.arange(200_000.0)}, 200_000),
            "200,000 distinct values; divide it into buckets",
        ),
    ],
)
def test_invalid_slices_are_one_sentence(create, message):
    with pytest.raises(UsageError, match=message):
        create()


def test_slices_are_sorted_by_value():
    keys = [(("age", value),) for value in (">= 60", "[30, 60)", "10", "9", "< 30", "b", "a")]
    values = [key[0][1] for key in sorted(keys, key=make_sort_key)]
    assert values == ["< 30", "9", "10", "[30, 60)", ">= 60", "a", "b"]
