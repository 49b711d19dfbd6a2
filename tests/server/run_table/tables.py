"""A log in memory with everything that the table of runs shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.server.memory_source import MemorySource
from tracklight.formats.hparams import (
    RUN_END_TAG,
    RUN_START_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    RunEnd,
    RunStart,
    Status,
    build_run_end,
    build_run_start,
    build_session_end,
    build_session_start,
)
from tracklight.server.notes import NotesDocument, RunNote
from tracklight.server.run_table.run_columns import RunHParams, RunMetrics
from tracklight.server.run_table.table import MAX_BUILD_S, RunTable, RunTableStore
from tracklight.server.source import LogOverview
from tracklight.types import Kind, RunInfo, TagInfo

#: The time at which tests look at the log.
NOW = 1_800_000_000.0


@dataclass(eq=False)
class TimedSource(MemorySource):
    """A log whose runs have start and end times."""

    times: dict[str, tuple[float, float]] = field(default_factory=dict)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        records = tuple(
            TagInfo(tag, "hparams", Kind.TENSOR, 1, 0, None, None, "", "")
            for tag, runs in self.metadata.items()
            if run in runs
        )
        return super().tags(run) + records

    def _run_info(self, run: str) -> RunInfo:
        start, last = self.times.get(run, (NOW - 10_000, NOW - 5000))
        tags = self.shown[run]
        return RunInfo(run, start, last, 1, 500, len(tags), sum(map(len, tags.values())), 0)


@dataclass
class LogBuilder:
    """Adds runs to a log, with the records that programs write."""

    source: TimedSource = field(default_factory=TimedSource)
    notes: dict[str, RunNote] = field(default_factory=dict)

    def add(
        self,
        name: str,
        hparams: dict[str, Any] | None = None,
        metrics: dict[str, list[float]] | None = None,
        times: tuple[float, float] | None = None,
        note: RunNote | None = None,
    ) -> None:
        self.source.logged[name] = metrics or {}
        if times is not None:
            self.source.times[name] = times
        if note is not None:
            self.notes[name] = note
        if hparams is not None:
            self._record(SESSION_START_TAG, name, build_session_start(hparams))

    def start(self, name: str, **fields: Any) -> None:
        self._record(RUN_START_TAG, name, build_run_start(RunStart(**fields)))

    def end(self, name: str, **fields: Any) -> None:
        self._record(RUN_END_TAG, name, build_run_end(RunEnd(**fields)))

    def end_session(self, name: str, status: Status, wall_time: float) -> None:
        self._record(SESSION_END_TAG, name, build_session_end(status, wall_time=wall_time))

    def _record(self, tag: str, name: str, value: Any) -> None:
        content = value.metadata.plugin_data.content
        self.source.metadata.setdefault(tag, {})[name] = content

    def build(self, now: float = NOW) -> RunTable:
        self.source.refresh()
        return self.create_store(now).get_table()

    def create_store(self, now: float = NOW, max_build_s: float = MAX_BUILD_S) -> RunTableStore:
        overview = LogOverview(self.source)
        return RunTableStore(
            self.source,
            overview,
            RunHParams(self.source, overview),
            RunMetrics(self.source),
            lambda: NotesDocument(runs=self.notes),
            lambda: now,
            max_build_s,
        )
