from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tracklight.errors import LogError
from tracklight.reader import Values


@pytest.fixture
def texts(small_logdir: Path) -> Iterator[Values[Any]]:
    with tracklight.open(small_logdir, cache=False) as log:
        yield log.text("kinds", "words")


def test_is_a_sequence(texts: Values[Any]) -> None:
    assert len(texts) == 3
    assert texts[-1].item() == "again"
    assert [text.shape for text in texts] == [(), (2,), ()]
    assert repr(texts) == '<3 values of "words" in run "kinds">'
    with pytest.raises(IndexError):
        texts[3]


def test_slices_are_sequences(texts: Values[Any]) -> None:
    last = texts[1:][-1:]

    assert (len(last), last.step.tolist(), last.overwritten.tolist()) == (1, [5], [False])
    assert last[0].item() == "again"


def test_without_overwritten(texts: Values[Any]) -> None:
    assert [text.item() for text in texts.without_overwritten()] == ["hello", "again"]


def test_at_returns_the_last_value_of_a_step(texts: Values[Any]) -> None:
    assert texts.at(5).item() == "again"
    with pytest.raises(LogError, match="no value at step 4"):
        texts.at(4)
