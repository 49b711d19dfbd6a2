"""Watch real files that change, independent of the mechanism.

Waits end as soon as the expected change is reported; the time limits only matter if a test fails.
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
from types import SimpleNamespace

import pytest

from tracklight.logdir import watch
from tracklight.logdir.access import Root
from tracklight.logdir.discover import discover
from tracklight.logdir.filesystem import LocalFileSystem
from tracklight.logdir.watch import Changes, PollIntervals, Watcher

#: Never polls, so that all changes come from events.
NEVER = PollIntervals(local_s=600, network_s=600, remote_s=600)
LIMIT_S = 60.0

Start = Callable[..., Watcher]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that creates running watchers."""
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
    """Wait until a root is reported; files may be reported before."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        if Root("", str(path)) in watcher.wait(LIMIT_S).roots:
            return
    raise AssertionError(f"nothing was reported of {path}")


def test_nothing_changes(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    assert not start(tmp_path).wait(0.3)


def test_reports_growing_file(tmp_path: Path, start: Start) -> None:
    path = add(tmp_path / "deep" / "run")
    watcher = start(tmp_path)
    for _ in range(2):
        append(path)
        assert watcher.wait(LIMIT_S) == Changes(files=frozenset([str(path)]))


def test_keeps_changes_between_waits(tmp_path: Path, start: Start) -> None:
    path = add(tmp_path / "run")
    watcher = start(tmp_path)
    append(path)
    time.sleep(0.3)
    assert str(path) in watcher.wait(LIMIT_S).files


def test_reports_added_replaced_and_deleted_file(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    watcher = start(tmp_path)
    second = add(tmp_path / "run", "second.tfevents")
    wait_for_root(watcher, tmp_path)
    add(tmp_path / "run", "third.tmp").replace(second)
    wait_for_root(watcher, tmp_path)
    second.unlink()
    wait_for_root(watcher, tmp_path)


def test_reports_new_run(tmp_path: Path, start: Start) -> None:
    watcher = start(tmp_path)
    path = add(tmp_path / "a" / "new" / "run")
    wait_for_root(watcher, tmp_path)
    while watcher.wait(1.0):
        pass
    append(path)
    assert watcher.wait(LIMIT_S) == Changes(files=frozenset([str(path)]))


def test_lists_root_with_new_directory_again(tmp_path: Path, start: Start) -> None:
    """Files that are created before the kernel watches their directory cause no event."""
    watcher = start(tmp_path)
    (tmp_path / "run").mkdir()
    wait_for_root(watcher, tmp_path)
    assert watcher.wait(LIMIT_S) == Changes(roots=frozenset([Root("", str(tmp_path))]))
    assert not watcher.wait(1.0)


def test_reports_profiler_captures(tmp_path: Path, start: Start) -> None:
    session = tmp_path / "run" / "plugins" / "profile" / "now"
    session.mkdir(parents=True)
    watcher = start(tmp_path)
    add(session, "vm.xplane.pb")
    wait_for_root(watcher, tmp_path)


def test_reports_checkpoints_and_projector_config(tmp_path: Path, start: Start) -> None:
    config = add(tmp_path, "projector_config.pbtxt")
    watcher = start(tmp_path)
    add(tmp_path, "ckpt-1.index")
    wait_for_root(watcher, tmp_path)
    while watcher.wait(0.3):
        pass
    append(config)
    wait_for_root(watcher, tmp_path)


def test_reports_moved_and_deleted_run(tmp_path: Path, start: Start) -> None:
    add(tmp_path / "run")
    watcher = start(tmp_path)
    (tmp_path / "run").rename(tmp_path / "renamed")
    wait_for_root(watcher, tmp_path)
    shutil.rmtree(tmp_path / "renamed")
    wait_for_root(watcher, tmp_path)


def test_ignores_other_files(tmp_path: Path, start: Start) -> None:
    notes = add(tmp_path, "notes.txt")
    watcher = start(tmp_path)
    append(notes)
    add(tmp_path, "checkpoint.bin")
    assert not watcher.wait(0.3)


def test_once_returns_roots_only_once(tmp_path: Path) -> None:
    path, root = add(tmp_path), Root("", str(tmp_path))
    with Watcher([root], once=True) as watcher:
        assert watcher.wait(LIMIT_S) == Changes(roots=frozenset([root]))
        append(path)
        assert not watcher.wait(0.3)


def test_can_be_closed_while_a_thread_waits(tmp_path: Path, start: Start) -> None:
    watcher = start(tmp_path)
    waiting = threading.Thread(target=watcher.wait)
    waiting.start()
    time.sleep(0.05)  # likely in the middle of waiting; the test is also valid if not
    watcher.__exit__(None, None, None)
    waiting.join(LIMIT_S)
    assert not waiting.is_alive()


def test_reports_root_created_later(tmp_path: Path, start: Start) -> None:
    logs = tmp_path / "logs"
    watcher = start(logs)
    assert not watcher.wait(0.3)
    path = add(logs / "run")
    wait_for_root(watcher, logs)
    while watcher.wait(0.3):
        pass
    append(path)
    assert str(path) in watcher.wait(LIMIT_S).files


def test_reports_recreated_root(tmp_path: Path, start: Start) -> None:
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


def test_reports_only_changed_root(tmp_path: Path, start: Start) -> None:
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

    def test_follows_link_to_directory(self, logs: Path, start: Start) -> None:
        watcher = start(logs)
        (logs / "link").symlink_to(logs.parent / "outside")
        wait_for_root(watcher, logs)
        self.follow(watcher, logs)
        append(logs.parent / "outside" / "run" / "events.tfevents")
        wait_for_root(watcher, logs)
        add(logs.parent / "outside" / "new")
        wait_for_root(watcher, logs)

    def test_follows_link_to_file(self, logs: Path, start: Start) -> None:
        watcher = start(logs)
        (logs / "files" / "tfevents.link").symlink_to(logs.parent / "elsewhere" / "tfevents.data")
        wait_for_root(watcher, logs)
        self.follow(watcher, logs)
        append(logs.parent / "elsewhere" / "tfevents.data")
        wait_for_root(watcher, logs)

    def test_link_within_root_reports_all_paths_of_file(self, logs: Path, start: Start) -> None:
        path = add(logs / "run")
        (logs / "same").symlink_to("run")
        watcher = start(logs)
        self.follow(watcher, logs)
        append(path)
        wait_for_root(watcher, logs)


@pytest.mark.skipif(sys.platform != "linux", reason="names here are always unicode")
def test_survives_names_that_are_not_utf8(tmp_path: Path, start: Start) -> None:
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
    def test_polls_network_file_system(
        self, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(watch, "is_network_path", lambda path: True)
        watcher = start(tmp_path, intervals=PollIntervals(600, 0.05, 600))
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}

    def test_polls_url(self, start: Start) -> None:
        root = Root("", "s3://bucket/logs")
        with Watcher([root], PollIntervals(600, 600, 0.05)) as watcher:
            for _ in range(3):
                assert watcher.wait(LIMIT_S) == Changes(roots=frozenset([root]))

    def test_polls_watched_directory_in_case_an_event_was_lost(
        self, tmp_path: Path, start: Start
    ) -> None:
        watcher = start(tmp_path, intervals=PollIntervals(0.05, 600, 600))
        assert watcher.wait(LIMIT_S).roots == {Root("", str(tmp_path))}

    def test_polls_less_often_if_listing_is_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now_s = 0.0
        monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: now_s))
        root = Root("", "s3://bucket/logs")
        with Watcher([root], PollIntervals(remote_s=5)) as watcher:
            assert watcher.wait(0).roots == {root}
            for cost_s, delay_s in [(1000, 5), (0.1, 5), (3, 5), (4, 30), (1000, 40), (1000, 60)]:
                now_s += cost_s
                assert not watcher.wait(0)
                now_s += delay_s - 0.01
                assert not watcher.wait(0)
                now_s += 0.02
                assert watcher.wait(0).roots == {root}

    def test_polls_if_kernel_cannot_watch(
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

    def test_polls_if_access_to_directory_is_denied(
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
    def test_ends_wait_from_another_thread(self, tmp_path: Path, start: Start) -> None:
        watcher = start(tmp_path)
        threading.Timer(0.2, watcher.stop).start()
        assert watcher.wait() == Changes()
        assert watcher.wait() == Changes()

    def test_ends_wait_if_nothing_can_be_watched(self, tmp_path: Path, start: Start) -> None:
        watcher = start(tmp_path / "missing")
        threading.Timer(0.2, watcher.stop).start()
        assert watcher.wait() == Changes()
