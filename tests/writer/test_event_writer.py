"""Accepted records are written in order, however the process ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tests.writer.event_files import iter_events, list_files, read_scalars, read_values
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats import summary
from tracklight.writer.event_writer import EventWriter


def run_script(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_writes_accepted_records(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as writer:
        assert all(writer.scalar("loss", step / 2, step, 1.5) for step in range(100))
    assert read_scalars(tmp_path) == [("loss", step, step / 2) for step in range(100)]


def test_deferred_values_stay_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracklight.writer.writer_thread._MAX_DEFERRED_BYTES", 100)
    with EventWriter(tmp_path) as writer:
        for step in range(300):
            built = summary.scalar("late", step)
            assert writer.add_later(lambda built=built: built, step, size_bytes=60)
    assert [event.step for event in iter_events(tmp_path)] == list(range(300))


def test_creates_the_file_at_once_under_a_tensorflow_name(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path / "new" / "folder", filename_suffix=".mine")
    (file,) = list_files(tmp_path / "new" / "folder")
    words = file.name.split(".")
    assert words[:3] == ["events", "out", "tfevents"]
    assert abs(int(words[3]) - time.time()) < 60
    assert f".{os.getpid()}." in file.name
    assert words[-1] == "mine"
    assert writer.path == str(file)
    writer.close()


def test_flush_waits_until_records_are_written(tmp_path: Path) -> None:
    with EventWriter(tmp_path, flush_s=1000) as writer:
        writer.scalar("loss", 1.0, 1)
        assert read_scalars(tmp_path) == []
        assert writer.flush()
        assert read_scalars(tmp_path) == [("loss", 1, 1.0)]


def test_writes_after_the_flush_interval(tmp_path: Path) -> None:
    with EventWriter(tmp_path, flush_s=0.05) as writer:
        writer.scalar("loss", 1.0, 1)
        wait_for(lambda: len(read_scalars(tmp_path)) == 1)


def test_writes_when_max_queue_is_reached(tmp_path: Path) -> None:
    with EventWriter(tmp_path, flush_s=1000, max_queue=5) as writer:
        for step in range(5):
            writer.scalar("loss", 1.0, step)
        wait_for(lambda: len(read_scalars(tmp_path)) == 5)


def test_full_buffer_blocks_callers_without_losing_records(tmp_path: Path) -> None:
    with EventWriter(tmp_path, flush_s=1000, max_buffer_bytes=500) as writer:
        assert all(writer.scalar("loss", 1.0, step) for step in range(200))
    assert [step for _, step, _ in read_scalars(tmp_path)] == list(range(200))


def test_accepts_a_record_larger_than_the_buffer(tmp_path: Path) -> None:
    with EventWriter(tmp_path, max_buffer_bytes=500) as writer:
        for step in range(3):
            assert writer.scalar("x" * 2000, 1.0, step)
    assert len(read_values(tmp_path)) == 3


def test_64_threads_share_one_writer(tmp_path: Path) -> None:
    def log(tag: str) -> None:
        for step in range(300):
            assert writer.scalar(tag, 1.0, step)
            if step % 100 == 0:
                writer.flush()

    with EventWriter(tmp_path, max_buffer_bytes=20_000) as writer:
        threads = [threading.Thread(target=log, args=(f"t{i}",)) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    scalars = read_scalars(tmp_path)
    assert len(scalars) == 64 * 300
    for i in range(64):
        assert [step for tag, step, _ in scalars if tag == f"t{i}"] == list(range(300))


def test_two_writers_of_a_run_use_separate_files(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as one, EventWriter(tmp_path) as two:
        one.scalar("a", 1.0, 1)
        two.scalar("b", 2.0, 2)
    assert len(list_files(tmp_path)) == 2
    assert sorted(read_scalars(tmp_path)) == [("a", 1, 1.0), ("b", 2, 2.0)]


def test_garbage_collected_writer_flushes_and_ends_its_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    EventWriter(tmp_path, flush_s=1000).scalar("loss", 1.0, 1)
    gc.collect()
    wait_for(lambda: read_scalars(tmp_path) == [("loss", 1, 1.0)])
    wait_for(lambda: threading.active_count() <= before)


def test_logging_after_close_warns_or_raises(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(UsageWarning, match=r"`writer` is closed") as caught:
        assert not writer.scalar("loss", 1.0, 1)
    assert caught[0].filename == __file__
    assert writer.flush()
    strict = EventWriter(tmp_path, strict=True)
    strict.close()
    with pytest.raises(UsageError, match="closed"):
        strict.scalar("loss", 1.0, 1)


def test_exit_writes_all_records(tmp_path: Path) -> None:
    result = run_script(
        """
        import sys
        from tracklight.writer.event_writer import EventWriter
        writer = EventWriter(sys.argv[1], flush_s=1000)
        for step in range(1000): writer.scalar("loss", 1.0, step)
        """,
        tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(read_scalars(tmp_path)) == 1000


def test_records_logged_in_exit_handlers_are_written(tmp_path: Path) -> None:
    result = run_script(
        """
        import atexit, sys
        from tracklight.writer.event_writer import EventWriter
        atexit.register(lambda: late.append(EventWriter(sys.argv[1]).scalar("loss", 1.0, 1)))
        late = []
        """,
        tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert read_scalars(tmp_path) == [("loss", 1, 1.0)]


def test_uncaught_exception_loses_no_records(tmp_path: Path) -> None:
    result = run_script(
        """
        import sys
        from tracklight.writer.event_writer import EventWriter
        EventWriter(sys.argv[1], flush_s=1000).scalar("loss", 1.0, 1)
        raise SystemExit(3)
        """,
        tmp_path,
    )
    assert result.returncode == 3
    assert len(read_scalars(tmp_path)) == 1


TERMINATED = """
import os, signal, sys, time
from tracklight.writer.event_writer import EventWriter
{before}
writer = EventWriter(sys.argv[1], flush_s=1000)
{after}
writer.scalar("loss", 1.0, 1)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(10)
"""


def test_sigterm_flushes_and_terminates_the_process(tmp_path: Path) -> None:
    result = run_script(TERMINATED.format(before="", after=""), tmp_path)
    assert result.returncode == -signal.SIGTERM
    assert len(read_scalars(tmp_path)) == 1


def test_sigterm_calls_the_previous_handler(tmp_path: Path) -> None:
    before = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))"
    result = run_script(TERMINATED.format(before=before, after=""), tmp_path)
    assert result.returncode == 7
    assert len(read_scalars(tmp_path)) == 1


def test_later_sigterm_handler_of_the_program_is_kept(tmp_path: Path) -> None:
    after = "signal.signal(signal.SIGTERM, lambda *_: os._exit(8))"
    result = run_script(TERMINATED.format(before="", after=after), tmp_path)
    assert result.returncode == 8


def test_ignored_sigterm_stays_ignored(tmp_path: Path) -> None:
    script = """
    import os, signal, sys
    from tracklight.writer.event_writer import EventWriter
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with EventWriter(sys.argv[1]) as writer:
        writer.scalar("loss", 1.0, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        writer.scalar("loss", 1.0, 2)
    """
    assert run_script(script, tmp_path).returncode == 0
    assert len(read_scalars(tmp_path)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_writes_to_a_separate_file(tmp_path: Path) -> None:
    result = run_script(
        """
        import os, sys, warnings
        from tracklight.writer.event_writer import EventWriter
        warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads
        writer = EventWriter(sys.argv[1], flush_s=1000)
        for step in range(10): writer.scalar("before", 1.0, step)
        child = os.fork()
        name = "parent" if child else "child"
        for step in range(10): writer.scalar(name, 1.0, step)
        writer.close()
        if child:
            os.waitpid(child, 0)
        """,
        tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(list_files(tmp_path)) == 2
    tags = [tag for tag, _, _ in read_scalars(tmp_path)]
    assert {tag: tags.count(tag) for tag in set(tags)} == {"before": 10, "parent": 10, "child": 10}
    described = [value.tag for value in read_values(tmp_path) if value.HasField("metadata")]
    assert sorted(described) == [b"before", b"child", b"parent"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_that_does_not_log_creates_no_file(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as writer:
        writer.scalar("loss", 1.0, 1)
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    assert len(list_files(tmp_path)) == 1
    assert len(read_scalars(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_multiprocessing_workers_write_all_records_at_exit(tmp_path: Path) -> None:
    result = run_script(
        """
        import multiprocessing, sys, warnings
        from tracklight.writer.event_writer import EventWriter
        warnings.simplefilter("ignore", DeprecationWarning)
        writer = EventWriter(sys.argv[1], flush_s=1000)
        def work(number):
            for step in range(100): writer.scalar(f"worker{number}", 1.0, step)
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=work, args=(i,)) for i in range(4)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        """,
        tmp_path,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert len(read_scalars(tmp_path)) == 400


def test_logging_scalars_imports_no_heavy_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a program whose coverage is measured, the measuring imports modules as well.
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    result = run_script(
        """
        import sys, tracklight
        with tracklight.summary.create_file_writer(sys.argv[1]).as_default():
            tracklight.summary.scalar("loss", 1.0, step=1)
        heavy = ("google.protobuf", "numpy", "multiprocessing", "tracklight.reader", "starlette")
        print([name for name in heavy if name in sys.modules])
        """,
        tmp_path,
    )
    assert result.stdout.strip() == "[]"


def wait_for(condition: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)
