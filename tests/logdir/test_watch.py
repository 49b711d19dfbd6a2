"""Watching is held by real files that change, so nothing here depends on how it is done.

Waiting ends as soon as something is known; the time limits are only for when it never is.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracklight.logdir import watch
from tracklight.logdir.discover import discover
from tracklight.logdir.local import LocalFileSystem
from tracklight.logdir.roots import Root
from tracklight.logdir.watch import Changes, PollIntervals, Watcher

#: No look without a reason, so that what is found was reported.
NEVER = PollIntervals(local_s=600, network_s=600, remote_s=600)
LIMIT_S = 60.0

Start = Callable[..., Watcher]


@pytest.fixture
def start() -> Iterator[Start]:
    """Makes watchers that have begun to watch."""
    watchers: list[Watcher] = []

    def begin(*paths: Path, intervals: PollIntervals = NEVER) -> Watcher:
        roots = [Root("", str(path)) for path in paths]
        watcher = Watcher(roots, intervals)
        watchers.append(watcher)
        assert watcher.wait(LIMIT_S) == Changes(roots=frozenset(roots))
        return watcher

    yield begin
    for watcher in watchers:
        watcher.__exit__(None, None, None)


def add(directory: Path, name: str = "events.tfevents") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(b"1")
    return directory / name


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def wait_for_root(watcher: Watcher, path: Path) -> None:
    """Wait until that root is to be looked at; files may be reported before."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        if Root("", str(path)) in watcher.wait(LIMIT_S).roots:
            return
    raise AssertionError(f"nothing was reported of {path}")


def test_nothing_changes(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    assert not start(tmp_path).wait(0.3)


def test_a_file_grows(tmp_path: Path, start: Start) -> None:
    path = add(tmp_path / "deep" / "run")
    watcher = start(tmp_path)
    for _ in range(2):
        append(path)
        assert watcher.wait(LIMIT_S) == Changes(files=frozenset([str(path)]))


def test_changes_between_two_waits_are_not_lost(tmp_path: Path, start: Start) -> None:
    path = add(tmp_path / "run")
    watcher = start(tmp_path)
    append(path)
    time.sleep(0.3)
    assert str(path) in watcher.wait(LIMIT_S).files


def test_a_file_appears_is_replaced_and_vanishes(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    watcher = start(tmp_path)
    second = add(tmp_path / "run", "second.tfevents")
    wait_for_root(watcher, tmp_path)
    add(tmp_path / "run", "third.tmp").replace(second)
    wait_for_root(watcher, tmp_path)
    second.unlink()
    wait_for_root(watcher, tmp_path)


def test_a_run_appears_and_grows(tmp_path: Path, start: Start) -> None:
    watcher = start(tmp_path)
    path = add(tmp_path / "a" / "new" / "run")
    wait_for_root(watcher, tmp_path)
    while watcher.wait(0.3):
        pass
    append(path)
    assert watcher.wait(LIMIT_S) == Changes(files=frozenset([str(path)]))


def test_what_a_profiler_leaves_is_seen(tmp_path: Path, start: Start) -> None:
    session = tmp_path / "run" / "plugins" / "profile" / "now"
    session.mkdir(parents=True)
    watcher = start(tmp_path)
    add(session, "vm.xplane.pb")
    wait_for_root(watcher, tmp_path)


def test_a_checkpoint_and_a_config_that_grows_are_seen(tmp_path: Path, start: Start) -> None:
    config = add(tmp_path, "projector_config.pbtxt")
    watcher = start(tmp_path)
    add(tmp_path, "ckpt-1.index")
    wait_for_root(watcher, tmp_path)
    while watcher.wait(0.3):
        pass
    append(config)
    wait_for_root(watcher, tmp_path)


def test_a_run_is_moved_and_deleted(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    watcher = start(tmp_path)
    (tmp_path / "run").rename(tmp_path / "renamed")
    wait_for_root(watcher, tmp_path)
    shutil.rmtree(tmp_path / "renamed")
    wait_for_root(watcher, tmp_path)


def test_other_files_do_not_matter(tmp_path: Path, start: Start) -> None:
    notes = add(tmp_path, "notes.txt")
    watcher = start(tmp_path)
    append(notes)
    add(tmp_path, "checkpoint.bin")
    assert not watcher.wait(0.3)


def test_what_is_to_be_read_once_is_given_once(tmp_path: Path) -> None:
    path, root = add(tmp_path), Root("", str(tmp_path))
    with Watcher([root], once=True) as watcher:
        assert watcher.wait(LIMIT_S) == Changes(roots=frozenset([root]))
        append(path)
        assert not watcher.wait(0.3)


def test_it_can_be_closed_while_a_thread_waits(tmp_path: Path, start: Start) -> None:
    watcher = start(tmp_path)
    waiting = threading.Thread(target=watcher.wait)
    waiting.start()
    time.sleep(0.05)  # so that it is in the middle of waiting; too early would be no fault either
    watcher.__exit__(None, None, None)
    waiting.join(LIMIT_S)
    assert not waiting.is_alive()


def test_a_root_appears_later(tmp_path: Path, start: Start) -> None:
    logs = tmp_path / "logs"
    watcher = start(logs)
    assert not watcher.wait(0.3)
    path = add(logs / "run")
    wait_for_root(watcher, logs)
    while watcher.wait(0.3):
        pass
    append(path)
    assert str(path) in watcher.wait(LIMIT_S).files


def test_a_root_is_deleted_and_made_anew(tmp_path: Path, start: Start) -> None:
    logs = tmp_path / "logs"
    add(logs / "run")
    watcher = start(logs)
    shutil.rmtree(logs)
    wait_for_root(watcher, logs)
    while watcher.wait(0.3):
        pass
    path = add(logs / "run")
    wait_for_root(watcher, logs)
    while watcher.wait(0.3):
        pass
    append(path)
    assert str(path) in watcher.wait(LIMIT_S).files


def test_roots_are_told_apart(tmp_path: Path, start: Start) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    add(first), add(second)
    watcher = start(first, second)
    add(second / "run")
    assert watcher.wait(LIMIT_S).roots == {Root("", str(second))}


class TestLinks:
    @pytest.fixture
    def logs(self, tmp_path: Path) -> Path:
        add(tmp_path / "outside" / "run")
        add(tmp_path / "elsewhere", "tfevents.data")
        (tmp_path / "logs" / "files").mkdir(parents=True)
        return tmp_path / "logs"

    def follow(self, watcher: Watcher, logs: Path) -> None:
        root = Root("", str(logs))
        watcher.follow(root, discover(root, LocalFileSystem()).linked)
        while watcher.wait(0.3):
            pass

    def test_to_a_directory(self, logs: Path, start: Start) -> None:
        watcher = start(logs)
        (logs / "link").symlink_to(logs.parent / "outside")
        wait_for_root(watcher, logs)
        self.follow(watcher, logs)
        append(logs.parent / "outside" / "run" / "events.tfevents")
        wait_for_root(watcher, logs)
        add(logs.parent / "outside" / "new")
        wait_for_root(watcher, logs)

    def test_to_a_file(self, logs: Path, start: Start) -> None:
        watcher = start(logs)
        (logs / "files" / "tfevents.link").symlink_to(logs.parent / "elsewhere" / "tfevents.data")
        wait_for_root(watcher, logs)
        self.follow(watcher, logs)
        append(logs.parent / "elsewhere" / "tfevents.data")
        wait_for_root(watcher, logs)

    def test_within_the_root_report_all_paths_of_a_file(self, logs: Path, start: Start) -> None:
        path = add(logs / "run")
        (logs / "same").symlink_to("run")
        watcher = start(logs)
        self.follow(watcher, logs)
        append(path)
        wait_for_root(watcher, logs)


@pytest.mark.skipif(sys.platform != "linux", reason="names here are always unicode")
def test_names_that_are_no_utf8_do_not_end_it(tmp_path: Path, start: Start) -> None:
    watcher = start(tmp_path, intervals=PollIntervals(600, 0.05, 600))
    directory = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(directory)
    wait_for_root(watcher, tmp_path)
    with open(directory + b"/tfevents", "wb") as file:
        for _ in range(10):
            file.write(b"more")
            file.flush()
            wait_for_root(watcher, tmp_path)


class TestPolling:
    def test_a_network_file_system_is_looked_at_again(
        self, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(watch, "is_network_path", lambda path: True)
        watcher = start(tmp_path, intervals=PollIntervals(600, 0.05, 600))
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}

    def test_so_is_a_url(self, start: Start) -> None:
        root = Root("", "s3://bucket/logs")
        with Watcher([root], PollIntervals(600, 600, 0.05)) as watcher:
            for _ in range(3):
                assert watcher.wait(LIMIT_S) == Changes(roots=frozenset([root]))

    def test_and_what_is_watched_in_case_a_report_was_lost(
        self, tmp_path: Path, start: Start
    ) -> None:
        watcher = start(tmp_path, intervals=PollIntervals(0.05, 600, 600))
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}

    def test_is_rarer_the_longer_a_look_takes(self) -> None:
        root = Root("", "s3://bucket/logs")
        with Watcher([root], PollIntervals(remote_s=5)) as watcher:
            assert watcher.wait(LIMIT_S).roots == {root}
            pauses_s = []
            for cost_s in (1000, 0.1, 3, 4, 1000, 1000):
                watcher._schedule(now_s=0, cost_s=cost_s)
                pauses_s.append(watcher._watched[root].due_s)
            assert pauses_s == [5, 5, 5, 30, 40, 60]

    def test_takes_over_when_the_kernel_will_not_watch(
        self,
        tmp_path: Path,
        start: Start,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def refuse(*paths: str, **options: object) -> Iterator[set[object]]:
            raise OSError("OS file watch limit reached")
            yield set()

        monkeypatch.setattr(watch, "watch", refuse)
        with caplog.at_level(logging.WARNING):
            watcher = start(tmp_path, intervals=PollIntervals(600, 0.05, 600))
            for _ in range(3):
                assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}
        (message,) = caplog.messages
        assert "OS file watch limit reached" in message
        assert "max_user_watches" in message

    def test_helps_out_when_a_directory_is_locked(
        self, unprivileged_path: Path, start: Start, caplog: pytest.LogCaptureFixture
    ) -> None:
        for name in ("a", "locked", "z"):
            add(unprivileged_path / name)
        (unprivileged_path / "locked").chmod(0)
        with caplog.at_level(logging.WARNING):
            watcher = start(unprivileged_path, intervals=PollIntervals(600, 0.05, 600))
            wait_for_root(watcher, unprivileged_path)
            wait_for_root(watcher, unprivileged_path)
        (message,) = caplog.messages
        assert "some cannot be watched" in message and "locked" in message


class TestStop:
    def test_ends_a_wait_from_another_thread(self, tmp_path: Path, start: Start) -> None:
        watcher = start(tmp_path)
        threading.Timer(0.2, watcher.stop).start()
        assert watcher.wait() == Changes()
        assert watcher.wait() == Changes()

    def test_also_when_nothing_can_be_watched(self, tmp_path: Path, start: Start) -> None:
        watcher = start(tmp_path / "missing")
        threading.Timer(0.2, watcher.stop).start()
        assert watcher.wait() == Changes()
