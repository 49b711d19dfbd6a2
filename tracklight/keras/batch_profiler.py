"""Profiles a range of batches."""

from __future__ import annotations

from contextlib import suppress

from tracklight.keras.options import BatchRange
from tracklight.profiler.framework_profilers import StepMarker, create_profiler
from tracklight.profiler.graph_capture import create_graph_capture
from tracklight.writer.warnings import ArgumentError


class BatchProfiler:
    """Records the batches of a range, each one marked as a step.

    A step lasts until the next begins, so that what a program waits for between two of its
    batches, such as data, is within a step and not lost between them.
    """

    def __init__(self, folder: str, backend: str, batches: BatchRange) -> None:
        self._folder = folder
        self._profiler = create_profiler(backend)
        self._marks = StepMarker(self._profiler)
        self._watch = create_graph_capture(backend)
        self._batches = batches
        #: The graphs of what ran; there when it is over.
        self.graphs: list[bytes] = []
        self.is_running = False
        self.has_finished = False

    @property
    def title(self) -> str:
        return f"batch_{self._batches.last}"

    def begin_batch(self, batch: int) -> None:
        """Called with the number of a batch, from 1 up, over all epochs."""
        if batch > self._batches.last:
            self.stop()
        elif batch >= self._batches.first and not self.has_finished:
            if not self.is_running:
                self._start()
            self._marks.begin(batch)

    def end_batch(self, batch: int) -> None:
        if batch >= self._batches.last:
            self.stop()

    def pause(self) -> None:
        """What comes now, such as an evaluation, is no part of the step before it."""
        self._marks.end()

    def stop(self) -> None:
        if not self.is_running:
            return
        self.is_running, self.has_finished = False, True
        self._marks.end()
        try:
            self._profiler.stop()
        finally:
            self.graphs = self._watch.stop()

    def _start(self) -> None:
        # It is not tried again if it fails: another part of the program may be profiling.
        self.has_finished = True
        self._profiler.start(self._folder)
        with suppress(ArgumentError):  # there is a profile without graphs, too
            self._watch.start()
        self.is_running, self.has_finished = True, False
