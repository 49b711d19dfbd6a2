"""The tags of several runs together equal the merged tags of each run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

import tracklight
from tracklight import summary
from tracklight.index.catalog import Catalog
from tracklight.index.tags import make_shared_tag, merge_shared_tags
from tracklight.logdir.access import parse_roots
from tracklight.types import Kind, SharedTag, Stamp


def write_run(folder: Path, steps: list[int], tags: tuple[str, ...] = ("loss", "accuracy")) -> None:
    with summary.create_file_writer(folder).as_default():
        for step in steps:
            for number, tag in enumerate(tags):
                summary.scalar(tag, step + number, step=step)


def write_ungrouped_run(folder: Path) -> None:
    """Return a log with runs that cannot be grouped: mixed values, and a tag without a plugin."""
    with summary.create_file_writer(folder).as_default():
        summary.image("loss", np.zeros((1, 2, 2, 3), np.uint8), step=3)
        summary.tensor("matrix", np.eye(3), step=1, description="odd")
        summary.tensor("number", 4.0, step=2)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for number in range(4):
        write_run(tmp_path / f"run-{number}", [5 * number, 5 * number + 1])
    write_run(tmp_path / "restarted", [0, 1, 2, 1, 2, 3])
    write_run(tmp_path / "resumed", [0, 1])
    write_run(tmp_path / "resumed", [2, 3], ("loss", "extra"))
    write_ungrouped_run(tmp_path / "odd")
    return tmp_path


@pytest.mark.parametrize("shards", [1, 3])
def test_matches_tags_of_single_runs(logdir: Path, shards: int) -> None:
    catalog = Catalog(parse_roots(str(logdir)), cache=False, shards=shards)
    catalog.refresh()
    runs = [run.name for run in catalog.runs()]
    alone = (make_shared_tag(run, info) for run in runs for info in catalog.tags(run))
    assert by_tag(catalog.shared_tags(runs)) == by_tag(merge_shared_tags(alone, runs))
    catalog.close()


def test_includes_only_requested_runs(logdir: Path) -> None:
    catalog = Catalog(parse_roots(str(logdir)), cache=False)
    catalog.refresh()
    shared = by_tag(catalog.shared_tags(["run-2", "run-1", "gone"]))
    assert {tag.runs for tag in shared.values()} == {("run-2", "run-1")}
    loss = shared["loss", Kind.SCALAR]
    assert loss.first is not None and loss.last is not None
    assert (loss.count, loss.first.step, loss.last.step) == (4, 5, 11)
    catalog.close()


def test_counts_appended_and_overwritten_points(logdir: Path) -> None:
    catalog = Catalog(parse_roots(str(logdir)), cache=False)
    catalog.refresh()
    write_run(logdir / "run-0", [0, 9])
    catalog.refresh()
    loss = by_tag(catalog.shared_tags(["run-0"]))["loss", Kind.SCALAR]
    assert (loss.count, loss.overwritten) == (4, 2)
    catalog.close()


def test_merges_tags_of_runs() -> None:
    early = SharedTag("loss", "", Kind.SCALAR, ("b",), 5, 1, Stamp(2, 0.0), Stamp(7, 0.0), "", "")
    late = SharedTag("loss", "p", Kind.SCALAR, ("a",), 5, 1, Stamp(5, 0.0), Stamp(9, 0.0), "", "d")
    (both,) = merge_shared_tags([early, late], ["a", "b"])
    expected = ("loss", "p", Kind.SCALAR, ("a", "b"), 10, 2, Stamp(2, 0.0), Stamp(9, 0.0), "", "d")
    assert both == SharedTag(*expected)


def by_tag(shared: tuple[SharedTag, ...]) -> dict[tuple[str, Kind], SharedTag]:
    """Drop wall times: of several values at the first or last step, any may be returned."""
    return {
        (tag.tag, tag.kind): msgspec.structs.replace(
            tag,
            first=tag.first and Stamp(tag.first.step, 0.0),
            last=tag.last and Stamp(tag.last.step, 0.0),
        )
        for tag in shared
    }


def test_records_that_differ_between_runs_do_not_prevent_grouping(tmp_path: Path) -> None:
    for number in range(5):
        with tracklight.run(tmp_path, {"lr": number}, name=f"run-{number}") as run:
            run.log({"loss": number})
    with tracklight.run(tmp_path, {"lr": 9}, name="other") as run:
        run.log({"loss": tracklight.Text("not a number")})
    catalog = Catalog(parse_roots(str(tmp_path)), cache=False)
    catalog.refresh()
    runs = [run.name for run in catalog.runs()]
    alone = (make_shared_tag(run, info) for run in runs for info in catalog.tags(run))
    assert by_tag(catalog.shared_tags(runs)) == by_tag(merge_shared_tags(alone, runs))
    catalog.close()
