from __future__ import annotations

import re

import pytest

from tracklight.errors import LogError, RunNotFoundError, UsageError
from tracklight.reader.tables import NameFilter, select_names

NAMES = ("lr1/train", "lr1/test", "lr2/train", "odd[1]", "re:x")


def unknown(name: str) -> LogError:
    return RunNotFoundError(name, NAMES)


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        (None, NAMES),
        ("lr1/test", ("lr1/test",)),
        (["lr2/train", "lr1/test"], ("lr1/test", "lr2/train")),
        ("lr*/train", ("lr1/train", "lr2/train")),
        ("lr*", ()),
        ("**t*", ("lr1/train", "lr1/test", "lr2/train")),
        ("odd[1]", ("odd[1]",)),
        ("re:x", ("re:x",)),
        ("re:^lr.*t$", ("lr1/test",)),
        (re.compile("LR2", re.IGNORECASE), ("lr2/train",)),
        (["re:2", re.compile("odd"), "lr1/test"], ("lr1/test", "lr2/train", "odd[1]")),
        ("nothing*", ()),
        ([], ()),
    ],
)
def test_selects(choice: NameFilter, chosen: tuple[str, ...]) -> None:
    assert select_names(choice, NAMES, unknown) == chosen


def test_raises_for_an_unknown_name() -> None:
    with pytest.raises(RunNotFoundError, match=r'no run "lr1/tests"; nearest: "lr1/test"'):
        select_names(["lr2/train", "lr1/tests"], NAMES, unknown)


def test_raises_for_an_invalid_regular_expression() -> None:
    with pytest.raises(UsageError, match=r"re:\(.* is not a valid regular expression"):
        select_names("re:(", NAMES, unknown)
