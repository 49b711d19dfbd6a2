"""The Text dashboard with a log that the test writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.analysis.media.conftest import open_log
from tests.small_log import write
from tracklight.analysis.media import StepsRequest, ValueRequest, list_steps
from tracklight.dashboards.text import TextDashboard
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

__all__ = ["open_log"]


class Board:
    """Send requests to the dashboard by the paths of its routes."""

    def __init__(self, text: TextDashboard) -> None:
        self.text = text

    def request(self, route: str, **fields: Any) -> Any:
        matching = next(one for one in self.text.routes() if one.path == route)
        return matching.handler(msgspec.convert(fields, matching.request_type))

    def values(self, tag: str) -> list[ValueRequest]:
        """Return all values of a tag, run by run."""
        return [
            ValueRequest(series.run, tag, index, mark)
            for series in list_steps(self.text.context, StepsRequest([tag])).series
            for index, mark in zip(series.index.tolist(), series.fingerprint.tolist(), strict=True)
        ]

    def render(self, value: ValueRequest, **fields: Any) -> Any:
        return self.request("render", **msgspec.to_builtins(value), **fields)


Show = Callable[..., Board]


@pytest.fixture
def show(tmp_path: Path, open_log: Any) -> Show:
    """Write runs, each a list of ``(tag, text)`` at steps 0, 1, …, and open the dashboard."""

    def show_(**runs: list[tuple[str, Any]]) -> Board:
        for number, (run, logged) in enumerate(runs.items()):
            events = [
                encode_event(1.7e9 + 100 * number + step, step, [summary.text(tag, text)])
                for step, (tag, text) in enumerate(logged)
            ]
            write(tmp_path / run, *map(encode_record, events))
        return Board(TextDashboard(open_log(tmp_path)))

    return show_
