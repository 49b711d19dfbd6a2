from __future__ import annotations

import re

import pytest

from tracklight.analysis.embeddings.metadata import LabelIndex, LiteralPattern, find_literal_pattern

LABELS = ["Fred", "larry", "alfred", "", "fredo", "Mary\nLarry", "größe", "fred larry", "50%"]


@pytest.mark.parametrize(
    "expression",
    ["^(fred|larry)$", "fred", "^fred", "fred$", "(fred|larry)$", "fred|larry", "^GRÖ", "^(fred)$"],
)
def test_literal_pattern_matches_like_the_expression(expression: str) -> None:
    pattern = find_literal_pattern(expression)
    assert pattern is not None
    found = LabelIndex(LABELS).match(pattern)
    regex = re.compile(expression, re.IGNORECASE)
    expected = [bool(regex.search(label.replace("\n", " "))) for label in LABELS]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "expression",
    [
        "f.ed",
        "fred*",
        "^fred|larry",
        "fred|larry$",
        "(fred",
        "fred)",
        "^$",
        "",
        "a|",
        r"\d",
        "[ab]",
    ],
)
def test_other_expressions_have_no_literal_pattern(expression: str) -> None:
    assert find_literal_pattern(expression) is None


def test_literal_texts_are_not_expressions() -> None:
    index = LabelIndex(LABELS)
    assert index.match(LiteralPattern(["0%"])).tolist() == [False] * 8 + [True]
    assert not index.match(LiteralPattern(["nobody"])).any()
    assert index.match(LiteralPattern([""])).all()
