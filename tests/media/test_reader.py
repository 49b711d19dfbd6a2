"""One value is read as it was logged, and never another one in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index import logs
from tests.media.conftest import Open
from tracklight.errors import LogError
from tracklight.formats.values import Images
from tracklight.media.reader import Reader, ValueAsk
from tracklight.media.steps import StepsAsk, list_steps


def test_every_value_is_the_one_that_was_logged(tmp_path: Path, open_log: Open) -> None:
    logs.write(tmp_path, "a", b"".join(logs.picture(step, bytes([step])) for step in range(9)))
    context = open_log(tmp_path)
    (steps,) = list_steps(context, StepsAsk(["picture"])).series
    reader = Reader(context)
    for index, mark in zip(steps.index.tolist(), steps.mark.tolist(), strict=True):
        value = reader.read(ValueAsk("a", "picture", index, mark))
        assert isinstance(value, Images)
        assert value.encoded == (bytes([index]),)


@pytest.mark.parametrize("ask", [(0, 1), (9, None)])
def test_what_is_no_longer_there_is_said(
    tmp_path: Path, open_log: Open, ask: tuple[int, int | None]
) -> None:
    logs.write(tmp_path, "a", logs.picture(1, b"x"))
    with pytest.raises(LogError, match="no longer has this value"):
        Reader(open_log(tmp_path)).read(ValueAsk("a", "picture", *ask))
