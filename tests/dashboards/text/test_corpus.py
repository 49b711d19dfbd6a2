"""All texts that TensorBoard finds in real logs are rendered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.media.conftest import Open
from tests.dashboards.text.conftest import Board
from tests.interop.test_corpus import CASES, read_oracle, unpack
from tracklight.analysis.media import ValueRequest
from tracklight.dashboards.text import TextDashboard

#: Invalid UTF-8 is shown escaped here; TensorBoard responds with an error.
NO_UTF8 = {"t/invalid_utf8"}


#: Cases in which no text was logged.
WITHOUT_TEXT = ("live_snapshot", "seed000", "seed001", "seed003")


def iter_expected(oracle: Any) -> Iterator[tuple[str, str, Any]]:
    for run, expected in oracle["multiplexer"]["runs"].items():
        for tag, about in expected["plugins"].get("text", {}).items():
            yield run, tag, about


@pytest.mark.parametrize("case", [case for case in CASES if case not in WITHOUT_TEXT])
def test_all_steps_are_rendered(case: str, tmp_path: Path, open_log: Open) -> None:
    expected = list(iter_expected(read_oracle(case)))
    assert expected
    board = Board(TextDashboard(open_log(unpack(case, tmp_path))))
    for run, tag, about in expected:
        (series,) = board.request("steps", tags=[tag], runs=[run], overwritten=True).series
        steps = series.step.astype("<i8").tobytes()
        assert len(series.step) == about["n"], (run, tag)
        assert hashlib.sha256(steps).hexdigest() == about["steps_sha256"], (run, tag)
        values = [ValueRequest(run, tag, index) for index in series.index.tolist()]
        for value in values:
            cells = board.render(value).cells
            assert all(not cell.notes for cell in cells), (run, tag)
        for value, end in ((values[0], about["first"]), (values[-1], about["last"])):
            response = board.render(value, form="raw")
            assert response.shape == end["shape"], (run, tag)
            if tag not in NO_UTF8 and len(response.shape) <= 2:
                # The oracle has the start of long texts, and the first of many texts.
                for cell, start in zip(response.cells, end["text"], strict=False):
                    assert cell.text.startswith(start), (run, tag)
