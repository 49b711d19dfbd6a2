from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.index import logs
from tracklight.dashboards.custom_scalars.dashboard import CustomScalars, LayoutResponse
from tracklight.formats.event import encode_event
from tracklight.formats.proto import Message
from tracklight.formats.summary import (
    LAYOUT_TAG,
    MarginChart,
    MarginSeries,
    MultilineChart,
    custom_scalars_layout,
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

Open = Callable[..., CustomScalars]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Open]:
    """The dashboard on a log in which each run has logged some layouts, one after the other."""
    catalogs: list[Catalog] = []

    def open_board(runs: Mapping[str, Sequence[Message]]) -> CustomScalars:
        for run, values in runs.items():
            (tmp_path / run).mkdir(parents=True)
            events = [encode_event(1.7e9 + at, at, [value]) for at, value in enumerate(values)]
            path = tmp_path / run / "events.out.tfevents.1"
            path.write_bytes(b"".join(map(encode_record, events)))
        catalog = logs.open_catalog(tmp_path)
        catalogs.append(catalog)
        catalog.refresh()
        overview = LogOverview(catalog)
        tags, runs_with = overview.scalar_tags, overview.runs_with_scalar
        context = Context(catalog, tags, runs_with, lambda: "cursor", responses.describe_error)
        return CustomScalars(context)

    yield open_board
    for catalog in catalogs:
        catalog.close()


def read(board: CustomScalars) -> LayoutResponse:
    return board.layout(Empty())


def test_a_layout_is_read_as_it_was_logged(board: Open) -> None:
    answer = read(board({"a": [custom_scalars_layout({"Quality": [LOSS, SPREAD]})]}))
    margin = LayoutMargin("loss", "low", "high")
    charts = (
        LayoutChart("Loss", tags=("loss", "val.*loss")),
        LayoutChart("Spread", margins=(margin,)),
    )
    assert answer.categories == [LayoutCategory("Quality", False, charts)]
    assert (answer.runs, answer.problems) == (["a"], [])


def test_layouts_of_runs_come_together_and_each_chart_once(board: Open) -> None:
    answer = read(
        board(
            {
                "run2": [custom_scalars_layout({"Quality": [LOSS, SPREAD], "More": [LOSS]})],
                "run10": [custom_scalars_layout({"More": [SPREAD], "Quality": [SPREAD]})],
            }
        )
    )
    titles = {it.title: [chart.title for chart in it.charts] for it in answer.categories}
    assert titles == {"Quality": ["Loss", "Spread"], "More": ["Loss", "Spread"]}


def test_the_layout_logged_last_counts(board: Open) -> None:
    answer = read(
        board(
            {"a": [custom_scalars_layout({"Old": [LOSS]}), custom_scalars_layout({"New": [LOSS]})]}
        )
    )
    assert [it.title for it in answer.categories] == ["New"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x12\xff\xff\xff\x0f", "no layout"),
        ([b"a", b"b"], "no layout"),
        (b"\x0a" * (1 << 20), "too large"),
    ],
)
def test_a_broken_layout_is_a_sentence_and_leaves_the_others(
    board: Open, content: object, reason: str
) -> None:
    broken = tensor(LAYOUT_TAG, content, make_metadata("custom_scalars"))
    answer = read(board({"a": [broken], "b": [custom_scalars_layout({"Quality": [LOSS]})]}))
    assert [it.title for it in answer.categories] == ["Quality"]
    (problem,) = answer.problems
    assert '"a"' in problem and reason in problem


def test_what_nobody_could_look_at_is_bounded(board: Open) -> None:
    charts = [MultilineChart(str(number), ["x"]) for number in range(1200)]
    answer = read(board({"a": [custom_scalars_layout({"Many": charts})]}))
    assert len(answer.categories[0].charts) == 1000
    assert answer.problems == ["200 more charts are laid out than the 1,000 that are shown."]


def test_a_copy_carries_the_layout(board: Open) -> None:
    dashboard = board({"a": [custom_scalars_layout({"Quality": [LOSS]})]})
    assert dict(dashboard.export_static(["a"])) == {"layout": read(dashboard)}


def test_a_copy_without_a_layout_carries_nothing(board: Open) -> None:
    assert [*board({}).export_static([])] == []
