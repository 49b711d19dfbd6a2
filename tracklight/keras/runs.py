"""The runs that a callback writes, and when they are the default ones."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress

from tracklight.sdk import state
from tracklight.summary import FileWriter, create_file_writer

TRAIN = "train"
VALIDATION = "validation"


class Runs:
    """Writers of the runs in a folder, made when there is something to log: no run is empty."""

    def __init__(self, log_dir: str, *, strict: bool) -> None:
        self._log_dir = log_dir
        self._strict = strict
        self._writers: dict[str, FileWriter] = {}
        # An evaluation may be inside of a training, whose default writer it hides for a while.
        self._defaults = {TRAIN: ExitStack(), VALIDATION: ExitStack()}

    def folder(self, run: str) -> str:
        return os.path.join(self._log_dir, run)

    def writer(self, run: str) -> FileWriter:
        if run not in self._writers:
            self._writers[run] = create_file_writer(self.folder(run), strict=self._strict)
        return self._writers[run]

    def set_default(self, run: str, step: int, *, every: int) -> None:
        """Let what the program itself logs go to this run, at this step, if it is due."""
        self.drop_default(run)
        defaults = self._defaults[run]
        defaults.enter_context(state.writer.holding(self.writer(run)))
        defaults.enter_context(state.step.holding(step))
        defaults.enter_context(state.condition.holding(step % every == 0))

    def drop_default(self, run: str) -> None:
        # A training that was interrupted leaves a default behind that belongs to another context.
        with suppress(ValueError):
            self._defaults[run].close()

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
