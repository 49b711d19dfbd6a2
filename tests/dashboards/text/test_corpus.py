"""Every text of every tag and step that TensorBoard's reader finds in real logs is shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.text.conftest import Board
from tests.interop.test_corpus import CASES, read_oracle, unpack
from tracklight.analysis.media.values import ValueRequest
from tracklight.dashboards.text import TextDashboard

#: Bytes that are no UTF-8 stay visible here; TensorBoard answers with an error.
NO_UTF8 = {"t/invalid_utf8"}


#: Cases in which no text was logged.
WITHOUT_TEXT = ("live_snapshot", "seed000", "seed001", "seed003")


def list_told(oracle: Any) -> Iterator[tuple[str, str, Any]]:
    for run, told in oracle["multiplexer"]["runs"].items():
        for tag, about in told["plugins"].get("text", {}).items():
            yield run, tag, about


@pytest.mark.parametrize("case", [case for case in CASES if case not in WITHOUT_TEXT])
def test_every_step_is_shown(case: str, tmp_path: Path, open_log: Open) -> None:
    told = list(list_told(read_oracle(case)))
    assert told
    board = Board(TextDashboard(open_log(unpack(case, tmp_path))))
    for run, tag, about in told:
        (series,) = board.ask("steps", tags=[tag], runs=[run], overwritten=True).series
        steps = series.step.astype("<i8").tobytes()
        assert len(series.step) == about["n"], (run, tag)
        assert hashlib.sha256(steps).hexdigest() == about["steps_sha256"], (run, tag)
        values = [ValueRequest(run, tag, index) for index in series.index.tolist()]
        for value in values:
            cells = board.render(value).cells
            assert all(cell.note is None for cell in cells), (run, tag)
        for value, end in ((values[0], about["first"]), (values[-1], about["last"])):
            answer = board.render(value, form="raw")
            assert answer.shape == end["shape"], (run, tag)
            if tag not in NO_UTF8 and len(answer.shape) <= 2:
                # The oracle tells the start of long texts, and the first of many.
                for cell, start in zip(answer.cells, end["text"], strict=False):
                    assert cell.text.startswith(start), (run, tag)
