from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.index import logs
from tests.server.columns_decoder import read_columns
from tests.server.waiting import wait_until
from tracklight import notebook
from tracklight.errors import MissingDependencyError, TracklightError, UsageError
from tracklight.server.routing import PAGE_DIR


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    return tmp_path / "logs"


@pytest.fixture
def chart(folder: Path) -> Iterator[Any]:
    pytest.importorskip("anywidget")
    if not (PAGE_DIR / "notebook" / "chart.js").exists():
        pytest.skip("the web page is not built; `make test` builds it")
    widget = tracklight.notebook.chart(folder, tag="loss", interval_s=0.05)
    yield widget
    widget.close()


def list_drawn_runs(chart: Any) -> list[str]:
    return [line["run"] for line in read_columns(chart.answer)["lines"]]


def test_chart_follows_the_log(chart: Any, folder: Path) -> None:
    assert chart.title == "loss" and list_drawn_runs(chart) == ["conv"]
    logs.write(folder, "vit", logs.points(range(5)))
    wait_until(lambda: list_drawn_runs(chart) == ["conv", "vit"])


def test_reports_a_missing_tag_until_it_is_logged(chart: Any, folder: Path) -> None:
    assert chart.problem == ""
    other = tracklight.notebook.chart(folder, tag="los", interval_s=0.05)
    assert list_drawn_runs(other) == []
    assert other.problem.startswith('No tag "los" in any run')
    assert '"loss"' in other.problem
    logs.write(folder, "vit", logs.points(range(5), tag="los"))
    wait_until(lambda: list_drawn_runs(other) == ["vit"] and other.problem == "")
    other.close()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"runs": ["conv"]}, ""),
        ({"runs": ["conf"]}, 'No run "conf"; nearest: "conv".'),
        ({"runs": ["conv", "other"]}, 'No tag "loss" in run "other".'),
    ],
)
def test_reports_missing_runs(
    options: dict[str, Any], problem: str, chart: Any, folder: Path
) -> None:
    logs.write(folder, "other", logs.points(range(3), tag="lr"))
    other = tracklight.notebook.chart(folder, tag="loss", **options)
    other.close()
    assert other.problem.startswith(problem) and bool(other.problem) == bool(problem)


def test_reports_a_log_without_scalars(chart: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    other = tracklight.notebook.chart(tmp_path / "empty", tag="loss")
    other.close()
    assert other.problem == "The log has no scalars yet."


def test_closed_chart_stops_updating(chart: Any, folder: Path) -> None:
    chart.close()
    logs.write(folder, "vit", logs.points(range(5)))
    with tracklight.open(folder) as log:
        other = tracklight.notebook.chart(log, tag="loss", runs=["vit"], interval_s=0.05)
    assert list_drawn_runs(other) == ["vit"] and list_drawn_runs(chart) == ["conv"]
    other.close()


def test_rejects_invalid_smoothing(folder: Path) -> None:
    with pytest.raises(UsageError, match="takes amounts from"):
        tracklight.notebook.chart(folder, tag="loss", smoothing=7.0)


def test_raises_if_the_page_is_not_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anywidget")
    monkeypatch.setattr(notebook, "PAGE_DIR", tmp_path)
    with pytest.raises(TracklightError, match="is not built"):
        tracklight.notebook.chart(folder, tag="loss")


def test_names_the_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[notebook\]'"):
        tracklight.notebook.chart(folder, tag="loss")
