from __future__ import annotations

import re

import pytest

from tracklight.analysis.embeddings.search import LabelIndex, LiteralPattern, find_literal_pattern

LABELS = ["Fred", "larry", "alfred", "", "fredo", "Mary\nLarry", "größe", "fred larry", "50%"]


@pytest.mark.parametrize(
    "expression",
    ["^(fred|larry)$", "fred", "^fred", "fred$", "(fred|larry)$", "fred|larry", "^GRÖ", "^(fred)$"],
)
def test_words_are_found_as_expressions_find_them(expression: str) -> None:
    words = find_literal_pattern(expression)
    assert words is not None
    found = LabelIndex(LABELS).match(words)
    pattern = re.compile(expression, re.IGNORECASE)
    wanted = [bool(pattern.search(label.replace("\n", " "))) for label in LABELS]
    assert found.tolist() == wanted


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
def test_what_is_more_than_words_is_left_to_expressions(expression: str) -> None:
    assert find_literal_pattern(expression) is None


def test_texts_are_found_as_they_are() -> None:
    haystack = LabelIndex(LABELS)
    assert haystack.match(LiteralPattern(["0%"])).tolist() == [False] * 8 + [True]
    assert not haystack.match(LiteralPattern(["nobody"])).any()
    assert haystack.match(LiteralPattern([""])).all()
