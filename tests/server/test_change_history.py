from __future__ import annotations

import pytest

from tracklight.server.source import ChangeHistory
from tracklight.types import Delta


def test_history_drops_old_changes() -> None:
    history = ChangeHistory(0)
    start = history.cursor()
    for version in range(1, 300):
        history.add(Delta(version, (), (), ("a",)))
    assert history.get_since(start) == (history.cursor(), None)


@pytest.mark.parametrize(
    ("deltas", "merged"),
    [
        ([Delta(1, ("a",), (), ()), Delta(2, (), ("a",), ())], Delta(2, (), (), ())),
        ([Delta(1, (), ("a",), ()), Delta(2, ("a",), (), ())], Delta(2, (), (), ("a",))),
        ([Delta(1, ("a",), (), ()), Delta(2, (), (), ("a",))], Delta(2, ("a",), (), ())),
        ([Delta(1, (), (), ("a",)), Delta(2, (), ("a",), ())], Delta(2, (), ("a",), ())),
    ],
)
def test_changes_are_merged(deltas: list[Delta], merged: Delta) -> None:
    history = ChangeHistory(0)
    start = history.cursor()
    for delta in deltas:
        history.add(delta)
    assert history.get_since(start)[1] == merged


def test_finds_the_runs_that_have_changed() -> None:
    history = ChangeHistory(0)
    start = history.cursor()
    history.add(Delta(1, ("a",), (), ()))
    middle = history.cursor()
    history.add(Delta(2, (), ("b",), ("c",)))
    assert history.find_changed_runs(start, 2) == {"a", "b", "c"}
    assert history.find_changed_runs(middle, 2) == {"b", "c"}
    assert history.find_changed_runs(history.cursor(), 2) == frozenset()


def test_changed_runs_are_unknown_after_changes_that_name_none() -> None:
    history = ChangeHistory(0)
    start = history.cursor()
    history.add(Delta(1, (), (), ("a",)))
    known = history.cursor()
    assert history.find_changed_runs(known, 2) is None
    history.add(Delta(3, (), (), ("b",)))
    later = history.cursor()
    assert history.find_changed_runs(known, 3) is None
    history.add(Delta(4, (), (), ()))
    assert history.find_changed_runs(later, 4) is None
    assert history.find_changed_runs(start, 4) is None
    assert history.find_changed_runs("other.3", 4) is None
