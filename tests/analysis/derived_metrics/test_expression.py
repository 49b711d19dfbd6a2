"""Expressions over tags, compared with pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.derived_metrics.expression import (
    Expression,
    Points,
    evaluate,
    make_points,
    parse_expression,
)
from tracklight.errors import ExpressionError

_EMA_USAGE = "Write ema(x, 0.9) with a weight of at least 0 and less than 1"


def _points(steps: list[int], values: list[float]) -> Points:
    step = np.array(steps, np.int64)
    return make_points(step, 100.0 + step, np.array(values, np.float64))


def _evaluate(text: str, **series: tuple[list[int], list[float]]) -> Points:
    expression = parse_expression(text)
    inputs = {(None, name): _points(*columns) for name, columns in series.items()}
    return evaluate(expression, inputs)


def _list_tags(expression: Expression) -> list[str]:
    return [reference.tag for reference in expression.references]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("train/loss - validation/loss", ["train/loss", "validation/loss"]),
        ("x / baseline", ["x", "baseline"]),
        ("x/baseline", ["x/baseline"]),
        ('log10("val loss (%)")', ["val loss (%)"]),
        ("`a-b` * 'c d'", ["a-b", "c d"]),
        (r'"say \"hi\""', ['say "hi"']),
        ("学习率 * 2", ["学习率"]),
        ("layer.0/w + 1e-3", ["layer.0/w"]),
        ("min(a, b, 3)", ["a", "b"]),
    ],
)
def test_tags_of_an_expression(text: str, tags: list[str]) -> None:
    assert _list_tags(parse_expression(text)) == tags


def test_the_tag_of_another_run() -> None:
    (own, other) = parse_expression('loss / baseline(loss, "2026 run/1")').references
    assert (own.run, other.run, other.tag) == (None, "2026 run/1", "loss")
    inputs = {(None, "loss"): _points([0, 1], [2, 6]), ("2026 run/1", "loss"): _points([1], [3])}
    result = evaluate(parse_expression('loss / baseline(loss, "2026 run/1")'), inputs)
    assert (result.step.tolist(), result.value.tolist()) == ([1], [2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a tag, a number or a function (at the end)"),
        ("a +", "Expected a tag, a number or a function (at the end)"),
        ("a * * b", "Expected a tag, a number or a function (at character 5)"),
        ("(a + b", "Unclosed “(” (at character 1)"),
        ("a + b)", "Unmatched “)” (at character 6)"),
        ("a b", "Expected an operator before “b”; quote tags with spaces (at character 3)"),
        ("log(a b)", "Expected an operator or “)” before “b” (at character 7)"),
        ("a ^ 2", "Unexpected “^”; powers are written x ** 2 (at character 3)"),
        ("a; b", "Unexpected “;” (at character 2)"),
        ('"a', 'Unclosed quote " (at character 1)'),
        ("1 + 2", "The expression does not use a tag of the run itself (at character 1)"),
        ("lgo(a)", "There is no function “lgo”; did you mean “log”? (at character 1)"),
        ("ema(a)", f"{_EMA_USAGE} (at character 1)"),
        ("1 + ema(a, 2)", f"{_EMA_USAGE} (at character 5)"),
        ("max(a)", "Write max(x, y); cummax(x) is the highest value so far (at character 1)"),
        ("baseline(a + 1, b) + a", 'Write baseline(tag, "run") (at character 1)'),
        ("a" * 1001, "The expression has more than 1000 characters (at character 1001)"),
        ("(" * 60 + "a", "Too many nested parentheses (at character 51)"),
    ],
)  # fmt: skip
def test_errors_have_the_position(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["__import__('os')", "a.__class__(1)", "open('x')"])
def test_python_is_not_executed(text: str) -> None:
    with pytest.raises(ExpressionError, match="There is no function"):
        parse_expression(text)


def test_steps_are_those_that_both_tags_have() -> None:
    result = _evaluate("a - b", a=([0, 1, 2, 3], [5, 6, 7, 8]), b=([1, 3, 4], [1, 2, 3]))
    assert result.step.tolist() == [1, 3]
    assert result.value.tolist() == [5, 6]


def test_of_several_points_at_one_step_the_last_counts() -> None:
    assert _evaluate("a + 0", a=([2, 1, 1], [9, 5, 6])).value.tolist() == [6, 9]


def test_wall_time_is_the_later_one() -> None:
    first = make_points(np.array([0, 1]), np.array([10.0, 30.0]), np.zeros(2))
    second = make_points(np.array([0, 1]), np.array([20.0, 5.0]), np.zeros(2))
    inputs = {(None, "a"): first, (None, "b"): second}
    assert evaluate(parse_expression("a + b"), inputs).wall_time.tolist() == [20, 30]


def test_a_function_of_a_series_sees_all_of_its_points() -> None:
    """The average includes the steps that the other tag does not have."""
    result = _evaluate("cumsum(a) - b", a=([0, 1, 2], [1, 2, 3]), b=([2], [0]))
    assert result.value.tolist() == [6]


_VALUES = st.floats(-1e6, 1e6, allow_subnormal=False)
_SERIES = st.dictionaries(st.integers(0, 30), _VALUES, max_size=25)
_OPERATORS = st.sampled_from(["+", "-", "*", "/", "%"])


@given(_SERIES, _SERIES, _OPERATORS, _VALUES)
def test_operators_match_pandas(
    a: dict[int, float], b: dict[int, float], operator: str, constant: float
) -> None:
    result = _evaluate(
        f"(a {operator} b) * {constant!r}",
        a=(list(a), list(a.values())),
        b=(list(b), list(b.values())),
    )
    left, right = (pd.Series(one, dtype=float).sort_index() for one in (a, b))
    left, right = left.align(right, join="inner")
    with np.errstate(all="ignore"):
        expected = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "/": left / right,
            "%": pd.Series(np.mod(left.to_numpy(), right.to_numpy()), left.index),
        }[operator] * constant
    assert result.step.tolist() == [*expected.index]
    np.testing.assert_array_equal(result.value, expected.to_numpy())


@given(_SERIES, st.floats(0, 0.99))
def test_ema_matches_pandas(a: dict[int, float], weight: float) -> None:
    result = _evaluate(f"ema(a, {weight!r})", a=(list(a), list(a.values())))
    expected = pd.Series(a, dtype=float).sort_index().ewm(alpha=1 - weight, adjust=True).mean()
    np.testing.assert_allclose(result.value, expected.to_numpy(), rtol=1e-6, atol=1e-6)


@given(_SERIES)
def test_functions_of_a_series_match_pandas(a: dict[int, float]) -> None:
    columns = (list(a), list(a.values()))
    expected = pd.Series(a, dtype=float).sort_index()
    for text, other in [
        ("diff(a)", expected.diff().iloc[1:]),
        ("cummin(a)", expected.cummin()),
        ("cummax(a)", expected.cummax()),
    ]:
        result = _evaluate(text, a=columns)
        assert result.step.tolist() == [*other.index]
        np.testing.assert_array_equal(result.value, other.to_numpy())
    np.testing.assert_allclose(_evaluate("cumsum(a)", a=columns).value, expected.cumsum())


@given(st.lists(_VALUES, min_size=1, max_size=20))
def test_functions_of_values_match_numpy(values: list[float]) -> None:
    array, columns = np.array(values), (list(range(len(values))), values)
    with np.errstate(all="ignore"):
        for text, expected in [
            ("abs(a)", np.abs(array)),
            ("sqrt(a)", np.sqrt(array)),
            ("exp(a)", np.exp(array)),
            ("log(a)", np.log(array)),
            ("log2(a)", np.log2(array)),
            ("log10(a)", np.log10(array)),
            ("max(a, 0, 5)", np.maximum(np.maximum(array, 0), 5)),
            ("clip(a, -1, 1)", np.clip(array, -1, 1)),
            ("-a ** 2", -(array**2)),
            ("2 ** -1 * a", 0.5 * array),
            ("1 - 2 - a", -1 - array),
        ]:
            np.testing.assert_allclose(_evaluate(text, a=columns).value, expected, rtol=1e-12)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        assert _list_tags(parse_expression(text))
    except ExpressionError as error:
        assert "(at " in str(error)
