"""Write errors neither break the training nor lose accepted records."""

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
from tracklight.formats.record_buffer import RecordBuffer, create_buffer
from tracklight.formats.scanner import create_scanner
from tracklight.formats.tfrecord import iter_records
from tracklight.writer import writer_thread
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.writer_thread import LocalSink, WriterThread

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


class Disk:
    """A sink that fails after ``capacity`` bytes, and blocks until ``is_free`` is set."""

    location = "disk"

    def __init__(self, capacity: int = 1 << 30) -> None:
        self.capacity = capacity
        self.data = b""
        self.is_open = False
        self.is_free = threading.Event()
        self.is_free.set()

    def open(self, header: bytes) -> None:
        self.is_open = True

    def append(self, data: memoryview) -> int:
        self.is_free.wait()
        taken = bytes(data[: self.capacity - len(self.data)])
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.data += taken
        return len(taken)

    def sync(self) -> None: ...
    def close(self) -> None: ...
    def detach(self) -> None: ...


def make_thread(sink: Disk, max_bytes: int = 1 << 20) -> tuple[WriterThread, RecordBuffer]:
    buffer = create_buffer(max_bytes, 1 << 20, 1 << 20)
    return WriterThread(buffer, sink, lambda: b"", 0.01, 1 << 20, 1 << 20), buffer


def test_full_disk_is_reported_once_and_written_when_space_is_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk(capacity=1000)
    thread, buffer = make_thread(disk)
    for _ in range(100):
        buffer.add_record(b"x" * 84)
        thread.wake()
    assert not thread.flush(10)
    assert not thread.flush(10)
    assert [record.message for record in caplog.records] == [
        "disk cannot be written: [Errno 28] No space left on device; "
        "keeping records in memory and retrying"
    ]
    disk.capacity = 1 << 30
    assert thread.flush(10)
    assert len(list(iter_records(disk.data))) == 100
    assert thread.close(10)


def test_full_disk_is_retried_automatically() -> None:
    disk = Disk(capacity=1)
    thread, buffer = make_thread(disk)
    buffer.add_record(b"x")
    assert not thread.flush(10)
    disk.capacity = 1 << 30
    deadline = time.monotonic() + 60
    while len(disk.data) < 17 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(list(iter_records(disk.data))) == 1
    thread.close(10)


def test_drops_and_counts_records_that_do_not_fit_the_buffer_of_a_full_disk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk(capacity=0)
    thread, buffer = make_thread(disk, max_bytes=1000)
    accepted = dropped = 0
    for _ in range(100):
        while buffer.add_record(b"x" * 84) == 2:
            if not thread.wait_for_space():
                dropped += 1
                break
        else:
            accepted += 1
        thread.wake()
    assert (accepted, dropped) == (
        20,
        80,
    )  # one full buffer, and one full batch that waits to be written
    disk.capacity = 1 << 30
    thread.close(10)
    assert len(list(iter_records(disk.data))) == accepted
    assert "disk is writable again; 80 records were dropped" in caplog.messages


def test_hanging_target_does_not_block_the_caller_forever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_thread, "STALL_TIMEOUT_S", 0.1)
    disk = Disk()
    disk.is_free.clear()
    thread, buffer = make_thread(disk, max_bytes=1000)
    buffer.add_record(b"x" * 900)
    thread.wake()
    while buffer:  # the thread is writing the first batch
        time.sleep(0.01)
    buffer.add_record(b"x" * 900)
    started = time.monotonic()
    assert not thread.wait_for_space()
    assert not thread.wait_for_space()
    assert time.monotonic() - started < 30
    disk.is_free.set()
    thread.close(10)
    assert len(list(iter_records(disk.data))) == 2
    assert "did not accept data for" in caplog.messages[0]


def test_closing_with_a_full_disk_reports_unwritten_bytes(caplog: pytest.LogCaptureFixture) -> None:
    thread, buffer = make_thread(Disk(capacity=0))
    buffer.add_record(b"x" * 84)
    thread.wake()
    thread.close(0.1)
    assert "disk: 100 bytes of records were not written" in caplog.messages


def test_flush_waits_for_deferred_records() -> None:
    disk = Disk()
    thread, _ = make_thread(disk, max_bytes=300)
    built: list[int] = []

    def make_event() -> bytes:
        built.append(len(built))
        return bytes([len(built)] * 84)

    for _ in range(20):
        assert thread.defer(make_event, 10)
    assert thread.flush(10)
    assert [payload[0] for _, payload in iter_records(disk.data)] == list(range(1, 21))
    assert len(built) == 20
    thread.close(10)


def test_limits_memory_of_deferred_records() -> None:
    disk = Disk()
    disk.is_free.clear()
    thread, buffer = make_thread(disk, max_bytes=100)
    buffer.add_record(b"x" * 84)
    thread.wake()
    accepted = [thread.defer(lambda: b"x" * 84, 20 << 20) for _ in range(5)]
    assert accepted == [True, True, True, False, False]
    disk.is_free.set()
    assert thread.flush(10)
    assert len(list(iter_records(disk.data))) == 4
    assert thread.defer(lambda: b"x", 20 << 20)
    thread.close(10)
    assert not thread.defer(lambda: b"x", 1)


def test_file_size_limit_is_retried(tmp_path: Path) -> None:
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
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("cannot be written: [Errno 27]") == 1
    assert [step for _, step, _ in read_scalars(tmp_path)] == list(range(1000))


def test_file_without_a_header_is_removed(tmp_path: Path) -> None:
    """A full disk often accepts new names, and no or few bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sink = LocalSink(str(tmp_path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="No space left"):
            sink.open(b"x" * 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (sink.is_open, list(tmp_path.iterdir())) == (False, [])
    sink.open(b"x" * 50)
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == b"x" * 50
    sink.close()


def test_recreates_a_removed_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
    assert caplog.messages[0].endswith("was removed; continuing in a new file")


def test_retries_until_a_removed_directory_can_be_recreated(tmp_path: Path) -> None:
    logdir = tmp_path / "run"
    with EventWriter(logdir, flush_s=1000) as writer:
        writer.scalar("loss", 1.0, 1)
        shutil.rmtree(logdir)
        logdir.write_text("not a directory")
        assert not writer.flush()
        logdir.unlink()
        assert writer.flush()
    assert read_scalars(logdir) == [("loss", 1, 1.0)]


def test_directory_that_cannot_be_created_is_reported_once_and_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "run").write_text("not a directory")
    with EventWriter(tmp_path / "run") as writer:
        assert all(writer.scalar("loss", 1.0, step) for step in range(10))
        assert not writer.flush()
        assert len(caplog.messages) == 1
        (tmp_path / "run").unlink()
    assert len(read_scalars(tmp_path / "run")) == 10


#: Log to a read-only directory that becomes writable later. Root, who may write anywhere, switches
#: to an unprivileged user, who may not be able to import modules; so the imports happen before.
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no read-only directories")
def test_read_only_directory_is_retried() -> None:
    # Not in tmp_path, which is below a directory that only its owner can enter.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", READ_ONLY, folder]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        assert result.stderr.count("cannot be written: [Errno 13] Permission denied") == 1
        assert len(read_scalars(Path(folder) / "run")) == 10


def test_strict_writer_raises_if_the_file_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("not a directory")
    with pytest.raises(OSError):
        EventWriter(tmp_path / "run", strict=True)


def test_continues_writing_to_a_renamed_file(tmp_path: Path) -> None:
    with EventWriter(tmp_path / "run") as writer:
        writer.scalar("loss", 1.0, 1)
        (tmp_path / "run").rename(tmp_path / "renamed")
    assert read_scalars(tmp_path / "renamed") == [("loss", 1, 1.0)]


#: Fork a writer for each run and kill it after a random time. The writer stores the number of
#: records that it has flushed in a file, which it overwrites with a single system call.
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

def has_flushed(folder):
    return os.path.exists(folder + "/marker") and os.path.getsize(folder + "/marker") > 0

for number in range(int(sys.argv[2])):
    folder = f"{sys.argv[1]}/{number}"
    os.makedirs(folder)
    child = os.fork()
    if not child:
        write(folder)
    while number % 10 == 0 and not has_flushed(folder):
        time.sleep(0.001)
    time.sleep(rng.uniform(0.001, 0.06))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.slow
@needs_fork
def test_flushed_records_survive_200_kills(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path), "200"]
    subprocess.run(command, check=True, timeout=500)
    flushed_total = 0
    for number in range(200):
        flushed_total += check_killed(tmp_path / str(number))
    assert flushed_total >= 20  # every tenth writer flushed something before it was killed


def check_killed(folder: Path) -> int:
    """Check that all flushed records of a killed writer are in its file; return their number."""
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
    assert len(data) - scanner.position < 100  # at most one record is truncated
    return flushed


@pytest.fixture(autouse=True)
def capture_all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tracklight")
