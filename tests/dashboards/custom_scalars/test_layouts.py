"""Logged layouts are read and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.index import logs
from tracklight.dashboards.custom_scalars import CustomScalars, LayoutResponse
from tracklight.formats.proto import Message
from tracklight.formats.summary import (
    LAYOUT_TAG,
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
    encode_event,
    make_metadata,
    tensor,
)
from tracklight.formats.tfrecord import encode_record
from tracklight.index.catalog import Catalog
from tracklight.plugin import Context, Empty
from tracklight.server import responses
from tracklight.server.source import LogOverview
from tracklight.types import LayoutCategory, LayoutChart, LayoutMargin

LOSS = MultilineChart("Loss", ["loss", "val.*loss"])
SPREAD = MarginChart("Spread", [MarginSeries("loss", "low", "high")])

OpenDashboard = Callable[..., CustomScalars]


@pytest.fixture
def open_dashboard(tmp_path: Path) -> Iterator[OpenDashboard]:
    """Return a function that writes layouts for each run and opens the dashboard."""
    catalogs: list[Catalog] = []

    def open_log(runs: Mapping[str, Sequence[Message]]) -> CustomScalars:
        for run, values in runs.items():
            (tmp_path / run).mkdir(parents=True)
            events = [
                encode_event(1.7e9 + step, step, [value]) for step, value in enumerate(values)
            ]
            path = tmp_path / run / "events.out.tfevents.1"
            path.write_bytes(b"".join(map(encode_record, events)))
        catalog = logs.open_catalog(tmp_path)
        catalogs.append(catalog)
        catalog.refresh()
        overview = LogOverview(catalog)
        tags, runs_with = overview.scalar_tags, overview.runs_with_scalar
        context = Context(catalog, tags, runs_with, lambda: "cursor", responses.describe_error)
        return CustomScalars(context)

    yield open_log
    for catalog in catalogs:
        catalog.close()


def get_layout(dashboard: CustomScalars) -> LayoutResponse:
    return dashboard.layout(Empty())


def test_reads_layout_as_logged(open_dashboard: OpenDashboard) -> None:
    response = get_layout(
        open_dashboard({"a": [custom_scalars_layout({"Quality": [LOSS, SPREAD]})]})
    )
    margin = LayoutMargin("loss", "low", "high")
    charts = (
        LayoutChart("Loss", tags=("loss", "val.*loss")),
        LayoutChart("Spread", margins=(margin,)),
    )
    assert response.categories == [LayoutCategory("Quality", False, charts)]
    assert (response.runs, response.problems) == (["a"], [])


def test_merges_layouts_of_runs(open_dashboard: OpenDashboard) -> None:
    response = get_layout(
        open_dashboard(
            {
                "run2": [custom_scalars_layout({"Quality": [LOSS, SPREAD], "More": [LOSS]})],
                "run10": [custom_scalars_layout({"More": [SPREAD], "Quality": [SPREAD]})],
            }
        )
    )
    titles = {it.title: [chart.title for chart in it.charts] for it in response.categories}
    assert titles == {"Quality": ["Loss", "Spread"], "More": ["Loss", "Spread"]}


def test_last_layout_of_a_run_counts(open_dashboard: OpenDashboard) -> None:
    response = get_layout(
        open_dashboard(
            {"a": [custom_scalars_layout({"Old": [LOSS]}), custom_scalars_layout({"New": [LOSS]})]}
        )
    )
    assert [it.title for it in response.categories] == ["New"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x12\xff\xff\xff\x0f", "layout"),
        ([b"a", b"b"], "not a layout"),
        (b"\x0a" * (1 << 20), "larger than 1 MiB"),
    ],
)
def test_unreadable_layout_is_reported(
    open_dashboard: OpenDashboard, content: object, reason: str
) -> None:
    broken = tensor(LAYOUT_TAG, content, make_metadata("custom_scalars"))
    response = get_layout(
        open_dashboard({"a": [broken], "b": [custom_scalars_layout({"Quality": [LOSS]})]})
    )
    assert [it.title for it in response.categories] == ["Quality"]
    (problem,) = response.problems
    assert '"a"' in problem.text and reason in problem.text


def test_number_of_charts_is_limited(open_dashboard: OpenDashboard) -> None:
    charts = [MultilineChart(str(number), ["x"]) for number in range(1200)]
    response = get_layout(open_dashboard({"a": [custom_scalars_layout({"Many": charts})]}))
    assert len(response.categories[0].charts) == 1000
    (problem,) = response.problems
    assert problem.text == "200 charts are not shown: a layout is limited to 1,000 charts."
    assert problem.args == {"omitted": 200, "limit": 1000}


def test_static_export_has_the_layout(open_dashboard: OpenDashboard) -> None:
    dashboard = open_dashboard({"a": [custom_scalars_layout({"Quality": [LOSS]})]})
    assert dict(dashboard.export_static(["a"])) == {"layout": get_layout(dashboard)}


def test_static_export_without_layout_is_empty(open_dashboard: OpenDashboard) -> None:
    assert [*open_dashboard({}).export_static([])] == []
