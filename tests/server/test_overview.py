from __future__ import annotations

import pytest

from tests.server.memory_source import MemorySource
from tracklight.errors import UnknownRun
from tracklight.server.overview import Overview
from tracklight.types import Kind, Progress, Stamp, TagInfo


@pytest.fixture
def overview(source: MemorySource) -> Overview:
    source.refresh()
    return Overview(source)


def info(first: int, last: int, **rest: object) -> TagInfo:
    plain = {"plugin": "", "display_name": "", "description": "", "overwritten": 1}
    return TagInfo(
        tag="loss",
        kind=Kind.SCALAR,
        count=5,
        first=Stamp(first, 0.0),
        last=Stamp(last, 0.0),
        **{**plain, **rest},
    )


def test_a_tag_of_several_runs_spans_them_all(
    overview: Overview, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    infos = {"conv": (info(5, 9),), "vit": (info(2, 7, plugin="scalars", description="a loss"),)}
    monkeypatch.setattr(source, "tags", infos.__getitem__)
    (shared,) = overview.tags()
    row = shared.row()
    assert row.first is not None and row.last is not None
    assert (row.runs, row.count, row.overwritten) == (2, 10, 2)
    assert (row.first.step, row.last.step) == (2, 9)
    assert (row.plugin, row.description) == ("scalars", "a loss")


def test_runs_are_asked_for_once_until_something_changes(
    overview: Overview, source: MemorySource
) -> None:
    before = overview.runs()
    assert overview.runs() is before
    source.version += 1
    assert overview.runs() is not before


def test_runs_grow_while_the_log_is_being_read(overview: Overview, source: MemorySource) -> None:
    before = overview.runs()
    source.progress = Progress(1, 2, 500, 1000)
    assert overview.runs() is not before


def test_a_run_that_goes_while_it_is_asked_for_spoils_nothing(
    overview: Overview, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = source.tags

    def lose_conv(run: str) -> tuple[TagInfo, ...]:
        if run == "conv":
            raise UnknownRun(run)
        return tags(run)

    monkeypatch.setattr(source, "tags", lose_conv)
    assert overview.runs_with_scalar("loss") == ["vit"]
