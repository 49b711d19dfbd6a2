"""Which runs are running, and what their programs recorded about themselves.

The state of a run follows from what is known about it, in this order:

1. A record of its end (`tracklight.run`, HParams): *finished* or *crashed*. It counts only until
   something is logged after it, since a directory may be used for a second training.
2. Something was logged in the last minutes: *running*.
3. A record of its start, but none of its end: *crashed* if its process is gone, which is known
   on the same machine, or after a day without data; otherwise *stalled*.
4. No record at all, as in most logs of other programs: *inactive*.

Runs below a directory with such records, such as ``train`` and ``validation`` of Keras, have the
state of that directory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.hparams import (
    RUN_END_TAG,
    RUN_START_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    RunEnd,
    RunStart,
    Status,
    parse_run_end,
    parse_run_start,
    parse_session_end_info,
)
from tracklight.logdir.discover import iter_ancestors
from tracklight.server.source import LogOverview, LogSource, RunRow
from tracklight.types import Bool, Float64
from tracklight.util.memory import get_pid_namespace, is_process_alive

T = TypeVar("T")

#: A run that logged something in this time is running.
MAX_RUNNING_AGE_S = 300.0
#: A run that has recorded its start and no end is stalled until this time, then crashed.
MAX_STALLED_AGE_S = 86_400.0
#: The last records of a file may be a little newer than the record of the end.
_END_TOLERANCE_S = 60.0


class RunState(IntEnum):
    """The state of a run, in the order in which runs are sorted by it."""

    RUNNING = 0
    STALLED = 1
    CRASHED = 2
    FINISHED = 3
    INACTIVE = 4


STATE_NAMES = [state.name.lower() for state in RunState]


class RecordParser(Generic[T]):
    """Parses records of runs when they are needed; records never change."""

    def __init__(self, parse: Callable[[bytes], T | None]) -> None:
        self._parse = parse
        self._parsed: dict[bytes, T | None] = {}

    def find(self, content: bytes | None) -> T | None:
        """Return a parsed record; None if there is none, or if it is invalid."""
        if content is None:
            return None
        if content not in self._parsed:
            self._parsed[content] = self._parse(content)
        return self._parsed[content]

    def forget_all_but(self, contents: Mapping[str, bytes]) -> None:
        """Forget the records that no run has anymore."""
        if len(self._parsed) > 2 * len(contents):
            kept = set(contents.values())
            self._parsed = {data: it for data, it in self._parsed.items() if data in kept}


@dataclass(frozen=True, eq=False)
class RunRecords:
    """What programs recorded about runs; runs below a directory share its records."""

    owners: Sequence[str | None]
    """For each run, the run that has its records."""
    has_start: Bool
    ends: Mapping[str, RunEnd]
    start_contents: Mapping[str, bytes]
    start_parser: RecordParser[RunStart]

    def find_start(self, owner: str | None) -> RunStart | None:
        """Return the record of the start of an owner of records."""
        if owner is None:
            return None
        return self.start_parser.find(self.start_contents.get(owner))

    def list_ends(self) -> list[RunEnd | None]:
        return [None if owner is None else self.ends.get(owner) for owner in self.owners]


class RecordReader:
    """Reads the records of all runs. Tags that no run has cost nothing."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._starts = RecordParser(parse_run_start)
        self._ends = RecordParser(parse_run_end)
        self._session_ends = RecordParser(parse_session_end_info)

    def read(self, runs: Iterable[str]) -> RunRecords:
        """Read the records of some runs, in their order."""
        tags = (RUN_START_TAG, RUN_END_TAG, SESSION_START_TAG, SESSION_END_TAG)
        runs_with: dict[str, set[str]] = {tag: set() for tag in tags}
        for shared in self._overview.tags():
            if shared.tag in runs_with:
                runs_with[shared.tag].update(shared.runs)

        def read(tag: str) -> Mapping[str, bytes]:
            return self._source.plugin_data(tag) if runs_with[tag] else {}

        ends = {
            run: RunEnd(end.status == Status.FAILURE, "", end.wall_time)
            for run, end in _parse_all(read(SESSION_END_TAG), self._session_ends).items()
            if end.status not in (Status.UNKNOWN, Status.RUNNING)
        }
        ends |= _parse_all(read(RUN_END_TAG), self._ends)
        started = runs_with[RUN_START_TAG] | runs_with[SESSION_START_TAG]
        recorded = started | ends.keys()
        owners = [_find_owner(run, recorded) for run in runs] if recorded else [None for _ in runs]
        has_start = np.array([owner in started for owner in owners], np.bool_)
        starts = read(RUN_START_TAG)
        self._starts.forget_all_but(starts)
        return RunRecords(owners, has_start, ends, starts, self._starts)


def _find_owner(run: str, recorded: Container[str]) -> str | None:
    if run in recorded:
        return run
    return next((name for name in iter_ancestors(run) if name in recorded), None)


def _parse_all(contents: Mapping[str, bytes], parser: RecordParser[T]) -> dict[str, T]:
    parsed = ((run, parser.find(content)) for run, content in contents.items())
    records = {run: record for run, record in parsed if record is not None}
    parser.forget_all_but(contents)
    return records


@dataclass(eq=False)
class StateTracker:
    """Computes the states of all runs of one version of the log at any time."""

    rows: Sequence[RunRow]
    records: RunRecords
    _namespace: str = field(default_factory=get_pid_namespace)

    def __post_init__(self) -> None:
        own_last = np.array([_to_float(row.last_wall) for row in self.rows], np.float64)
        self.last = self._share_last(own_last)
        """When each run, or another run with the same records, last logged something."""
        ends = self.records.list_ends()
        ended = np.array([math.nan if end is None else end.wall_time for end in ends], np.float64)
        ended = np.where(ended > 0, ended, self.last)
        is_resumed = self.last > ended + _END_TOLERANCE_S
        has_ended = np.array([end is not None for end in ends], np.bool_)
        self.end = np.where(has_ended & ~is_resumed, ended, np.nan)
        """When each run ended; NaN without a valid record."""
        self._has_failed = np.array([end is not None and end.failed for end in ends], np.bool_)
        # Only processes that this one could see are checked; dead ones once.
        is_open = (self.records.has_start & np.isnan(self.end)).tolist()
        pairs = zip(self.records.owners, is_open, strict=True)
        starts = {
            owner: self.records.find_start(owner) if self._namespace else None
            for owner in dict.fromkeys(owner for owner, has_no_end in pairs if has_no_end)
        }
        self._processes = {
            owner: start
            for owner, start in starts.items()
            if start is not None and start.pid > 0 and start.pid_namespace == self._namespace
        }
        self._dead: set[str | None] = set()

    def compute(self, now: float) -> NDArray[np.uint8]:
        """Return the `RunState` of each run."""
        age = now - self.last
        has_end = ~np.isnan(self.end)
        states = np.full(len(self.rows), RunState.INACTIVE, np.uint8)
        states[self.records.has_start] = RunState.STALLED
        states[self.records.has_start & (age > MAX_STALLED_AGE_S)] = RunState.CRASHED
        states[age < MAX_RUNNING_AGE_S] = RunState.RUNNING
        if self._processes:
            is_alive, is_dead = self._check_processes()
            states[is_dead] = RunState.CRASHED
            states[is_alive & (states == RunState.CRASHED)] = RunState.STALLED
        states[has_end] = RunState.FINISHED
        states[has_end & self._has_failed] = RunState.CRASHED
        return states

    def _check_processes(self) -> tuple[Bool, Bool]:
        unknown = self._processes.keys() - self._dead
        self._dead |= {
            owner
            for owner in unknown
            if not is_process_alive(self._processes[owner].pid, self._processes[owner].wall_time)
        }
        owners = self.records.owners
        is_dead = np.array([owner in self._dead for owner in owners], np.bool_)
        is_known = np.array([owner in self._processes for owner in owners], np.bool_)
        return is_known & ~is_dead, is_dead

    def _share_last(self, last: Float64) -> Float64:
        owners = self.records.owners
        latest: dict[str, float] = {}
        for owner, value in zip(owners, last.tolist(), strict=True):
            if owner is not None and value > latest.get(owner, -math.inf):
                latest[owner] = value
        if not latest:
            return last
        shared = [
            value if owner is None else latest.get(owner, value)
            for owner, value in zip(owners, last.tolist(), strict=True)
        ]
        return np.array(shared, np.float64)


def _to_float(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
