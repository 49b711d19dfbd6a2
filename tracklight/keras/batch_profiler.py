"""Profile a range of training batches."""

from __future__ import annotations

from contextlib import suppress

from tracklight.keras.options import BatchRange
from tracklight.profiler.framework_profilers import StepMarker, create_profiler
from tracklight.profiler.graph_capture import create_graph_capture
from tracklight.writer.warnings import ArgumentError


class BatchProfiler:
    """Records a range of batches, each marked as a step.

    A step lasts until the next one begins, so that it includes the time spent waiting for data.

    Args:
        run_dir: Directory of the run.
        backend: The backend of Keras.
        batches: The batches to record.

    Attributes:
        graphs: Serialized graphs of the functions that ran, once the range has ended.
    """

    def __init__(self, run_dir: str, backend: str, batches: BatchRange) -> None:
        self._run_dir = run_dir
        self._profiler = create_profiler(backend)
        self._step_marker = StepMarker(self._profiler)
        self._graph_capture = create_graph_capture(backend)
        self._batches = batches
        self.graphs: list[bytes] = []
        self.is_running = False
        self.has_finished = False

    @property
    def title(self) -> str:
        return f"batch_{self._batches.last}"

    def begin_batch(self, batch: int) -> None:
        """Handle the begin of a batch, counted from 1 over all epochs."""
        if batch > self._batches.last:
            self.stop()
        elif batch >= self._batches.first and not self.has_finished:
            if not self.is_running:
                self._start()
            self._step_marker.begin(batch)

    def end_batch(self, batch: int) -> None:
        if batch >= self._batches.last:
            self.stop()

    def pause(self) -> None:
        """End the current step, so that it does not include an evaluation."""
        self._step_marker.end()

    def stop(self) -> None:
        if not self.is_running:
            return
        self.is_running, self.has_finished = False, True
        self._step_marker.end()
        try:
            self._profiler.stop()
        finally:
            self.graphs = self._graph_capture.stop()

    def _start(self) -> None:
        # Not retried after a failure: another part of the program may be profiling.
        self.has_finished = True
        self._profiler.start(self._run_dir)
        with suppress(ArgumentError):  # record the profile without graphs
            self._graph_capture.start()
        self.is_running, self.has_finished = True, False
