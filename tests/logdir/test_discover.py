from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tracklight.logdir.access import Root
from tracklight.logdir.discover import DiscoveredFile, Discovery, discover
from tracklight.logdir.filesystem import LocalFileSystem

NAME = "events.out.tfevents.1700000000.host.1.0"


def add(directory: Path, name: str = NAME, data: bytes = b"x") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(data)
    return directory / name


def discover_runs(
    path: Path, *include: str, exclude: tuple[str, ...] = (), name: str = ""
) -> Discovery:
    return discover(Root(name, str(path)), LocalFileSystem(), include, exclude)


def test_directory_with_event_file_is_a_run(tmp_path: Path) -> None:
    root, nested, deep = add(tmp_path), add(tmp_path / "a"), add(tmp_path / "a" / "x" / "b")
    found = discover_runs(tmp_path)
    assert found.runs == [".", "a", "a/x/b"]
    assert [file.path for file in found.files] == [str(root), str(nested), str(deep)]
    assert found.problems == []


def test_named_root_is_prefix_of_run_names(tmp_path: Path) -> None:
    add(tmp_path)
    add(tmp_path / "a")
    assert discover_runs(tmp_path, name="base").runs == ["base/.", "base/a"]


def test_recognizes_event_files_by_name_and_type(tmp_path: Path) -> None:
    for name in ("tfevents", "my.tfevents.v2", "events.out.1", "notes.txt"):
        add(tmp_path / "run", name)
    add(tmp_path / "tfevents_are_here" / "run")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "tfevents.pipe")
    found = discover_runs(tmp_path)
    assert found.runs == ["run", "tfevents_are_here/run"]
    names = [Path(file.path).name for file in found.files if file.run == "run"]
    assert names == ["my.tfevents.v2", "tfevents"]


def test_profile_empty_file_makes_a_run_but_is_not_read(tmp_path: Path) -> None:
    add(tmp_path / "run", NAME + ".profile-empty")
    found = discover_runs(tmp_path)
    assert (found.runs, found.files) == (["run"], [])


def test_sorts_files_by_name_and_runs_naturally(tmp_path: Path) -> None:
    for run in ("run10", "run2", "Run1"):
        for name in ("tfevents.2", "tfevents.10", "tfevents.1"):
            add(tmp_path / run, name)
    found = discover_runs(tmp_path)
    assert found.runs == ["Run1", "run2", "run10"]
    assert [(file.run, Path(file.path).name) for file in found.files[:4]] == [
        ("Run1", "tfevents.1"),
        ("Run1", "tfevents.10"),
        ("Run1", "tfevents.2"),
        ("run2", "tfevents.1"),
    ]


def test_files_have_stats(tmp_path: Path) -> None:
    path = add(tmp_path, data=b"12345")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    (file,) = discover_runs(tmp_path).files
    assert file == DiscoveredFile(".", str(path), file.stat)
    assert (file.stat.size, file.stat.mtime_ns) == (5, 1_700_000_000_123_456_789)
    path.rename(tmp_path / "tfevents.renamed")
    add(tmp_path)
    assert discover_runs(tmp_path).files[0].stat.identity != file.stat.identity


def test_missing_directory_has_no_runs(tmp_path: Path) -> None:
    assert discover_runs(tmp_path / "later") == Discovery([], [], [], [], frozenset())


def test_reports_root_that_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    found = discover_runs(tmp_path / "notes.txt")
    assert (found.runs, len(found.problems)) == ([], 1)
    assert "is a file; pass its directory" in str(found.problems[0])


def test_root_may_be_an_event_file(tmp_path: Path) -> None:
    file = add(tmp_path)
    add(tmp_path / "other")
    found = discover_runs(file)
    assert (found.runs, found.problems) == (["."], [])
    assert [it.path for it in found.files] == [str(file)]


def test_include_and_exclude(tmp_path: Path) -> None:
    for run in ("a/train", "a/eval", "b/train", "b/old/train"):
        add(tmp_path / run)
    add(tmp_path)
    assert discover_runs(tmp_path, "**/train").runs == ["a/train", "b/old/train", "b/train"]
    assert discover_runs(tmp_path, exclude=("b", ".")).runs == ["a/eval", "a/train"]
    assert discover_runs(tmp_path, "b", exclude=("**/old",)).runs == ["b/train"]
    assert discover_runs(tmp_path, "base/a", exclude=("base/a/e*",), name="base").runs == [
        "base/a/train"
    ]
    assert discover_runs(tmp_path, exclude=("base",), name="base").runs == []


def test_does_not_list_excluded_directory(unprivileged_path: Path) -> None:
    add(unprivileged_path / "seen")
    add(unprivileged_path / "locked" / "run")
    (unprivileged_path / "locked").chmod(0)
    found = discover_runs(unprivileged_path, exclude=("locked",))
    assert (found.runs, found.problems) == (["seen"], [])


def test_reports_and_skips_unreadable_directory(unprivileged_path: Path) -> None:
    locked = unprivileged_path / "locked"
    add(unprivileged_path / "seen")
    add(locked / "run")
    locked.chmod(0)
    found = discover_runs(unprivileged_path)
    assert found.runs == ["seen"]
    assert [*map(str, found.problems)] == [f'cannot list "{locked}": Permission denied']
    assert found.failed_directories == [str(locked)]


def test_reports_files_without_stat(unprivileged_path: Path) -> None:
    blind = unprivileged_path / "blind"
    path = add(blind)
    blind.chmod(0o400)  # names can be listed, but files cannot be accessed
    found = discover_runs(unprivileged_path)
    assert found.runs == []
    assert [*map(str, found.problems)] == [f'cannot list "{path}": Permission denied']


class TestLinks:
    def test_follows_links_to_files_and_directories(self, tmp_path: Path) -> None:
        outside = add(tmp_path / "outside")
        logs = tmp_path / "logs"
        (logs / "linked_file").mkdir(parents=True)
        (logs / "linked_file" / NAME).symlink_to(outside)
        (logs / "linked_run").symlink_to(outside.parent)
        (logs / "tfevents_link").symlink_to(outside.parent)
        found = discover_runs(logs)
        assert found.runs == ["linked_file", "linked_run", "tfevents_link"]
        assert {file.stat for file in found.files} == {found.files[0].stat}
        assert found.linked == {os.path.realpath(outside), os.path.realpath(outside.parent)}

    def test_no_targets_without_links(self, tmp_path: Path) -> None:
        add(tmp_path / "a")
        assert discover_runs(tmp_path).linked == frozenset()

    def test_ignores_broken_links(self, tmp_path: Path) -> None:
        add(tmp_path / "run")
        (tmp_path / "run" / "tfevents.gone").symlink_to("nowhere")
        (tmp_path / "run" / "tfevents.self").symlink_to("tfevents.self")
        (tmp_path / "gone").symlink_to("nowhere")
        (tmp_path / "self").symlink_to("self")
        found = discover_runs(tmp_path)
        assert (found.runs, len(found.files), found.problems) == (["run"], 1, [])

    def test_does_not_enter_link_to_ancestor(self, tmp_path: Path) -> None:
        add(tmp_path / "a" / "b")
        (tmp_path / "a" / "b" / "up").symlink_to("..")
        (tmp_path / "a" / "b" / "root").symlink_to(tmp_path)
        (tmp_path / "a" / "b" / "here").symlink_to(".")
        assert discover_runs(tmp_path).runs == ["a/b"]

    def test_links_to_each_other_terminate(self, tmp_path: Path) -> None:
        add(tmp_path / "a")
        add(tmp_path / "b")
        (tmp_path / "a" / "to_b").symlink_to("../b")
        (tmp_path / "b" / "to_a").symlink_to("../a")
        assert discover_runs(tmp_path).runs == ["a", "a/to_b", "b", "b/to_a"]

    def test_link_above_root_does_not_lead_back(self, tmp_path: Path) -> None:
        logs = tmp_path / "above" / "logs"
        add(logs / "run")
        add(tmp_path / "above" / "other")
        (logs / "run" / "up").symlink_to(tmp_path / "above")
        assert discover_runs(logs).runs == ["run", "run/up/other"]

    @pytest.mark.parametrize("spelling", ["logs", "logs/", "./logs", "logs/."])
    def test_cycles_terminate_for_any_spelling_of_root(
        self, spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        add(tmp_path / "logs" / "a" / "b")
        (tmp_path / "logs" / "a" / "b" / "up").symlink_to("../..")
        assert discover(Root("", spelling), LocalFileSystem()).runs == ["a/b"]


class TestUnusualNames:
    def test_unicode(self, tmp_path: Path) -> None:
        for name in ("日本語", "naïve", "with space", "🚀"):
            add(tmp_path / name)
        assert set(discover_runs(tmp_path).runs) == {"日本語", "naïve", "with space", "🚀"}

    @pytest.mark.skipif(sys.platform != "linux", reason="names here are always unicode")
    def test_bytes_that_are_not_utf8(self, tmp_path: Path) -> None:
        directory = os.fsencode(tmp_path) + b"/lr\xff\xe9"
        os.mkdir(directory)
        with open(directory + b"/tfevents.\xfe", "wb") as file:
            file.write(b"data")
        found = discover_runs(tmp_path)
        assert found.runs == ["lr\\xff\\xe9"]
        assert LocalFileSystem().read(found.files[0].path, 0, 10) == b"data"

    @pytest.mark.skipif(sys.platform != "linux", reason="names here are always unicode")
    def test_keeps_directories_with_same_printed_name(self, tmp_path: Path) -> None:
        os.mkdir(os.fsencode(tmp_path) + b"/\xff")
        for directory in (b"/\xff", b"/\\xff"):
            os.makedirs(os.fsencode(tmp_path) + directory, exist_ok=True)
            open(os.fsencode(tmp_path) + directory + b"/tfevents", "wb").close()
        found = discover_runs(tmp_path)
        assert (found.runs, len(found.files)) == (["\\xff"], 2)


def test_directory_with_unusual_names(nasty_logdir: Path) -> None:
    documented = set(json.loads((nasty_logdir / "DOC.json").read_text()))
    found = discover_runs(nasty_logdir)
    assert set(found.runs) == documented - {"dangling_symlink"}
    assert found.problems == []
    odd = [Path(file.path).name for file in found.files if file.run == "odd_file_names"]
    assert odd == ["events.out.tfevents.1716779662.host.v2.tmp", "my.tfevents.file", "tfevents"]
