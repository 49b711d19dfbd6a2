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
