"""Targets fail in every way there is: training goes on, and nothing that was accepted is lost."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tests.writer.event_files import list_files, read_scalars, read_values
from tracklight.formats.record_buffer import create_buffer
from tracklight.formats.scanner import create_scanner
from tracklight.formats.tfrecord import iter_records
from tracklight.writer import writer_thread as drain_module
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.writer_thread import WriterThread

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


class Disk:
    """A sink that takes ``room`` bytes and then fails, or waits while ``is_stuck``."""

    location = "disk"

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.data = b""
        self.is_open = False
        self.is_free = threading.Event()
        self.is_free.set()

    def open(self, head: bytes) -> None:
        self.is_open = True

    def append(self, data: memoryview) -> int:
        self.is_free.wait()
        taken = bytes(data[: self.room - len(self.data)])
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.data += taken
        return len(taken)

    def sync(self) -> None: ...
    def close(self) -> None: ...
    def detach(self) -> None: ...


def make_drain(sink: Disk, max_bytes: int = 1 << 20) -> WriterThread:
    buffer = create_buffer(max_bytes, 1 << 20, 1 << 20)
    drain = WriterThread(buffer, sink, lambda: b"", 0.01, 1 << 20, 1 << 20)
    return drain


def test_full_disk_is_told_once_and_all_is_written_when_there_is_room(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk(room=1000)
    drain = make_drain(disk)
    for _ in range(100):
        drain._buffer.add_record(b"x" * 84)
        drain.wake()
    assert not drain.flush(10)
    assert not drain.flush(10)
    assert [record.message for record in caplog.records] == [
        "disk cannot be written: [Errno 28] No space left on device; "
        "records are kept in memory, trying again"
    ]
    disk.room = 1 << 30
    assert drain.flush(10)
    assert len(list(iter_records(disk.data))) == 100
    assert drain.close(10)


def test_full_disk_is_tried_again_by_itself() -> None:
    disk = Disk(room=1)
    drain = make_drain(disk)
    drain._buffer.add_record(b"x")
    assert not drain.flush(10)
    disk.room = 1 << 30
    deadline = time.monotonic() + 60
    while len(disk.data) < 17 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(list(iter_records(disk.data))) == 1
    drain.close(10)


def test_what_does_not_fit_memory_while_the_disk_is_full_is_refused_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk(room=0)
    drain = make_drain(disk, max_bytes=1000)
    accepted = refused = 0
    for _ in range(100):
        while drain._buffer.add_record(b"x" * 84) == 2:
            if not drain.wait_for_space():
                refused += 1
                break
        else:
            accepted += 1
        drain.wake()
    assert (accepted, refused) == (20, 80)  # the buffer twice: one batch waits to be written
    disk.room = 1 << 30
    drain.close(10)
    assert len(list(iter_records(disk.data))) == accepted
    assert "disk is written to again; 80 records were lost" in caplog.messages


def test_target_that_hangs_does_not_stop_training_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(drain_module, "STALL_TIMEOUT_S", 0.1)
    disk = Disk()
    disk.is_free.clear()
    drain = make_drain(disk, max_bytes=1000)
    drain._buffer.add_record(b"x" * 900)
    drain.wake()
    while drain._buffer:  # the first batch is on its way
        time.sleep(0.01)
    drain._buffer.add_record(b"x" * 900)
    started = time.monotonic()
    assert not drain.wait_for_space()
    assert not drain.wait_for_space()
    assert time.monotonic() - started < 5
    disk.is_free.set()
    drain.close(10)
    assert len(list(iter_records(disk.data))) == 2
    assert "took longer than" in caplog.messages[0]


def test_ending_on_a_full_disk_says_what_was_lost(caplog: pytest.LogCaptureFixture) -> None:
    drain = make_drain(Disk(room=0))
    drain._buffer.add_record(b"x" * 84)
    drain.wake()
    drain.close(0.1)
    assert "disk: 100 bytes of records were never written" in caplog.messages


def test_what_was_put_off_is_made_before_a_flush_ends() -> None:
    disk = Disk()
    drain = make_drain(disk, max_bytes=300)
    made = []

    def make_event() -> bytes:
        made.append(len(made))
        return bytes([len(made)] * 84)

    for _ in range(20):
        assert drain.defer(make_event, 10)
    assert drain.flush(10)
    assert [payload[0] for _, payload in iter_records(disk.data)] == list(range(1, 21))
    assert len(made) == 20
    drain.close(10)


def test_no_more_is_put_off_than_fits_memory() -> None:
    disk = Disk()
    disk.is_free.clear()
    drain = make_drain(disk, max_bytes=100)
    drain._buffer.add_record(b"x" * 84)
    drain.wake()
    answers = [drain.defer(lambda: b"x" * 84, 20 << 20) for _ in range(5)]
    assert answers == [True, True, True, False, False]
    disk.is_free.set()
    assert drain.flush(10)
    assert len(list(iter_records(disk.data))) == 4
    assert drain.defer(lambda: b"x", 20 << 20)
    drain.close(10)
    assert not drain.defer(lambda: b"x", 1)


def test_real_file_that_may_not_grow(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    script = """
    import resource, sys
    from tracklight.writer.event_writer import EventWriter
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = EventWriter(sys.argv[1], flush_s=0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    assert all(writer.scalar("loss", 1.0, step) for step in range(1000))
    assert not writer.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert writer.flush()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.count("cannot be written: [Errno 27]") == 1
    assert [step for _, step, _ in read_scalars(tmp_path)] == list(range(1000))


def test_removed_folder_is_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logdir = tmp_path / "run"
    with EventWriter(logdir, flush_s=1000) as writer:
        writer.scalar("loss", 1.0, 1)
        writer.flush()
        shutil.rmtree(logdir)
        writer.scalar("loss", 2.0, 2)
        assert writer.flush()
        writer.scalar("loss", 3.0, 3)
    assert read_scalars(logdir) == [("loss", 2, 2.0), ("loss", 3, 3.0)]
    assert [value.HasField("metadata") for value in read_values(logdir)] == [True, True]
    assert caplog.messages[0].endswith("was removed; what comes goes to a new file")


def test_removed_folder_that_cannot_be_made_again_is_waited_for(tmp_path: Path) -> None:
    logdir = tmp_path / "run"
    with EventWriter(logdir, flush_s=1000) as writer:
        writer.scalar("loss", 1.0, 1)
        shutil.rmtree(logdir)
        logdir.write_text("in the way")
        assert not writer.flush()
        logdir.unlink()
        assert writer.flush()
    assert read_scalars(logdir) == [("loss", 1, 1.0)]


def test_target_that_cannot_be_opened_is_told_once_and_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "run").write_text("in the way")
    with EventWriter(tmp_path / "run") as writer:
        assert all(writer.scalar("loss", 1.0, step) for step in range(10))
        assert not writer.flush()
        assert len(caplog.messages) == 1
        (tmp_path / "run").unlink()
    assert len(read_scalars(tmp_path / "run")) == 10


#: Logs to a folder that may not be written to, and goes on when it may. Root may write everywhere
#: and becomes nobody, who may not be allowed to import anything, so a writer was used before.
READ_ONLY = """
import os, sys
from tracklight.writer.event_writer import EventWriter
folder = sys.argv[1]
EventWriter(folder + "/before").close()
if os.geteuid() == 0:
    os.chown(folder, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chmod(folder, 0o500)
writer = EventWriter(folder + "/run")
assert all(writer.scalar("loss", 1.0, step) for step in range(10))
assert not writer.flush()
os.chmod(folder, 0o700)
writer.close()
"""


@pytest.mark.skipif(os.name == "nt", reason="a folder cannot be made read-only there")
def test_read_only_folder_does_not_raise_and_is_waited_for() -> None:
    # Not in tmp_path, which is below a folder that nobody but its owner may pass through.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", READ_ONLY, folder]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert answer.returncode == 0, answer.stderr
        assert answer.stderr.count("cannot be written: [Errno 13] Permission denied") == 1
        assert len(read_scalars(Path(folder) / "run")) == 10


def test_strict_writer_says_at_once_that_it_cannot_open(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(OSError):
        EventWriter(tmp_path / "run", strict=True)


def test_file_that_was_renamed_is_still_written(tmp_path: Path) -> None:
    with EventWriter(tmp_path / "run") as writer:
        writer.scalar("loss", 1.0, 1)
        (tmp_path / "run").rename(tmp_path / "kept")
    assert read_scalars(tmp_path / "kept") == [("loss", 1, 1.0)]


#: Forks a writer for each run, waits a random time and kills it. A writer keeps telling how many
#: records it has flushed, by a number in a file that it overwrites in one call.
KILLER = """
import os, random, signal, struct, sys, time, warnings
from tracklight.writer.event_writer import EventWriter
warnings.simplefilter("ignore", DeprecationWarning)
rng = random.Random(7)

def write(folder):
    marker = os.open(folder + "/marker", os.O_WRONLY | os.O_CREAT)
    writer = EventWriter(folder, flush_s=0.001, max_buffer_bytes=rng.choice([300, 1 << 20]))
    pause = rng.choice([0, 1, 10, 100])
    step = 0
    while True:
        writer.scalar("loss", 1.0, step)
        step += 1
        if step % (pause + 1) == 0:
            writer.flush()
            os.pwrite(marker, struct.pack("<q", step), 0)

for number in range(int(sys.argv[2])):
    folder = f"{sys.argv[1]}/{number}"
    os.makedirs(folder)
    child = os.fork()
    if not child:
        write(folder)
    time.sleep(rng.uniform(0.001, 0.06))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.slow
@needs_fork
@pytest.mark.slow
def test_all_that_was_flushed_survives_200_kills(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path), "200"]
    subprocess.run(command, check=True, timeout=110)
    flushed_in_all = 0
    for number in range(200):
        flushed_in_all += check_killed(tmp_path / str(number))
    assert flushed_in_all > 1000  # or the writers were all killed before they wrote anything


def check_killed(folder: Path) -> int:
    """How many records a killed writer had flushed, after looking whether they are there."""
    marker = (folder / "marker").read_bytes() if (folder / "marker").exists() else b""
    flushed = struct.unpack("<q", marker)[0] if marker else 0
    if not list_files(folder):
        assert flushed == 0
        return 0
    (file,) = list_files(folder)
    data = file.read_bytes()
    scanner = create_scanner()
    batch = scanner.scan(data, len(data))
    assert not batch.damage
    steps = batch.points.step.tolist()
    assert steps == list(range(len(steps)))
    assert len(steps) >= flushed
    assert len(data) - scanner.position < 100  # no more than one record is torn
    return flushed


@pytest.fixture(autouse=True)
def all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tracklight")
