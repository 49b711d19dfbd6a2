from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracklight.profiler import stack_sampling
from tracklight.profiler.stack_sampling import Span, StackSampler

_MS = 1_000_000


class Tasks:
    """What the system tells of threads, as a test wants it to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tell(self, thread: int, on_cpu_ms: float, in_line_ms: float = 0) -> None:
        (self._folder / str(thread)).mkdir(exist_ok=True)
        text = f"{int(on_cpu_ms * _MS)} {int(in_line_ms * _MS)} 1\n"
        (self._folder / str(thread) / "schedstat").write_text(text)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    monkeypatch.setattr(stack_sampling, "_PROC_TASK_DIR", tmp_path)
    return Tasks(tmp_path)


def test_a_thread_runs_that_is_on_a_processor_or_next_in_line_for_one(tasks: Tasks) -> None:
    own, looks = threading.get_native_id(), StackSampler()
    shares = [(0, 0), (9, 0), (9, 8), (10, 9), (20, 9)]
    for at, (on_cpu, in_line) in enumerate(shares):
        tasks.tell(own, on_cpu, in_line)
        looks.sample(10 * at * _MS)
    looks.running[own].close_below(0, 40 * _MS)
    assert looks.running[own].spans == [
        Span("Running", 0, 20 * _MS),
        Span("Running", 30 * _MS, 40 * _MS),
    ]


def test_what_other_threads_wait_for_is_left_out(tasks: Tasks) -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait, name="other")
    other.start()
    number = other.native_id
    assert number is not None
    looks = StackSampler()
    for at, on_cpu in enumerate((0, 0, 9, 9)):
        tasks.tell(number, on_cpu)
        looks.sample(10 * at * _MS)
    over.set()
    other.join()
    assert {(span.start_ns, span.end_ns) for span in looks.calls[number].spans} == {
        (20 * _MS, 30 * _MS)
    }
    assert looks.calls[threading.get_native_id()].spans == []  # it goes on: nobody saw it end


def test_where_nobody_tells_all_is_taken_for_running(tasks: Tasks) -> None:
    looks = StackSampler()
    looks.sample(0)
    own = threading.get_native_id()
    looks.calls[own].close_below(0, 5)
    assert {(span.start_ns, span.end_ns) for span in looks.calls[own].spans} == {(0, 5)}
    assert looks.running[own].spans == []
