"""Notice NaN and Inf in dumps while they are written, for alerts.

Opening a dump takes hundreds of megabytes if it has millions of events. The monitor scans only what
was appended, keeps no columns, and stops at the first non-finite tensor of a dump.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

import numpy as np

from tracklight.formats.debug_events.columns import (
    EXECUTION_FIELD,
    TRACE_FIELD,
    Health,
    create_event_scanner,
)
from tracklight.formats.debug_events.following import FileFollower
from tracklight.formats.debug_events.messages import decode_execution_name, decode_trace_name
from tracklight.logdir.filesystem import FileHandle
from tracklight.types import DebugEventFile

_FIELDS = {"execution": EXECUTION_FIELD, "graph_execution_traces": TRACE_FIELD}


class NonFiniteEvent(NamedTuple):
    """The first event of a dump with a non-finite tensor."""

    run: str
    prefix: str
    """Of the files of the dump."""
    op: str
    """Name of an operation of a graph, or the type of an execution."""
    value: float
    """Infinity if the tensor contains no NaN, otherwise NaN."""
    wall_time: float


class DebugFiles(Protocol):
    """The part of `tracklight.analysis.source.Source` that the monitor needs."""

    def debug_files(self) -> Iterable[DebugEventFile]: ...

    def open_debug_file(self, file: DebugEventFile) -> FileHandle: ...


class DumpMonitor:
    """Checks dumps for non-finite tensors. Must not be called from two threads at once."""

    def __init__(self, source: DebugFiles) -> None:
        self._source = source
        self._files: dict[str, _MonitoredFile] = {}
        self._reported: set[tuple[str, str]] = set()

    def check(self, runs: Collection[str]) -> list[NonFiniteEvent]:
        """Read what was appended to the dumps of runs.

        Returns:
            The first non-finite event of each dump in which none was found before.
        """
        wanted = frozenset(runs)
        found: dict[tuple[str, str], NonFiniteEvent] = {}
        for file in self._source.debug_files():
            dump = file.run, file.prefix
            if file.run not in wanted or dump in self._reported or file.kind not in _FIELDS:
                continue
            event = self._check_file(file)
            if event is not None:
                earlier = found.get(dump)
                if earlier is None or event.wall_time < earlier.wall_time:
                    found[dump] = event
        self._reported.update(found)
        return list(found.values())

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Forget runs that were removed, so that they are checked again if they come back."""
        removed = frozenset(runs)
        self._reported = {dump for dump in self._reported if dump[0] not in removed}
        self._files = {path: it for path, it in self._files.items() if it.run not in removed}

    def _check_file(self, file: DebugEventFile) -> NonFiniteEvent | None:
        known = self._files.get(file.path)
        if known is None or file.bytes < known.position:  # a smaller file is another dump
            known = self._files[file.path] = _MonitoredFile(file)
        try:
            return known.update(file, self._source)
        except OSError:
            return None  # read again when it changes


def find_first_event(files: Iterable[DebugEventFile], source: DebugFiles) -> NonFiniteEvent | None:
    """Return the first event of a dump with a non-finite tensor, without opening the dump.

    Raises:
        OSError: A file cannot be read.
    """
    wanted = [file for file in files if file.kind in _FIELDS]
    events = [_MonitoredFile(file).update(file, source) for file in wanted]
    found = [event for event in events if event is not None]
    return min(found, key=lambda it: it.wall_time, default=None)


class _MonitoredFile:
    """A file of events that is scanned for the first non-finite tensor."""

    def __init__(self, file: DebugEventFile) -> None:
        self.run = file.run
        self._prefix = file.prefix
        self._is_trace = file.kind == "graph_execution_traces"
        self._scanner = create_event_scanner(_FIELDS[file.kind])
        self._follower = FileFollower(self._scanner, self._collect)
        self._names: list[bytes] = []
        self._tensors = 0
        self._found: NonFiniteEvent | None = None

    @property
    def position(self) -> int:
        return self._follower.position

    def update(self, file: DebugEventFile, source: DebugFiles) -> NonFiniteEvent | None:
        if self._found is None and self.position < file.bytes:
            with source.open_debug_file(file) as handle:
                self._follower.update(handle.read_into, file.bytes)
        return self._found

    def _collect(self) -> None:
        part = self._scanner.take()
        self._names += part["names"]
        first_tensor, self._tensors = self._tensors, self._tensors + len(part["health"])
        bad = np.flatnonzero(part["health"] == Health.NON_FINITE)
        if self._found is not None or not len(bad):
            return
        row = int(bad[0])
        if not self._is_trace:
            row = int(np.searchsorted(part["tensor_end"], first_tensor + row, "right"))
        name = self._names[int(part["name"][row])]
        nan = int(part["bad_counts"][0, 3])
        self._found = NonFiniteEvent(
            self.run,
            self._prefix,
            decode_trace_name(name).op if self._is_trace else decode_execution_name(name).op_type,
            float("inf") if nan == 0 else float("nan"),
            float(part["wall_time"][row]),
        )
