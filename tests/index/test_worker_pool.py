from __future__ import annotations

import threading

import pytest

from tracklight.index.shard import WorkerPool


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 15, 100])
def test_returns_results_in_order(threads: int, count: int) -> None:
    side = WorkerPool(threads)
    assert side.map(lambda number: number * 2, range(count)) == [n * 2 for n in range(count)]
    side.close()


def test_uses_several_threads_for_many_items() -> None:
    side = WorkerPool(2)
    meeting = threading.Barrier(2, timeout=60)
    side.map(lambda number: meeting.wait() if number in (0, 99) else None, range(100))
    side.close()


def test_raises_exception_of_function() -> None:
    side = WorkerPool(2)
    with pytest.raises(ZeroDivisionError):
        side.map(lambda number: 1 // number, range(100))
    side.close()
