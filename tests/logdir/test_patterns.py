from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import UsageError
from tracklight.logdir import (
    RunFilter,
    compile_pattern,
    compile_series_pattern,
    is_plain_name,
)


def matches(pattern: str, run: str) -> bool:
    return RunFilter.parse(include=[pattern]).matches(run)


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
        ("re:^lr", "lr0.1/train"),
        ("re:debug$", "a/debug/late"),
        ("/debug$/", "a/debug/late"),
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
        ("re:^train", "a/train"),
        ("re:debug$", "a/debugger"),
    ],
)
def test_does_not_match(pattern: str, run: str) -> None:
    assert not matches(pattern, run)


def test_exclude_wins_over_include() -> None:
    choice = RunFilter.parse(include=["a/**", "b"], exclude=["**/old"])
    runs = ["a/x", "a/old", "a/old/x", "b", "c", "old"]
    assert [run for run in runs if choice.matches(run)] == ["a/x", "b"]


def test_matches_everything_without_patterns() -> None:
    assert RunFilter.parse().matches("anything/at all")


def test_rejects_reversed_range() -> None:
    with pytest.raises(UsageError, match=r'the pattern "\[z-a\]" is not a glob'):
        RunFilter.parse(include=["[z-a]"])


@given(st.text(max_size=20), st.text(alphabet="ab[]!-*?/\\^&|~.", max_size=20))
def test_accepts_or_rejects_any_text(run: str, pattern: str) -> None:
    try:
        RunFilter.parse(include=[pattern]).matches(run)
    except UsageError:
        pass


@given(st.text(alphabet="ab/.-+(", min_size=1, max_size=10).filter(lambda t: t[-1] != "/"))
def test_text_without_wildcards_matches_itself(run: str) -> None:
    assert matches(run, run)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("loss", ["loss"], ["train/loss", "loss2", "Loss"]),
        ("*loss", ["loss", "val_loss"], ["val/loss"]),
        ("**loss", ["loss", "val_loss", "val/loss"], ["losses"]),
        ("*", ["loss", "val/loss", "."], []),
        ("*/*", ["val/loss"], ["loss", "a/b/c"]),
        ("odd[1]", ["odd[1]", "odd1"], ["odd2"]),
        ("re:^(train|val)/", ["train/x", "val/x"], ["test/train/x"]),
        ("/^(train|val)$/", ["train", "val"], ["train/x"]),
        ("re:x", ["re:x", "axe"], ["re:"]),
    ],
)
def test_compile_pattern(pattern: str, matching: list[str], others: list[str]) -> None:
    matches = compile_pattern(pattern)
    assert [name for name in [*matching, *others] if matches(name)] == matching


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        # The alert in the README, for the run and tag of its example.
        ("*/loss", [("mine", "loss"), (".", "loss"), ("a/b/train", "loss")], [("mine", "acc")]),
        ("*/loss", [("mine", "val/loss"), ("base/.", "loss")], [("mine", "a/b/my_loss")]),
        ("loss", [("mine", "loss"), ("a/b", "loss")], [("mine", "val/loss"), ("loss", "acc")]),
        ("train/loss", [("x", "train/loss"), ("a/train", "loss")], [("train", "acc")]),
        ("a/**/loss", [("a", "loss"), ("a/b/c", "x/loss")], [("b/c", "loss")]),
        ("*", [("mine", "loss"), ("mine", "train/loss")], []),
        ("re:^loss", [("mine", "loss/x")], [("loss", "acc"), ("mine", "val/loss")]),
        ("/a/", [("mine", "acc")], [("train", "loss")]),
    ],
)
def test_series_pattern_matches_tag_or_run_and_tag(
    pattern: str, matching: list[tuple[str, str]], others: list[tuple[str, str]]
) -> None:
    matches = compile_series_pattern(pattern)
    assert [key for key in [*matching, *others] if matches(*key)] == matching


@pytest.mark.parametrize("pattern", ["re:(", "/(/"])
def test_rejects_invalid_regular_expression(pattern: str) -> None:
    for compile_ in (compile_pattern, compile_series_pattern):
        with pytest.raises(UsageError, match="is not a valid regular expression"):
            compile_(pattern)
    with pytest.raises(UsageError, match="is not a valid regular expression"):
        RunFilter.parse(exclude=[pattern])


def test_plain_name_has_no_wildcards() -> None:
    assert is_plain_name("train/loss")
    assert not any(map(is_plain_name, ["lr*", "lr?", "odd[1]", "re:x", "/x/"]))
