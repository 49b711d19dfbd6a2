"""The short way to log a run.

    with tracklight.run("logs/exp", config={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"loss": loss, "accuracy": accuracy}, step)

A run notes its hyperparameters, its source and its surroundings by itself, and how it ended. While
it is open, everything in `tracklight.summary` logs to it.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tracklight import hparams, summary
from tracklight.formats.hparams import Status
from tracklight.sdk import lenient, state
from tracklight.sdk.sessions import log_session_end
from tracklight.summary import FileWriter

__all__ = ["Run", "run"]


class Run:
    """A run that is being logged; made by `run`."""

    def __init__(self, writer: FileWriter, config: Mapping[str, Any]) -> None:
        self.writer = writer
        self.config = dict(config)
        self._next_step = 0

    @property
    def path(self) -> str:
        """The folder of the run."""
        return self.writer.logdir

    def log(self, values: Mapping[str, Any], step: int | None = None) -> bool:
        """Log scalars by name, those in nested dicts as ``outer/inner``.

        Without a step, each call is one step after the last.
        """
        step = self._next_step if step is None else step
        accepted = True
        with state.writer.holding(self.writer):
            for name, value in _flatten(values, "/"):
                accepted &= summary.scalar(name, value, step=step)
        if isinstance(step, int):
            self._next_step = step + 1
        return accepted

    def finish(self, failed: bool = False) -> None:
        """Note how the run ended, and close its file. Called twice, it does nothing more."""
        atexit.unregister(self._finish_at_exit)
        if not self.writer.is_closed:
            log_session_end(self.writer, Status.FAILURE if failed else Status.SUCCESS)
            self.writer.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.finish(failed=kind is not None)

    def _finish_at_exit(self) -> None:
        # What the interpreter remembers of an exception that nobody caught.
        self.finish(failed=getattr(sys, "last_value", None) is not None)


def run(
    logdir: str | os.PathLike[str],
    config: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    timestamp: bool = False,
    trial_id: str | None = None,
    note_source: bool = True,
    strict: bool | None = None,
) -> Run:
    """Start a run in ``logdir``, or in a folder below it: ``name``, a timestamp, or both.

    ``config`` are its hyperparameters; nested dicts become names with dots. Runs of one
    ``trial_id`` are shown as one. ``note_source`` logs the program's main file as a text.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S") if timestamp else None
    below = "-".join(part for part in (name, stamp) if part)
    folder = os.path.join(os.fspath(logdir), below) if below else logdir
    writer = summary.create_file_writer(folder, strict=strict)
    writer.set_as_default()
    started = Run(writer, config or {})
    _take_notes(started, trial_id, note_source)
    atexit.register(started._finish_at_exit)
    return started


def _take_notes(started: Run, trial_id: str | None, note_source: bool) -> None:
    with lenient.guard("run", strict=started.writer.strict):
        if started.config:
            hparams.hparams(dict(_flatten(started.config, ".")), trial_id)
        from tracklight.sdk.surroundings import describe_surroundings, read_source

        summary.text("run/surroundings", describe_surroundings(), step=0)
        source = read_source() if note_source else None
        if source is not None:
            summary.text("run/source", source, step=0)


def _flatten(values: Mapping[str, Any], separator: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            for inner, leaf in _flatten(value, separator):
                yield f"{name}{separator}{inner}", leaf
        else:
            yield name, value
