"""A log in memory, to test the server without event files."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tracklight.analysis.source import ResultT, reduce_here
from tracklight.errors import Message, RunNotFoundError, TagNotFoundError
from tracklight.index.aggregation import CurveReduction
from tracklight.index.series_query import SeriesQuery, View, apply
from tracklight.index.tags import make_shared_tag, merge_shared_tags, summarize
from tracklight.logdir.access import Root
from tracklight.logdir.filesystem import FileHandle, LocalFileSystem
from tracklight.logdir.watch import Changes
from tracklight.types import (
    CaptureFile,
    DamageInfo,
    DebugEventFile,
    Delta,
    EvaluationFile,
    FileInfo,
    Kind,
    Point,
    Progress,
    RunInfo,
    Series,
    SeriesSummary,
    SettingsFile,
    SharedTag,
    Stamp,
    StudyFile,
    SummaryColumns,
    TagInfo,
    TensorFileEntry,
)


@dataclass(eq=False)
class MemorySource:
    """``logged`` is what a writer has written; a refresh copies it to ``shown``."""

    path: str = "/logs"
    logged: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    damaged: dict[str, list[DamageInfo]] = field(default_factory=dict)
    metadata: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Plugin data by tag and run."""
    beside: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Settings files by run and name."""
    dumped: list[DebugEventFile] = field(default_factory=list)
    """Files of debugger dumps."""
    failure: Exception | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    """Refreshes wait for it, so that tests can observe a server that is loading."""

    def __post_init__(self) -> None:
        self.gate.set()
        self.shown: dict[str, dict[str, list[float]]] = {}
        self.version = 0
        self.progress = Progress(0, 2, 0, 1000)
        self.roots = (Root("", self.path),)
        self.problems: tuple[Message, ...] = ()
        self.cache_folder: Path | None = None
        self.linked: dict[Root, frozenset[str]] = {}

    def refresh(self, changes: Changes | None = None) -> Delta:
        self.gate.wait()
        if self.failure is not None:
            raise self.failure
        now = {
            run: {tag: list(points) for tag, points in t.items()} for run, t in self.logged.items()
        }
        added = tuple(run for run in now if run not in self.shown)
        removed = tuple(run for run in self.shown if run not in now)
        changed = tuple(r for r in now if r in self.shown and now[r] != self.shown[r])
        self.shown = now
        self.progress = Progress(2, 2, 1000, 1000)
        self.version += bool(added or removed or changed)
        return Delta(self.version, added, removed, changed)

    def runs(self) -> tuple[RunInfo, ...]:
        return tuple(self._run_info(run) for run in self.shown)

    def files(self, run: str) -> tuple[FileInfo, ...]:
        self._tags(run)
        damage = tuple(self.damaged.get(run, ()))
        return (FileInfo(f"{run}/events.out.tfevents.1", 500, 10, len(damage), damage),)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return tuple(
            TagInfo(
                tag, "scalars", Kind.SCALAR, len(v), 0, Stamp(0, 10.0), _last(v), "", f"the {tag}"
            )
            for tag, v in self._tags(run).items()
        )

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        tags = (make_shared_tag(run, info) for run in runs for info in self.tags(run))
        return merge_shared_tags(tags, runs)

    def scalar(self, run: str, tag: str) -> Series:
        if tag not in self._tags(run):
            raise TagNotFoundError(run, tag, self._tags(run))
        return _series(run, tag, self._tags(run)[tag])

    def summaries(self, keys: Sequence[tuple[str, str]]) -> list[SeriesSummary | None]:
        shown = self.shown  # a refresh in another thread replaces it
        return [
            summarize(_series(run, tag, shown[run][tag])) if tag in shown.get(run, {}) else None
            for run, tag in keys
        ]

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        summaries = self.summaries([(run, tag) for run in runs])
        columns = np.full((4, len(runs)), np.nan)
        for row, summary in enumerate(summaries):
            if summary is not None and summary.last is not None:
                columns[[0, 3], row] = summary.last.value, summary.last.step
            if summary is not None and summary.min is not None and summary.max is not None:
                columns[[1, 2], row] = summary.min.value, summary.max.value
        is_present = [it is not None and it.last is not None for it in summaries]
        return SummaryColumns(np.array(is_present, np.bool_), *columns)

    def last_points(self, keys: Sequence[tuple[str, str]]) -> list[Point | None]:
        return [found and found.last for found in self.summaries(keys)]

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        return {run: data for run, data in self.metadata.get(tag, {}).items() if run in self.shown}

    def settings(self) -> tuple[SettingsFile, ...]:
        return tuple(
            SettingsFile(run, f"{run}/{name}", str(len(data)))
            for run, files in self.beside.items()
            for name, data in files.items()
        )

    def read_settings(self, file: SettingsFile) -> bytes:
        return self.beside[file.run][file.path.rpartition("/")[2]]

    def tensor_files(self) -> tuple[TensorFileEntry, ...]:
        return ()

    def study_files(self) -> tuple[StudyFile, ...]:
        return ()

    def fetch_study_file(self, file: StudyFile) -> AbstractContextManager[Path]:
        return nullcontext(Path(file.path))

    def evaluation_files(self) -> tuple[EvaluationFile, ...]:
        return ()

    def captures(self) -> tuple[CaptureFile, ...]:
        return ()

    def debug_files(self) -> tuple[DebugEventFile, ...]:
        return tuple(self.dumped)

    def open_debug_file(self, file: DebugEventFile) -> FileHandle:
        return LocalFileSystem().open(file.path)

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        return nullcontext(Path(capture.path))

    def query(
        self, keys: Sequence[tuple[str, str]], query: SeriesQuery, view: View[ResultT]
    ) -> list[ResultT]:
        return [apply(self.scalar(*key), query, view, self._metric(key[0], query)) for key in keys]

    def reduce(
        self,
        keys: Sequence[tuple[str, str]],
        query: SeriesQuery,
        reduction: CurveReduction[ResultT],
    ) -> ResultT:
        return reduce_here(self, keys, query, reduction)  # type: ignore[arg-type]

    def _metric(self, run: str, query: SeriesQuery) -> Series | None:
        return None if query.metric is None else self.scalar(run, query.metric)

    def _tags(self, run: str) -> dict[str, list[float]]:
        if run not in self.shown:
            raise RunNotFoundError(run, self.shown)
        return self.shown[run]

    def _run_info(self, run: str) -> RunInfo:
        tags = self.shown[run]
        points = sum(map(len, tags.values()))
        return RunInfo(
            run, 10.0, float("nan"), 1, 500, len(tags), points, len(self.damaged.get(run, ()))
        )


def _series(run: str, tag: str, values: list[float]) -> Series:
    step = np.arange(len(values))
    marks = np.zeros(len(values), bool)
    return Series(run, tag, step, 10.0 + step, np.array(values, np.float64), marks)


def _last(values: list[float]) -> Stamp | None:
    return Stamp(len(values) - 1, 20.0) if values else None


class MemoryWatch:
    """Report changes of a root at first, and whenever `touch` is called."""

    def __init__(self, root: Root | None = None) -> None:
        self._root = root or Root("", "/logs")
        self._changes: queue.Queue[Changes] = queue.Queue()
        self.touch()

    def touch(self) -> None:
        self._changes.put(Changes(roots=frozenset({self._root})))

    def wait(self, timeout_s: float = 1e9) -> Changes:
        return self._changes.get()

    def follow(self, root: Root, linked: frozenset[str]) -> None:
        pass

    def stop(self) -> None:
        self._changes.put(Changes())
