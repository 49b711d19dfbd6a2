"""What happens to writers when the process ends, is told to end, or forks."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from tracklight.sdk.drain import Drain

_EXIT_S = 10.0
#: Whoever sends SIGTERM may send SIGKILL soon after: ten seconds is usual.
_TERMINATE_S = 5.0


class _Forkable(Protocol):
    def begin_again(self) -> None:
        """In a forked child: go on in a file of one's own."""


_writers: weakref.WeakSet[_Forkable] = weakref.WeakSet()
#: Held strongly, so that a writer nobody holds any more still gets its last records written.
_drains: set[Drain] = set()
_process = 0
_is_catching = False


def watch(writer: _Forkable) -> None:
    """Look after a writer for as long as someone holds it."""
    _writers.add(writer)
    _catch_terminate()


def keep(drain: Drain) -> None:
    """Have a drain emptied when the process ends."""
    if drain not in _drains:
        _drains.difference_update([other for other in _drains if other.has_ended])
        _drains.add(drain)
        _prepare_process()


def is_ending() -> bool:
    """Whether the program is over and only exit handlers still run."""
    return not threading.main_thread().is_alive()


def close_all() -> None:
    """Write everything that was accepted."""
    deadline = time.monotonic() + _EXIT_S
    for drain in list(_drains):
        drain.close(max(0.0, deadline - time.monotonic()))


def _prepare_process() -> None:
    global _process
    if _process == os.getpid():
        return
    is_child = _process != 0
    _process = os.getpid()
    if not is_child:  # children inherit it
        atexit.register(close_all)
    if "multiprocessing.util" in sys.modules:
        # Children that multiprocessing forks leave without a call to atexit's functions.
        from multiprocessing.util import Finalize

        Finalize(None, close_all, exitpriority=-1)


def _catch_terminate() -> None:
    """Write what there is on SIGTERM, then do what would have been done without us.

    Set once, when the first writer is made: a handler that the program sets later stays the
    program's. Only the main thread may set handlers.
    """
    global _is_catching
    if _is_catching or threading.current_thread() is not threading.main_thread():
        return
    _is_catching = True
    before = signal.getsignal(signal.SIGTERM)
    if before is None or before is signal.SIG_IGN:  # someone else's in C, or not wanted
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        deadline = time.monotonic() + _TERMINATE_S
        for drain in list(_drains):
            drain.flush(max(0.0, deadline - time.monotonic()))
        _pass_on(before, number, frame)

    signal.signal(signal.SIGTERM, terminate)


def _pass_on(
    before: Callable[[int, FrameType | None], object] | int, number: int, frame: FrameType | None
) -> None:
    if callable(before):
        before(number, frame)
        return
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _after_fork_in_child() -> None:
    _drains.clear()
    for writer in list(_writers):
        writer.begin_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
