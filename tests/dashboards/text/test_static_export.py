"""A static export contains texts in both forms and as files."""

from __future__ import annotations

from tests.dashboards.text.conftest import Show
from tracklight.analysis.media import StepsResponse, steps_path, value_path
from tracklight.dashboards.text import TextResponse
from tracklight.plugin import Blob


def test_export_has_what_the_page_requests(show: Show) -> None:
    board = show(a=[("words", "**x**")] * 100, b=[("words", "y"), ("others", ["z"])])
    parts = dict(board.text.export_static(["a"]))
    steps = parts[steps_path("words")]
    assert isinstance(steps, StepsResponse)
    assert [series.run for series in steps.series] == ["a"]
    assert len(steps.series[0].step) == 30
    assert steps.series[0].step[-1] == 99
    last = board.values("words")[99]
    rendered, raw = (parts[value_path("render", last, form=form)] for form in ("markdown", "raw"))
    assert isinstance(rendered, TextResponse)
    assert rendered.cells[0].html == "<p><strong>x</strong></p>\n"
    assert isinstance(raw, TextResponse)
    assert raw.cells[0].text == "**x**"
    file = parts[value_path("raw", last)]
    assert isinstance(file, Blob)
    assert file.content == b"**x**"
    assert steps_path("others") not in parts
