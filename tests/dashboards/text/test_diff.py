"""A diff is correct: either text can be restored from it."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dashboards.text.conftest import Show
from tracklight.analysis.media.time_limits import Deadline
from tracklight.dashboards.text.diff import TextDiffResponse, align_sequences, diff_texts

LINES = st.lists(st.text("ab \n", max_size=4).map(lambda line: line.replace("\n", "")), max_size=30)


def join_lines(response: TextDiffResponse, kind: str) -> list[str]:
    return ["".join(line.parts) for line in response.lines if line.kind in ("same", kind)]


@given(LINES, LINES)
def test_diff_contains_both_texts(before: list[str], after: list[str]) -> None:
    response = diff_texts(before, after, None)
    assert join_lines(response, "removed") == before
    assert join_lines(response, "added") == after
    numbers = [line.before for line in response.lines if line.before is not None]
    assert numbers == list(range(1, len(before) + 1))


@given(LINES, LINES, st.integers(0, 3))
def test_gaps_replace_common_lines(before: list[str], after: list[str], context: int) -> None:
    whole, folded = diff_texts(before, after, None), diff_texts(before, after, context)
    assert sum(line.lines for line in folded.lines) == len(whole.lines)
    assert [line for line in folded.lines if line.kind in ("added", "removed")] == [
        line for line in whole.lines if line.kind in ("added", "removed")
    ]
    assert (folded.added, folded.removed) == (whole.added, whole.removed)


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_aligned_pairs_are_increasing_and_equal(before: list[int], after: list[int]) -> None:
    pairs = align_sequences(before, after, Deadline(60))
    assert all(before[i] == after[j] for i, j in pairs)
    for (i, j), (i_next, j_next) in pairwise(pairs):
        assert i < i_next
        assert j < j_next


def test_changed_words_are_marked() -> None:
    response = diff_texts(["the quick fox jumps"], ["the slow fox jumps"], None)
    assert [line.parts for line in response.lines] == [
        ["the ", "quick", " fox jumps"],
        ["the ", "slow", " fox jumps"],
    ]


def test_unrelated_lines_have_no_marks() -> None:
    response = diff_texts(["alpha beta"], ["completely else where"], None)
    assert [line.parts for line in response.lines] == [["alpha beta"], ["completely else where"]]


def test_inserted_line_does_not_move_others() -> None:
    response = diff_texts(["a", "b", "c"], ["a", "x", "b", "c"], None)
    assert [line.kind for line in response.lines] == ["same", "added", "same", "same"]


def test_distant_unchanged_lines_become_a_gap() -> None:
    lines = [f"line {n}" for n in range(40)]
    response = diff_texts(lines, [*lines[:20], "new", *lines[20:]], 3)
    assert [(line.kind, line.lines) for line in response.lines if line.kind == "gap"] == [
        ("gap", 17),
        ("gap", 17),
    ]


@pytest.mark.parametrize("shape", ["shuffled", "two words", "nothing in common", "reversed"])
def test_hostile_texts_respect_the_time_limit(shape: str) -> None:
    rng = random.Random(1)
    lines = [f"line {n}" for n in range(20_000)]
    after = {
        "shuffled": rng.sample(lines, len(lines)),
        "two words": [rng.choice("ab") for _ in lines],
        "nothing in common": [f"other {n}" for n in range(20_000)],
        "reversed": lines[::-1],
    }[shape]
    before = [rng.choice("ab") for _ in lines] if shape == "two words" else lines
    start = time.thread_time()
    diff_texts(before, after, 3)
    assert time.thread_time() - start < 10, "a bound, not a measurement"


def test_truncation_is_noted() -> None:
    response = diff_texts(["x" * 6000, *["y"] * 30_000], ["z"], None)
    assert [note.text for note in response.notes] == [
        "Only the first 20,000 lines are compared.",
        "Lines are truncated after 5,000 characters.",
        "The first 4,000 of 20,001 lines are shown.",
    ]
    assert response.notes[2].code == "text.diff_shown_limit"
    assert response.notes[2].args == {"limit": 4000, "total": 20_001}


def test_diff_route(show: Show) -> None:
    board = show(run=[("words", ["a", "b"]), ("words", ["a", "c"])])
    before, after = (msgspec.to_builtins(value) for value in board.values("words"))
    response = board.request("diff", before=before, after=after)
    assert [(line.kind, "".join(line.parts)) for line in response.lines] == [
        ("same", "[0]"),
        ("same", "a"),
        ("same", "[1]"),
        ("removed", "b"),
        ("added", "c"),
    ]
