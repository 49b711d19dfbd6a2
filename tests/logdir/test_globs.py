from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import UsageError
from tracklight.logdir.globs import RunFilter


def matches(pattern: str, run: str) -> bool:
    return RunFilter.parse(include=[pattern]).wants(run)


@pytest.mark.parametrize(
    ("pattern", "run"),
    [
        ("train", "train"),
        ("train", "train/a/b"),
        ("train/", "train/a"),
        ("lr*", "lr0.1"),
        ("lr*", "lr0.1/seed 2"),
        ("*/train", "a/train"),
        ("a/*/c", "a/b/c"),
        ("**/train", "train"),
        ("**/train", "a/b/train"),
        ("a/**/c", "a/c"),
        ("a/**/c", "a/b/b/c"),
        ("a**c", "a/b/c"),
        ("run?", "run1"),
        ("run[0-3]", "run2"),
        ("run[!0-3]", "run7"),
        ("a[]]", "a]"),
        ("a[-x]", "a-"),
        ("a[!]", "a!"),
        ("a[", "a["),
        ("*", "."),
        (".", "."),
        ("base/.", "base/."),
        ("base", "base/."),
        ("a+b(c)", "a+b(c)"),
        ("line\n*", "line\nbreak"),
    ],
)
def test_matches(pattern: str, run: str) -> None:
    assert matches(pattern, run)


@pytest.mark.parametrize(
    ("pattern", "run"),
    [
        ("train", "trainer"),
        ("train", "a/train"),
        ("*train", "a/train"),
        ("a/*/c", "a/c"),
        ("a/*/c", "a/b/b/c"),
        ("run?", "run"),
        ("run?", "run12"),
        ("a?b", "a/b"),
        ("a[!x]b", "a/b"),
        ("run[0-3]", "run4"),
        ("**/train", "a/retrain"),
        (".", "a"),
        ("a.b", "axb"),
        ("Train", "train"),
    ],
)
def test_does_not_match(pattern: str, run: str) -> None:
    assert not matches(pattern, run)


def test_exclude_wins_over_include() -> None:
    choice = RunFilter.parse(include=["a/**", "b"], exclude=["**/old"])
    runs = ["a/x", "a/old", "a/old/x", "b", "c", "old"]
    assert [run for run in runs if choice.wants(run)] == ["a/x", "b"]


def test_without_patterns_everything_is_wanted() -> None:
    assert RunFilter.parse().wants("anything/at all")


def test_refuses_a_range_that_runs_backwards() -> None:
    with pytest.raises(UsageError, match=r'the pattern "\[z-a\]" is not a glob'):
        RunFilter.parse(include=["[z-a]"])


@given(st.text(max_size=20), st.text(alphabet="ab[]!-*?/\\^&|~.", max_size=20))
def test_any_text_is_a_pattern_or_refused(run: str, pattern: str) -> None:
    try:
        RunFilter.parse(include=[pattern]).wants(run)
    except UsageError:
        pass


@given(st.text(alphabet="ab/.-+(", min_size=1, max_size=10).filter(lambda t: t[-1] != "/"))
def test_text_without_wildcards_matches_itself(run: str) -> None:
    assert matches(run, run)
