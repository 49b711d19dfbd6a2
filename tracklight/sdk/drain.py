"""The thread that empties a buffer into a sink, and keeps trying where the sink is in trouble.

Whatever goes wrong with the target is said once in tracklight's log (`logging`), tried again after
a pause that grows, and never raised. While a target is in trouble, what was accepted stays in
memory; what comes when the buffer is full is refused, counted, and told of.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sized

from tracklight.formats.encode import Answer, Buffer
from tracklight.sdk.sink import FileRemoved, Sink

_log = logging.getLogger("tracklight")

#: How long a producer waits for room before the target counts as stalled.
PATIENCE_S = 10.0

_LEAST_GAP_S = 0.05
_LEAST_PAUSE_S = 0.2
_MOST_PAUSE_S = 30.0
#: A slow target is written to so rarely that it is busy for no more than this part of the time.
_MOST_BUSY = 0.1

#: What may wait to be made by the thread.
_MOST_LATER_BYTES = 64 << 20


class _Ticket:
    """Asks for everything to be written that is in the buffer now."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        self.succeeded = False
        self.done = threading.Event()


class Drain:
    """Writes one event file.

    Requests go through a `queue.SimpleQueue`, which may be put to from signal handlers and
    finalizers: those can interrupt any line, and no lock that the line may hold is needed.
    """

    def __init__(
        self,
        buffer: Buffer,
        sink: Sink,
        make_head: Callable[[], bytes],
        flush_s: float,
        wake_bytes: int,
        wake_records: int,
    ) -> None:
        self._buffer = buffer
        self._sink = sink
        self._make_head = make_head
        self._flush_s = flush_s
        self._wake_bytes = wake_bytes
        self._wake_records = wake_records
        self._requests: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._later: deque[tuple[Callable[[], bytes], int]] = deque()
        self._putting_off = threading.Lock()
        self._put_off_bytes = 0
        self._made_bytes = 0
        self._made = b""
        self._batch = b""
        self._written = 0
        self._due: float | None = None
        self._free_at = 0.0
        self._pause_s = 0.0
        self._refused = 0
        self._ended = threading.Event()
        self.is_in_trouble = False
        self.is_closed = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be written."""
        return self._ended.is_set()

    @property
    def place(self) -> str:
        """The file, or the folder in which it will be."""
        return self._sink.place

    def open(self) -> None:
        """Start the file now rather than with the first record. Raises OSError."""
        self._sink.open(self._make_head())

    def wake(self) -> None:
        """Say that the buffer is no longer empty, or that it is time to write."""
        self._requests.put(None)
        self._start()

    def make_later(self, make_event: Callable[[], bytes], size_bytes: int) -> bool:
        """Have the thread make a record, which must not fail; False if it has too much to do.

        The function is called once. ``size_bytes`` is what it holds on to.
        """
        if self.is_closed:
            return False
        with self._putting_off:
            # Two counters, as the thread changes one of them and must not have to wait.
            waiting = self._put_off_bytes - self._made_bytes
            if waiting and waiting + size_bytes > _MOST_LATER_BYTES:
                return False
            self._put_off_bytes += size_bytes
            self._later.append((make_event, size_bytes))
        self.wake()
        return True

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was accepted is written; False if it could not be."""
        return self._ask(_Ticket(is_last=False), timeout_s)

    def wait_for_room(self) -> bool:
        """Wait for a full buffer to be emptied; False if the record must be refused instead."""
        return self._wait_for(self._buffer)

    def wait_for_turn(self) -> bool:
        """Wait for what was put off to be made, as a tag's values must stay in order."""
        return self._wait_for(self._later)

    def _wait_for(self, waiting: Sized) -> bool:
        if not self.is_in_trouble and not self.is_closed:
            if self.flush(PATIENCE_S) or not waiting:
                return True
            self._report(f"took longer than {PATIENCE_S:.0f} seconds to write")
        self._refused += 1
        if self._refused == 1:
            _log.error("%s: the buffer is full, so records are lost from now on", self.place)
        return False

    def close(self, timeout_s: float) -> bool:
        """Write what can be written in that time, and end."""
        deadline = time.monotonic() + timeout_s
        while not self.flush(max(0.0, deadline - time.monotonic())):
            if time.monotonic() + _LEAST_PAUSE_S > deadline:
                break
            time.sleep(_LEAST_PAUSE_S)
        self.finish()
        return self._ended.wait(max(_LEAST_PAUSE_S, deadline - time.monotonic()))

    def finish(self) -> None:
        """End as soon as all is written, without waiting for it."""
        if not self.is_closed:
            self.is_closed = True
            self._requests.put(_Ticket(is_last=True))
            self._start()

    def abandon(self) -> None:
        """In a forked child: leave file and buffer to the parent."""
        self._sink.abandon()

    def _ask(self, ticket: _Ticket, timeout_s: float | None) -> bool:
        if self.is_closed:
            return self._ended.wait(timeout_s)
        self._requests.put(ticket)
        self._start()
        if self.has_ended:  # by someone else, in between: then nobody answers the ticket any more
            return True
        return ticket.done.wait(timeout_s) and ticket.succeeded

    def _start(self) -> None:
        # Not waited for: whoever holds it is starting the thread, maybe on this very stack.
        if self._thread is not None or not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="tracklight", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError:  # the interpreter is shutting down and starts no more threads
            self._serve_all()
        finally:
            self._starting.release()

    def _run(self) -> None:
        while not self._serve(self._wait()):
            pass
        self._serve_all()

    def _serve_all(self) -> None:
        while not self._requests.empty():
            self._serve(self._requests.get())

    def _serve(self, ticket: _Ticket | None) -> bool:
        """Write once; True if that was the last time."""
        succeeded = self._write()
        if ticket is None:
            return False
        ticket.succeeded = succeeded
        if ticket.is_last:
            self._end()
        ticket.done.set()
        return ticket.is_last

    def _wait(self) -> _Ticket | None:
        """Sleep until something is to be written; the ticket that asks for it, if one does."""
        while True:
            timeout = None if self._due is None else max(0.0, self._due - time.monotonic())
            try:
                ticket = self._requests.get(timeout=timeout)
            except queue.Empty:
                return None
            if ticket is not None:
                return ticket
            self._make()
            self._schedule()

    def _make(self) -> None:
        """Make what was put off, for as long as the buffer has room for it."""
        while self._later:
            make_event, size_bytes = self._later[0]
            self._made = self._made or make_event()
            if self._buffer.record(self._made) == Answer.FULL:
                return
            self._made = b""
            self._later.popleft()
            self._made_bytes += size_bytes

    def _schedule(self) -> None:
        if self.is_in_trouble and self._due is not None:
            return
        now = time.monotonic()
        due = max(self._free_at, now if self._is_urgent() else now + self._flush_s)
        self._due = due if self._due is None else min(self._due, due)

    def _is_urgent(self) -> bool:
        return len(self._buffer) >= self._wake_bytes or self._buffer.records >= self._wake_records

    def _write(self) -> bool:
        started = time.monotonic()
        self._due = None
        try:
            if not self._sink.is_open:
                self.open()
            self._write_batch()
            # As often as the buffer may be filled by what was put off, but not for ever.
            for _ in range(1 + len(self._later)):
                self._make()
                self._batch = self._buffer.take()
                self._write_batch()
            self._sink.sync()
        except Exception as error:  # a remote file system may raise anything
            self.fail(error)
            return False
        self._free_at = started + max(_LEAST_GAP_S, (time.monotonic() - started) / _MOST_BUSY)
        self._recover()
        return True

    def _write_batch(self) -> None:
        while self._written < len(self._batch):
            try:
                self._written += self._sink.append(memoryview(self._batch)[self._written :])
            except FileRemoved:
                self._start_over()
        self._batch = b""
        self._written = 0

    def _start_over(self) -> None:
        """Go on in a new file, in which every tag has to be described anew."""
        from tracklight.sdk.mend import describe_again

        _log.warning("%s was removed; what comes goes to a new file", self.place)
        self.open()
        known = self._buffer.descriptions()
        # In this order, a record that comes meanwhile is described either here or by its own value.
        self._buffer.forget()
        self._batch = describe_again(self._batch + self._buffer.take(), known)
        self._written = 0

    def fail(self, error: Exception) -> None:
        """Take note that the target is in trouble, and when to try again."""
        self._pause_s = min(_MOST_PAUSE_S, max(_LEAST_PAUSE_S, 2 * self._pause_s))
        self._due = time.monotonic() + self._pause_s
        self._report(f"cannot be written: {error}")

    def _report(self, what: str) -> None:
        if not self.is_in_trouble:
            _log.error("%s %s; records are kept in memory, trying again", self.place, what)
        self.is_in_trouble = True

    def _recover(self) -> None:
        self._pause_s = 0.0
        if self.is_in_trouble:
            self.is_in_trouble = False
            self._tell_refused("%s is written to again; %d records were lost")

    def _end(self) -> None:
        left = len(self._batch) - self._written + len(self._buffer)
        if left:
            _log.error("%s: %d bytes of records were never written", self.place, left)
        self._refused += len(self._later)
        self._tell_refused("%s: %d records were lost")
        self._sink.close()
        self._ended.set()

    def _tell_refused(self, text: str) -> None:
        if self._refused:
            _log.error(text, self.place, self._refused)
        self._refused = 0
