from __future__ import annotations

import pytest

from tracklight.server.notes import RunNote
from tracklight.server.source import RunRow
from tracklight.server.static_export import parse_view


def make_row(name: str, start: float | str | None) -> RunRow:
    return RunRow(name, start, None, 1, 1, 1, 1, 0)


ROWS = [
    make_row("conv/a", 30.0),
    make_row("conv/b", 20.0),
    make_row("vit", 10.0),
    make_row("old", None),
    make_row("odd", "NaN"),
]


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        ("", "conv/a conv/b vit old odd"),
        ("selected=all;-vit,conv/{a}", "conv/b old odd"),
        ("selected=none;%2Bconv/{a,b}", "conv/a conv/b"),
        ("selected=newest-2", "conv/a conv/b"),
        ("selected=newest-1;%2Bold", "conv/a old"),
        ("selected=none&baseline=vit", "vit"),
        ("runs=CONV+b", "conv/b"),
        ("runs=transformer", "vit"),
        ("runs-regex=^(vit|old)$", "vit old"),
        ("runs-regex=(?<year>x)", "conv/a conv/b vit old odd"),
        ("selected=newest-1&runs=i", "vit"),
        ("selected=newest-1&runs-query=lr<1", "conv/a conv/b vit old odd"),
        ("selected=nonsense", "conv/a conv/b vit old odd"),
    ],
)
def test_view_selects_the_runs_that_the_page_shows(query: str, runs: str) -> None:
    notes = {"vit": RunNote(alias="Transformer")}
    view = parse_view(f"http://localhost:6006/board/?{query}")
    assert view.select_runs(ROWS, notes) == runs.split()


def test_hidden_runs_are_selected_only_if_shown() -> None:
    notes = {"vit": RunNote(hidden=True)}
    assert "vit" not in parse_view("").select_runs(ROWS, notes)
    assert "vit" in parse_view("show-hidden=1").select_runs(ROWS, notes)
    assert parse_view("selected=none;%2Bvit,old").select_runs(ROWS, notes) == ["old"]


def test_newest_of_many_runs_are_selected() -> None:
    rows = [make_row(f"run-{number}", float(number)) for number in range(501)]
    assert parse_view("").select_runs(rows, {}) == [f"run-{number}" for number in range(401, 501)]
    assert len(parse_view("").select_runs(rows[1:], {})) == 500


def test_search_drops_server_parameters() -> None:
    view = parse_view("http://host/?token=secret&tab=scalars&smoothing=0.6&runs=a%20b&paused=1")
    assert view.search == "tab=scalars&smoothing=0.6&runs=a%20b"
    assert parse_view("?x=wall").params == {"x": "wall"}
    assert parse_view("http://localhost:6006/").search == ""
