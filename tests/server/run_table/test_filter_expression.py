from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.server.run_table.tables import LogBuilder
from tracklight.errors import UsageError
from tracklight.server.notes import RunNote
from tracklight.server.run_table.filter_expression import evaluate_filter, parse_quantity
from tracklight.server.run_table.table import RunTable

#: The page's tests use the same examples.
EXAMPLES = json.loads(
    (Path(__file__).parents[2] / "data" / "filter_expressions.json").read_text("utf-8")
)
MAY_2 = 1777716000.0


@pytest.fixture
def table() -> RunTable:
    builder = LogBuilder()
    note = RunNote(labels=("best", "paper"))
    builder.add("conv/a", {"lr": 0.001, "optimizer": "Adam"}, times=(0, 60), note=note)
    builder.add(
        "conv/b", {"lr": 0.01, "optimizer": "sgd"}, times=(0, 60), note=RunNote("Diverged early")
    )
    accuracy = {"val/acc": [0.5, 0.93]}
    builder.add("vit/c", {"lr": 0.1, "bn": True}, accuracy, times=(0, 5400))
    builder.add("vit/d", {"acc": 1.0}, {"val/acc": [0.4]}, times=(MAY_2, MAY_2 + 5))
    # Runs without a start time are not in the page's examples.
    for run in ("conv/a", "conv/b", "vit/c"):
        builder.source.times[run] = (1e9, 1e9 + builder.source.times[run][1])
    return builder.build()


def pick(text: str, table: RunTable) -> str:
    return "".join(
        name[-1] for name, hit in zip(table.names, evaluate_filter(text, table), strict=True) if hit
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [pair for pair in EXAMPLES["matches"] if not pair[0].startswith("start < ")],
)
def test_matches_the_same_runs_as_the_page(table: RunTable, text: str, expected: str) -> None:
    assert pick(text, table) == expected


@pytest.mark.parametrize(("text", "message"), EXAMPLES["errors"])
def test_errors_are_those_of_the_page(table: RunTable, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate_filter(text, table)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state = inactive", ""),
        ("state in (stalled, crashed)", "abcd"),
        ("start < 2026-05", "abc"),
        ('max("val/acc") >= 0.93', "c"),
        ('step("val/acc") = 1', "c"),
        ('at("val/acc", 0) >= 0.4', "cd"),
        ('at("val/acc", 1) = 0.93', "c"),
        ("at(val/acc, -1) > 0", ""),
        ('config("acc") = 1', "d"),
        ("points > 1", "c"),
        ("lr : 0.0", "ab"),
        ("optimizer < b", "a"),
    ],
)
def test_fields_of_the_server(table: RunTable, text: str, expected: str) -> None:
    assert pick(text, table) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lrr < 1", "No run has a hyperparameter “lrr”; did you mean “lr”? (at character 1)"),
        ("a or xyz = 1", "No run has a hyperparameter “xyz” (at character 6)"),
        ("Val > 1", 'No run has a hyperparameter “Val”; did you mean last("val/acc")? (at chara'),
        ("valacc > 1", 'hyperparameter “valacc”; did you mean “acc” or last("val/acc")? (at chara'),
        ('min("acc") > 1', "No run has a metric “acc”; did you mean “val/acc”? (at character 1)"),
        ('last("val/ac") > 1', "No run has a metric “val/ac”; did you mean “val/acc”? (at chara"),
        ('at("val/ac", 3) > 1', "No run has a metric “val/ac”; did you mean “val/acc”?"),
        ('at("val/acc") > 1', 'Expected a step, such as at("val/acc", 1000) (at character 13)'),
        ('at("val/acc", x) > 1', 'Expected a step, such as at("val/acc", 1000) (at character 15)'),
        ('name ~ "(x"', "invalid regular expression"),
        ("(" * 60 + "a" + ")" * 60, "Too many nested parentheses"),
        ("a " * 3000, "more than 5000 characters"),
    ],
)
def test_unknown_fields_and_limits(table: RunTable, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate_filter(text, table)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [("90m", 5400), ("1.5h", 5400), ("2D", 172_800), ("1e-3", 0.001), ("inf", float("inf"))],
)
def test_quantities(text: str, number: float) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize("text", ["nan", "1x", "2026-99", "1..2s", "2026-01-01Tx"])
def test_invalid_quantities(text: str) -> None:
    assert parse_quantity(text) is None
