"""Does the same to many things at once, on as many threads as there are processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Fewer things are done sooner than they are handed over.
_FEW = 16


class SideBySide:
    """Threads that are started when they are first needed; not those that read files, which may
    be busy for minutes while somebody waits for a chart."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-look")

    def map(self, work: Callable[[T], R], things: Sequence[T]) -> list[R]:
        """What ``work`` makes of each thing, in order."""
        if self._threads == 1 or len(things) <= _FEW:
            return [work(thing) for thing in things]
        size = max(1, len(things) // (4 * self._threads))
        parts = [things[at : at + size] for at in range(0, len(things), size)]
        done = self._pool.map(lambda part: [work(thing) for thing in part], parts)
        return [result for part in done for result in part]

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
