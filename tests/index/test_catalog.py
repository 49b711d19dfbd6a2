from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from tests import builders as b
from tests.index.logs import append, open_catalog, picture, point, points, start, write
from tracklight.errors import CorruptRecordError, RunNotFoundError, TagNotFoundError
from tracklight.formats.batch import GRAPH_TAG
from tracklight.index.catalog import Catalog
from tracklight.index.downsampling import ExtentView, merge_extents
from tracklight.index.series_query import SeriesQuery
from tracklight.logdir.access import parse_roots
from tracklight.logdir.watch import Changes
from tracklight.types import Kind, Stamp


def steps(catalog: Catalog, run: str = "run", tag: str = "loss") -> list[int]:
    return catalog.scalar(run, tag).step.tolist()


def test_lists_runs_and_tags(tmp_path: Path) -> None:
    write(tmp_path, "run10", points([3, 5], tag="b") + points([1], tag="a10"))
    write(tmp_path, "run2", points([0], tag="a2") + points([0], tag="a10"))
    catalog = open_catalog(tmp_path)
    assert [run.name for run in catalog.runs()] == ["run2", "run10"]
    assert [tag.tag for tag in catalog.tags("run2")] == ["a2", "a10"]
    (info,) = [tag for tag in catalog.tags("run10") if tag.tag == "b"]
    assert (info.plugin, info.kind, info.count, info.overwritten) == ("scalars", Kind.SCALAR, 2, 0)
    assert (info.first, info.last) == (Stamp(3, 1.7e9), Stamp(5, 1.7e9 + 1))


def test_run_info_counts_files_tags_and_points(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points(range(4)) + picture(1, b"png"))
    (run,) = open_catalog(tmp_path).runs()
    assert (run.files, run.tags, run.points, run.damaged) == (1, 2, 4, 0)
    assert run.bytes == path.stat().st_size
    assert (run.start_wall, run.last_wall) == (1.7e9, 1.7e9 + 3)


def test_error_for_unknown_name_suggests_nearest(tmp_path: Path) -> None:
    write(tmp_path, "train", points([0], tag="loss"))
    catalog = open_catalog(tmp_path)
    with pytest.raises(RunNotFoundError, match='no run "trian"; nearest: "train"'):
        catalog.tags("trian")
    with pytest.raises(TagNotFoundError, match='no tag "los" in run "train"; nearest: "loss"'):
        catalog.scalar("train", "los")


def test_finds_runs_of_log_created_later(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path / "later")
    assert catalog.runs() == ()
    write(tmp_path / "later", "run", points([0]))
    assert catalog.refresh().added == ("run",)
    assert steps(catalog) == [0]


def test_refresh_reports_only_changes(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points([0, 1]))
    write(tmp_path, "other", points([0]))
    catalog = open_catalog(tmp_path)
    append(path, point(2, 2.0))
    delta = catalog.refresh()
    assert (delta.added, delta.removed, delta.changed) == ((), (), ("run",))
    assert steps(catalog) == [0, 1, 2]
    assert catalog.refresh().version == delta.version


def test_waits_for_half_written_record(tmp_path: Path) -> None:
    whole = points([0, 1])
    path = write(tmp_path, "run", whole[:-7])
    catalog = open_catalog(tmp_path)
    assert steps(catalog) == [0]
    assert catalog.files("run")[0].damaged == 0
    append(path, whole[-7:])
    catalog.refresh()
    assert steps(catalog) == [0, 1]


def test_rereads_replaced_file(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points(range(5)))
    catalog = open_catalog(tmp_path)
    new = tmp_path / "new"
    new.write_bytes(points([7, 8, 9, 10, 11, 12], since=1.8e9))
    os.replace(new, path)
    assert catalog.refresh().changed == ("run",)
    assert steps(catalog) == [7, 8, 9, 10, 11, 12]


def test_rereads_truncated_file(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points(range(5)))
    catalog = open_catalog(tmp_path)
    path.write_bytes(points([1]))
    catalog.refresh()
    assert steps(catalog) == [1]


def test_rotated_file_continues_previous_one(tmp_path: Path) -> None:
    write(tmp_path, "run", points([0, 1]), name="tfevents.1")
    catalog = open_catalog(tmp_path)
    write(tmp_path, "run", points([2, 3], since=1.8e9), name="tfevents.2")
    catalog.refresh()
    series = catalog.scalar("run", "loss")
    assert series.step.tolist() == [0, 1, 2, 3]
    assert not series.overwritten.any()


def test_removes_deleted_runs_and_files(tmp_path: Path) -> None:
    write(tmp_path, "run", points([0]), name="tfevents.1")
    gone = write(tmp_path, "run", points([5]), name="tfevents.2")
    write(tmp_path, "old", points([0]))
    catalog = open_catalog(tmp_path)
    gone.unlink()
    shutil.rmtree(tmp_path / "old")
    delta = catalog.refresh()
    assert (delta.removed, delta.changed) == (("old",), ("run",))
    assert steps(catalog) == [0]


def test_follows_several_writers_of_one_run(tmp_path: Path) -> None:
    first = write(tmp_path, "run", points([0], since=1.7e9), name="tfevents.1.host.1")
    second = write(tmp_path, "run", points([0], since=1.7e9), name="tfevents.1.host.2")
    catalog = open_catalog(tmp_path)
    for step in range(1, 4):
        append(first, point(step, 1.0, wall=1.7e9 + step))
        append(second, point(step, 2.0, wall=1.7e9 + step))
        catalog.refresh()
    series = catalog.scalar("run", "loss")
    assert series.step.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert not series.overwritten.any()


def test_reads_only_files_reported_by_watcher(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points([0]))
    catalog = open_catalog(tmp_path)
    append(path, point(1, 1.0))
    assert catalog.refresh(Changes(files=frozenset([str(path)]))).changed == ("run",)
    write(tmp_path, "late", points([0]))
    assert catalog.refresh(Changes(roots=frozenset(catalog.roots))).added == ("late",)
    unknown = write(tmp_path, "later", points([0]))
    assert catalog.refresh(Changes(files=frozenset([str(unknown)]))).added == ("later",)


def test_reads_changed_file_while_listing_other_root(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "run", points([0]))
    (tmp_path / "b").mkdir()
    catalog = Catalog(parse_roots([tmp_path / "a", tmp_path / "b"]), cache=False)
    catalog.refresh()
    append(path, point(1, 1.0))
    write(tmp_path / "b", "late", points([0]))
    delta = catalog.refresh(Changes(frozenset([str(path)]), frozenset([catalog.roots[1]])))
    assert (delta.added, delta.changed) == (("b/late",), ("a/run",))


def test_first_session_start_applies_to_whole_file(tmp_path: Path) -> None:
    data = points([0, 1]) + start(0) + points([2, 3]) + start(2) + points([2])
    write(tmp_path, "run", data)
    series = open_catalog(tmp_path).scalar("run", "loss")
    assert series.overwritten.tolist() == [False, False, True, True, False]


def test_old_format_determines_plugin(tmp_path: Path) -> None:
    number = b.summary(b.value("x", b.simple(1.0), b.metadata("mine")))
    text = b.summary(b.value("x", b.tensor(b.STRING, b.blob(8, b"a")), b.metadata("text")))
    write(tmp_path, "run", b.record(b.event(number)) + b.record(b.event(text)))
    (info,) = open_catalog(tmp_path).tags("run")
    assert (info.plugin, info.kind, info.count) == ("scalars", Kind.SCALAR, 2)


def test_damaged_file_does_not_affect_others(tmp_path: Path) -> None:
    good = points(range(4))
    record = len(point(0, 0.0))
    damaged = b.flip(good, record + 20) + b"garbage" + points([9])
    write(tmp_path, "damaged", damaged)
    write(tmp_path, "good", good)
    catalog = open_catalog(tmp_path)
    assert steps(catalog, "damaged") == [0, 2, 3, 9]
    (file,) = catalog.files("damaged")
    assert [(d.offset, d.size) for d in file.damage] == [(record, record), (4 * record, 7)]
    assert (file.damaged, file.records) == (2, 4)
    assert steps(catalog, "good") == [0, 1, 2, 3]


def test_unreadable_end_is_damage_until_it_becomes_readable(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points([0]) + b"not a record at all")
    catalog = open_catalog(tmp_path)
    assert catalog.files("run")[0].damaged == 1
    append(path, points([1]))
    catalog.refresh()
    assert steps(catalog) == [0, 1]
    assert catalog.files("run")[0].damaged == 1


@pytest.mark.in_process
def test_reports_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "bad", points([0]))
    write(tmp_path, "good", points([0]))
    monkeypatch.setattr("tracklight.logdir.filesystem.LocalFileSystem.open", _refuse("bad"))
    catalog = open_catalog(tmp_path)
    assert steps(catalog, "good") == [0]
    (problem,) = catalog.problems
    assert problem.code == "files.cannot_read"
    assert "cannot read" in problem.text and "Permission denied" in problem.text


def _refuse(part: str) -> object:
    from tracklight.logdir.filesystem import LocalFileSystem

    real = LocalFileSystem.open

    def open_file(self: LocalFileSystem, path: str) -> object:
        if part in path:
            raise PermissionError(13, "Permission denied")
        return real(self, path)

    return open_file


def test_directory_that_cannot_be_listed_keeps_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "seen", points([0]))
    write(tmp_path, "locked/run", points([0, 1]))
    catalog = open_catalog(tmp_path)
    scan, locked = os.scandir, str(tmp_path / "locked")

    def refuse(path: str) -> Any:
        if str(path).startswith(locked):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr("tracklight.logdir.filesystem.os.scandir", refuse)
    append(path, points([1]))
    assert catalog.refresh().removed == ()
    assert [str(problem) for problem in catalog.problems] == [
        f'cannot list "{locked}": Permission denied'
    ]
    assert (steps(catalog, "locked/run"), steps(catalog, "seen")) == ([0, 1], [0, 1])
    monkeypatch.undo()
    shutil.rmtree(locked)
    assert catalog.refresh().removed == ("locked/run",)
    assert catalog.problems == ()


def test_reads_non_scalar_values_from_log(tmp_path: Path) -> None:
    write(tmp_path, "run", points([0]) + picture(1, b"one") + picture(2, b"two"))
    catalog = open_catalog(tmp_path)
    located = catalog.locate("run", "picture")
    assert (located.kind, located.step.tolist()) == (Kind.IMAGE, [1, 2])
    assert catalog.read(located, 1).endswith(b"two")


def test_rejects_value_of_changed_record(tmp_path: Path) -> None:
    path = write(tmp_path, "run", picture(1, b"one"))
    catalog = open_catalog(tmp_path)
    located = catalog.locate("run", "picture")
    path.write_bytes(b.flip(path.read_bytes(), -10))
    with pytest.raises(CorruptRecordError, match="wrong checksum"):
        catalog.read(located, 0)
    path.write_bytes(b"")
    with pytest.raises(CorruptRecordError, match="has changed"):
        catalog.read(located, 0)


def test_graph_is_tag_of_run(tmp_path: Path) -> None:
    write(tmp_path, "run", b.record(b.event(b.blob(4, b"graph bytes"), step=0, wall=1.0)))
    catalog = open_catalog(tmp_path)
    (info,) = catalog.tags("run")
    assert (info.tag.encode(), info.plugin, info.kind) == (GRAPH_TAG, "graphs", Kind.GRAPH)
    assert catalog.read(catalog.locate("run", info.tag), 0) == b"graph bytes"


def test_uses_first_plugin_even_if_written_late(tmp_path: Path) -> None:
    def logged(step: int, plugin: str) -> bytes:
        fields = [b.tensor(b.FLOAT, b.single(5, 1.0)), b.metadata(plugin) if plugin else b""]
        return b.record(b.event(b.summary(b.value("t", *fields)), step=step, wall=1.0))

    write(tmp_path, "late", logged(0, "") + logged(1, "mine"))
    write(tmp_path, "clash", logged(0, "first") + logged(1, "second"))
    catalog = open_catalog(tmp_path)
    assert catalog.tags("late")[0].plugin == "mine"
    assert catalog.tags("clash")[0].plugin == "first"


def test_counts_overwritten_values(tmp_path: Path) -> None:
    write(tmp_path, "run", points([0, 1, 2, 1]) + picture(3, b"a") + start(3) + picture(3, b"b"))
    counts = {tag.tag: tag.overwritten for tag in open_catalog(tmp_path).tags("run")}
    assert counts == {"loss": 2, "picture": 1}


def test_runs_of_several_roots_have_prefixes(tmp_path: Path) -> None:
    write(tmp_path / "a", "", points([0]))
    write(tmp_path / "b", "train", points([0]))
    catalog = Catalog(parse_roots({"new": tmp_path / "b", "old": tmp_path / "a"}), cache=False)
    catalog.refresh()
    assert [run.name for run in catalog.runs()] == ["new/train", "old/."]


def test_several_shards_give_same_results_as_one(tmp_path: Path) -> None:
    for run in range(7):
        write(tmp_path, f"run{run}", points(range(run + 1)))
    catalog = open_catalog(tmp_path, shards=3)
    assert [run.points for run in catalog.runs()] == [1, 2, 3, 4, 5, 6, 7]
    assert steps(catalog, "run6") == list(range(7))
    extents = catalog.query(
        [(f"run{run}", "loss") for run in range(7)], SeriesQuery(), ExtentView()
    )
    assert [extent.points for extent in extents] == [1, 2, 3, 4, 5, 6, 7]
    assert merge_extents(extents) == (0, 6)
    assert catalog.progress.files_done == catalog.progress.files_total == 7


def test_answers_queries_while_reading(tmp_path: Path) -> None:
    path = write(tmp_path, "run", points([0]))
    catalog = open_catalog(tmp_path)
    wrong: list[list[int]] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            seen = steps(catalog)
            if seen != list(range(len(seen))):
                wrong.append(seen)

    asker = threading.Thread(target=ask)
    asker.start()
    for step in range(1, 150):
        append(path, point(step, 1.0))
        catalog.refresh()
    done.set()
    asker.join()
    assert not wrong
    assert steps(catalog) == list(range(150))


def test_lists_and_follows_tensor_files(tmp_path: Path) -> None:
    write(tmp_path, "run", points(range(3)))
    (tmp_path / "run/saved").mkdir()
    (tmp_path / "run/saved/model-1.pt").write_bytes(b"one")
    catalog = open_catalog(tmp_path)
    (file,) = catalog.tensor_files()
    assert (file.run, file.path) == ("run/saved", str(tmp_path / "run/saved/model-1.pt"))
    (tmp_path / "run/saved/model-2.pt").write_bytes(b"two")
    assert catalog.refresh().changed == ("run",)
    assert len(catalog.tensor_files()) == 2
    assert catalog.refresh().changed == ()
    (tmp_path / "run/saved/labels.tsv").write_text("a\nb\n")
    assert catalog.refresh().changed == ("run",)
    catalog.close()


def test_follows_tensor_files_without_any_run(tmp_path: Path) -> None:
    (tmp_path / "notes.tsv").write_text("no vectors\n")
    catalog = open_catalog(tmp_path)
    assert catalog.tensor_files() == ()
    before = catalog.version
    (tmp_path / "vectors.npy").write_bytes(b"one")
    assert catalog.refresh().version > before
    assert len(catalog.tensor_files()) == 2
    assert catalog.refresh().version == catalog.refresh().version
    catalog.close()


def test_cache_folder_of_log(tmp_path: Path) -> None:
    roots = parse_roots(str(tmp_path / "logs"))
    kept = Catalog(roots, cache=tmp_path / "cache")
    assert kept.cache_folder is not None
    assert kept.cache_folder.is_relative_to(tmp_path / "cache")
    assert Catalog(roots, cache=False).cache_folder is None
