"""The Text dashboard over a log of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.analysis.media.conftest import open_log
from tests.small_log import write
from tracklight.analysis.media.values import StepsRequest, ValueRequest, list_steps
from tracklight.dashboards.text import TextDashboard
from tracklight.formats import summary
from tracklight.formats.event import encode_event
from tracklight.formats.tfrecord import encode_record

__all__ = ["open_log"]

Ask = Callable[..., Any]


class Board:
    """The dashboard, asked by the names of its routes."""

    def __init__(self, text: TextDashboard) -> None:
        self.text = text

    def ask(self, route: str, **fields: Any) -> Any:
        found = next(one for one in self.text.routes() if one.path == route)
        return found.handler(msgspec.convert(fields, found.request_type))

    def values(self, tag: str) -> list[ValueRequest]:
        """Every value of a tag, run by run."""
        return [
            ValueRequest(series.run, tag, index, mark)
            for series in list_steps(self.text.context, StepsRequest([tag])).series
            for index, mark in zip(series.index.tolist(), series.mark.tolist(), strict=True)
        ]

    def render(self, ask: ValueRequest, **fields: Any) -> Any:
        return self.ask("render", **msgspec.to_builtins(ask), **fields)


Show = Callable[..., Board]


@pytest.fixture
def show(tmp_path: Path, open_log: Any) -> Show:
    """Writes runs, each a list of ``(tag, text)`` at steps 0, 1, …, and opens the dashboard."""

    def show_(**runs: list[tuple[str, Any]]) -> Board:
        for number, (run, logged) in enumerate(runs.items()):
            events = [
                encode_event(1.7e9 + 100 * number + step, step, [summary.text(tag, text)])
                for step, (tag, text) in enumerate(logged)
            ]
            write(tmp_path / run, *map(encode_record, events))
        return Board(TextDashboard(open_log(tmp_path)))

    return show_
