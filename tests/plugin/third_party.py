"""A third-party dashboard that uses every part of the plugin API; the tests install it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from tracklight.plugin import (
    Blob,
    Context,
    Curve,
    Dashboard,
    Empty,
    FileKind,
    JobProgress,
    Jobs,
    Route,
    SeriesQuery,
    Smoothing,
    UsageError,
    make_job_key,
)


class MeanRequest(msgspec.Struct, forbid_unknown_fields=True):
    tag: str
    smoothing: float = 0.0


class Means(msgspec.Struct):
    runs: list[str]
    values: Any


class JobStatus(msgspec.Struct):
    state: str
    total: float | None


class Note(msgspec.Struct):
    id: str
    text: str = ""


def mean(curve: Curve) -> float:
    """A view: called for every series after axis, smoothing and baseline."""
    return float(np.mean(curve.smoothed))


class Everything(Dashboard):
    name: ClassVar[str] = "everything"
    title: ClassVar[str] = "Everything"
    plugins: ClassVar[Sequence[str]] = ("scalars",)
    files: ClassVar[Sequence[FileKind]] = ("settings",)
    web_dir: ClassVar[Path | None] = None  # set by the tests

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.prepared = threading.Event()
        self.is_closed = False
        self._jobs: Jobs[float] = Jobs()
        self._notes: dict[str, str] = {}
        instances.append(self)

    def routes(self) -> Sequence[Route]:
        return [
            Route("mean", MeanRequest, self.mean),
            Route("total", MeanRequest, self.total),
            Route("notes/{id}", Note, self.set_note, "PUT", mutates=True),
            Route("notes", Empty, self.list_notes, "GET", etag=self.context.cursor),
            Route("runs.txt", Empty, self.list_runs, "GET", immutable=lambda _: True),
        ]

    def prepare(self) -> None:
        assert self.context.log.runs(), "the log has been read"
        self.prepared.set()

    def close(self) -> None:
        self._jobs.close()
        self.is_closed = True

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        for tag in self.context.scalar_tags():
            yield f"mean?tag={tag}", self.mean(MeanRequest(tag))
        yield "runs.txt", self.list_runs(Empty())

    def mean(self, request: MeanRequest) -> Means:
        """The mean of a scalar in every run that has it."""
        runs = list(self.context.runs_with(request.tag))
        if not runs:
            raise UsageError(f'no run has the scalar "{request.tag}"')
        smoothing = Smoothing("ema", request.smoothing) if request.smoothing else None
        keys = [(run, request.tag) for run in runs]
        values = self.context.log.query(keys, SeriesQuery(smoothing=smoothing), mean)
        return Means(runs, np.array(values))

    def total(self, request: MeanRequest) -> JobStatus:
        """The sum of all means, as a background job."""

        def compute(progress: JobProgress) -> float:
            progress.step("adding", 0, 1)
            return float(np.sum(self.mean(request).values))

        job = self._jobs.start(make_job_key(request), compute)
        return JobStatus(job.state, job.result)

    def set_note(self, note: Note) -> Empty:
        """Set a note."""
        self._notes[note.id] = note.text
        return Empty()

    def list_notes(self, _: Empty) -> dict[str, str]:
        """All notes."""
        return self._notes

    def list_runs(self, _: Empty) -> Blob:
        """The names of all runs."""
        names = "\n".join(run.name for run in self.context.log.runs())
        return Blob(names.encode(), "text/plain")


class Failing(Everything):
    """Everything that may fail, fails."""

    name: ClassVar[str] = "failing"

    def prepare(self) -> None:
        raise RuntimeError("cannot prepare")

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        yield "runs.txt", self.list_runs(Empty())
        raise RuntimeError("cannot export")


#: The instances that servers and exports have created, for the tests.
instances: list[Everything] = []
