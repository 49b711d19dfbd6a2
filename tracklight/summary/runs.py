"""`tracklight.run`: log a run with hyperparameters, values and its outcome.

    with tracklight.run("logs/exp", config={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"loss": loss, "accuracy": accuracy}, step)

A run records its hyperparameters, its environment and how it ended. While it is open, the functions
of `tracklight.summary` log to it as well.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tracklight import summary
from tracklight.formats.hparams import (
    RunEnd,
    Status,
    build_run_end,
    build_run_start,
    iter_flattened,
)
from tracklight.hparams.session import log_hparams, log_session_end
from tracklight.summary import FileWriter
from tracklight.writer import event_writer, warnings
from tracklight.writer.warnings import is_tracing, skip_autograph

__all__ = ["Audio", "Histogram", "Image", "Run", "Text", "run"]

_SUMMARY_PREFIX = "summary/"
_MAX_ERROR_CHARS = 500
#: The methods of a writer that log.
_LOGGING_METHODS = ("scalar", "simple", "double", "add", "add_later", "add_event")

V = TypeVar("V", bound="_Value")


@dataclass(frozen=True, eq=False)
class _Value:
    """A value for `Run.log` of an explicit type."""

    data: Any

    def map_data(self: V, function: Callable[[Any], Any]) -> V:
        """Return a copy with ``function(data)`` as its data."""
        return replace(self, data=function(self.data))


@dataclass(frozen=True, eq=False)
class Image(_Value):
    """One or more images for `Run.log`.

    Args:
        data: An array, a PIL image, a Matplotlib figure, the bytes of a file, or a list of these.
        caption: A description in Markdown.
        max_outputs: Maximum number of images to log.

    Example:
        >>> run.log({"sample": tracklight.Image(pixels, caption="epoch 1")})
    """

    caption: str | None = None
    max_outputs: int = 3


@dataclass(frozen=True, eq=False)
class Histogram(_Value):
    """The distribution of numbers for `Run.log`.

    Args:
        data: Numbers of any shape.
        buckets: The number of buckets; 30 by default.
    """

    buckets: int | None = None


@dataclass(frozen=True, eq=False)
class Text(_Value):
    """A Markdown string, or an array of strings, for `Run.log`."""


@dataclass(frozen=True, eq=False)
class Audio(_Value):
    """One or more audio clips for `Run.log`.

    Args:
        data: Floats in [-1, 1] of [frames] or [k, frames, channels], or the bytes of a WAV file.
        sample_rate: Samples per second.
        caption: A description in Markdown.
        max_outputs: Maximum number of clips to log.
    """

    sample_rate: int = 44100
    caption: str | None = None
    max_outputs: int = 3


class Config(dict[str, Any]):
    """The hyperparameters of a run: a dict whose keys are also attributes.

    They are written with the first value that the run logs, and can be changed until then.

    Args:
        values: The initial hyperparameters.
        on_change: Called after each change.
        strict: Raise exceptions on misuse instead of warning.

    Example:
        >>> run.config.lr = 0.1
        >>> run.config["lr"]
        0.1
    """

    def __init__(
        self, values: Mapping[str, Any], on_change: Callable[[], None], *, strict: bool
    ) -> None:
        super().__init__(values)
        # Not as attributes: `__setattr__` sets hyperparameters.
        self.__dict__.update(_on_change=on_change, _is_strict=strict)

    def update(self, *values: Any, allow_val_change: bool | None = None, **named: Any) -> None:
        """Add or change hyperparameters.

        Args:
            *values: Mappings or ``argparse.Namespace`` objects.
            allow_val_change: Ignored; accepted for compatibility with W&B.
            **named: Hyperparameters by name.

        Example:
            >>> run.config.update({"lr": 0.1}, batch_size=32)
        """
        mappings = [vars(item) if isinstance(item, Namespace) else item for item in values]
        before = dict(self)
        with warnings.catch_errors("run.config.update()", strict=self._is_strict):
            super().update(*mappings, **named)
        if self != before:
            self._on_change()

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return a hyperparameter, after setting it to ``default`` if it is not set yet."""
        if name not in self:
            self[name] = default
        return self[name]

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Add the hyperparameters that are not set yet."""
        self.update({name: value for name, value in values.items() if name not in self})

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f'the run has no hyperparameter "{name}"') from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Summary(MutableMapping[str, Any]):
    """Results of a run by name: the last value of each scalar, and values set by the program.

    Setting ``summary["best"]`` logs the value under the tag ``summary/best``.
    """

    def __init__(self, log: Callable[[str, Any], object]) -> None:
        self._log = log
        self._values: dict[str, Any] = {}
        self._is_set: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._is_set.add(name)
        self._values[name] = value
        self._log(f"{_SUMMARY_PREFIX}{name}", value)

    def __delitem__(self, name: str) -> None:
        """Remove a value from the summary. It stays in the log."""
        del self._values[name]
        self._is_set.discard(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def record(self, name: str, value: float) -> None:
        """Record the last value of a scalar, unless the program has set the name explicitly."""
        if name not in self._is_set:
            self._values[name] = value


class Run:
    """A run that is being logged; created by `run`.

    Attributes:
        writer: The event writer of the run.
        summary: Results of the run by name.

    Example:
        >>> with tracklight.run("logs/exp", config={"lr": 0.1}) as run:
        ...     run.log({"loss": 0.5}, step=0)
        ...     run.summary["best accuracy"] = 0.97
        True
    """

    def __init__(
        self, writer: FileWriter, config: Mapping[str, Any], name: str, trial_id: str | None
    ) -> None:
        self.writer = writer
        self.summary = Summary(self._log_result)
        self._config = Config(config, self._on_config_change, strict=writer.strict)
        self._name = name
        self._trial_id = trial_id
        self._next_step = 0
        self._lock = threading.Lock()
        self._has_records = False
        self._is_config_written = False
        self._location = warnings.get_user_location()
        self._recorders: list[Callable[[], None]] = []
        """Called at the end of the run."""

    @property
    def path(self) -> str:
        """The directory of the run."""
        return self.writer.logdir

    @property
    def name(self) -> str:
        """Name of the run: its directory below the log directory."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        with self._catch_errors("run.name"):
            warnings.warn_or_raise(
                "name", "is the directory of the run and cannot be changed; use run(…, name=…)"
            )

    @property
    def config(self) -> Config:
        """The hyperparameters. They can be changed until the first value is logged."""
        return self._config

    @config.setter
    def config(self, values: Mapping[str, Any]) -> None:
        self._config.update(values)

    @skip_autograph
    def log(self, values: Mapping[str, Any], step: int | None = None, commit: bool = True) -> bool:
        """Log values by name. Values in nested dicts are named ``outer/inner``.

        The type decides how a value is logged: numbers as scalars, strings as text, PIL images,
        Matplotlib figures and uint8 arrays with two to four dimensions as images, other arrays as
        histograms. Wrap a value in `Image`, `Histogram`, `Text` or `Audio` to choose explicitly.

        Args:
            values: The values by name.
            step: The step; by default the step after the last call.
            commit: Advance the default step. Pass False to log more values at the same step.

        Returns:
            Whether all values were accepted.

        Raises:
            UsageError: A value or the step is invalid and the run is strict. Otherwise a warning
                is issued.

        Example:
            >>> run.log({"loss": 0.5, "val": {"accuracy": 0.9}}, step=10)
            True
        """
        if is_tracing():
            from tracklight.writer.tf_function import call_when_run

            with event_writer.writer.override(self.writer):
                return call_when_run(self.log, "run.log()", values, step, commit)
        accepted = False
        with self._catch_errors("run.log()"):
            current_step = self._next_step if step is None else step
            accepted = self._log_all(iter_flattened(_check_mapping(values)), current_step)
            # An invalid step has already caused a warning.
            with suppress(TypeError, ValueError, OverflowError):
                self._next_step = int(current_step) + (1 if commit else 0)
        return accepted

    def finish(self, failed: bool = False) -> None:
        """Record how the run ended and close its file. Further calls do nothing.

        Args:
            failed: Record the run as failed.

        Example:
            >>> run = tracklight.run("logs/first")
            >>> run.log({"loss": 0.5})
            True
            >>> run.finish()
        """
        self._finish(failed, None)

    def _finish(self, failed: bool, error: BaseException | None) -> None:
        atexit.unregister(self._finish_at_exit)
        while self._recorders:
            self._recorders.pop()()
        if not self.writer.is_closed:
            self._write_config()
            end = RunEnd(failed, _describe_exception(error), time.time())
            self.writer.add([build_run_end(end)], 0)
            log_session_end(self.writer, Status.FAILURE if failed else Status.SUCCESS)
            self.writer.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        self._finish(kind is not None, error)

    def _catch_errors(self, call: str) -> warnings.catch_errors:
        return warnings.catch_errors(call, strict=self.writer.strict)

    def _log_all(self, values: Iterable[tuple[str, Any]], step: int) -> bool:
        accepted = True
        with event_writer.writer.override(self.writer):
            for name, value in values:
                is_logged = _log_value(name, value, step)
                if is_logged and _find_kind(value) is None:
                    self._record_scalar(name, value)
                accepted &= is_logged
        return accepted

    def _record_scalar(self, name: str, value: Any) -> None:
        from tracklight.writer import as_number

        is_number = isinstance(value, (int, float))
        self.summary.record(name, value if is_number else as_number(value))

    def _log_result(self, name: str, value: Any) -> None:
        with self._catch_errors("run.summary"), event_writer.writer.override(self.writer):
            step = max(0, self._next_step - 1)
            for tag, leaf in iter_flattened({name: value}):
                _log_value(tag, leaf, step)

    def _start_recording(self, *, console: bool, system_metrics: bool) -> None:
        with self._catch_errors("run"):
            if console:
                from tracklight.profiler.process import ConsoleCapture

                self._recorders.append(ConsoleCapture(self.path).stop)
            if system_metrics:
                from tracklight.profiler.process import SystemMetricsLogger

                metrics = SystemMetricsLogger(self.path, strict=self.writer.strict)
                metrics.start()
                self._recorders.append(metrics.stop)

    def _defer_config(self) -> None:
        """Write the hyperparameters just before the first record of the program.

        Readers use the first record of hyperparameters, so it is delayed to allow changes.
        """

        def make_wrapper(method: str) -> Callable[..., Any]:
            def write_config_first(*arguments: Any, **named: Any) -> Any:
                self._write_config()
                return getattr(self.writer, method)(*arguments, **named)

            return write_config_first

        for method in _LOGGING_METHODS:
            setattr(self.writer, method, make_wrapper(method))

    def _write_config(self) -> None:
        with self._lock:
            if self._is_config_written:
                return
            for method in _LOGGING_METHODS:
                self.writer.__dict__.pop(method, None)
            self._has_records = True
            values = {name: _as_plain(value) for name, value in iter_flattened(self._config)}
            if not values:
                return
            self._is_config_written = True
            with warnings.warn_at(self._location):
                log_hparams(self.writer, values, self._trial_id)

    def _on_config_change(self) -> None:
        if self._is_config_written:
            with self._catch_errors("run.config"):
                problem = "was changed after the first value was logged; the log keeps the old one"
                warnings.warn_or_raise("config", problem)
        elif self._has_records:
            self._write_config()

    def _finish_at_exit(self) -> None:
        # Set by the interpreter after an uncaught exception.
        error = getattr(sys, "last_value", None)
        self._finish(error is not None, error)


def run(
    logdir: str | os.PathLike[str],
    config: Mapping[str, Any] | Namespace | None = None,
    *,
    name: str | None = None,
    timestamp: bool = False,
    trial_id: str | None = None,
    save_code: bool = False,
    console: bool = False,
    system_metrics: bool = False,
    strict: bool | None = None,
) -> Run:
    """Start a run and make it the default writer of `tracklight.summary`.

    The run is the directory ``logdir``, or one below it if there is a name, a timestamp or both.
    Its environment (command, host, user, versions, git revision and so on) is logged as the text
    ``run/environment`` and shown in the Runs dashboard. The run ends with `Run.finish`, with its
    ``with`` block, or at exit.

    Args:
        logdir: The log directory, or a URL such as ``s3://bucket/logs``.
        config: The hyperparameters; nested ones get names such as ``optimizer/lr``.
        name: Name of the run.
        timestamp: Append the current time to the name.
        trial_id: Runs with the same id are shown as one trial.
        save_code: Log the program's main file as the text ``run/source``, and the difference to the
            git commit as ``run/diff``.
        console: Copy what the program prints to ``console.log`` in the directory of the run.
        system_metrics: Log CPU, memory, disk, network and GPU use as scalars ``system/…`` once a
            second; needs the extra ``system``.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.

    Returns:
        The run.

    Raises:
        OSError: The event file cannot be created, and ``strict`` is set.

    Example:
        >>> with tracklight.run("logs", config={"lr": 0.1}, name="baseline") as run:
        ...     run.log({"loss": 0.5})
        True
    """
    stamp = time.strftime("%Y%m%d-%H%M%S") if timestamp else None
    subdirectory = "-".join(part for part in (name, stamp) if part)
    run_dir = os.path.join(os.fspath(logdir), subdirectory) if subdirectory else logdir
    writer = summary.create_file_writer(run_dir, strict=strict)
    writer.set_as_default()
    values = vars(config) if isinstance(config, Namespace) else config or {}
    run_name = subdirectory or os.path.basename(os.path.normpath(writer.logdir))
    new_run = Run(writer, values, run_name, trial_id)
    _log_environment(new_run, save_code=save_code)
    new_run._defer_config()
    new_run._start_recording(console=console, system_metrics=system_metrics)
    atexit.register(new_run._finish_at_exit)
    return new_run


def _log_environment(new_run: Run, *, save_code: bool) -> None:
    with warnings.catch_errors("run", strict=new_run.writer.strict):
        from tracklight.profiler.process import (
            collect_run_start,
            describe_environment,
            read_git_diff,
            read_main_source,
        )

        start = collect_run_start()
        new_run.writer.add([build_run_start(start)], 0)
        summary.text("run/environment", describe_environment(start), step=0)
        source = read_main_source() if save_code else None
        if source is not None:
            summary.text("run/source", source, step=0)
        diff = read_git_diff() if save_code and start.git_commit.endswith("+") else None
        if diff is not None:
            summary.text("run/diff", diff, step=0)


def _describe_exception(error: BaseException | None) -> str:
    """Return the last line of a traceback, shortened; empty without an exception."""
    if error is None:
        return ""
    import traceback

    line = traceback.format_exception_only(type(error), error)[-1].strip()
    return line[:_MAX_ERROR_CHARS]


def _check_mapping(values: object) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        raise warnings.ArgumentError("values", f"must be a dict of values by name, not a {kind}")
    return values


def _find_kind(value: Any) -> type[_Value] | None:
    """Return the class for the type of a value; None for a scalar."""
    if isinstance(value, (float, int)):
        return None
    if isinstance(value, _Value):
        return type(value)
    if isinstance(value, str):
        return Text
    if isinstance(value, (list, tuple)) and value:
        kinds = {_find_kind(item) for item in value}
        return kinds.pop() if kinds <= {Image} or kinds <= {Text} else None
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _find_array_kind(value)
    from tracklight.writer.media import is_image

    return Image if is_image(value) else None


def _find_array_kind(array: Any) -> type[_Value] | None:
    shape = tuple(array.shape)
    kind = getattr(array.dtype, "name", str(array.dtype))
    if kind.startswith(("str", "object", "bytes")):
        return Text
    if math.prod(shape) <= 1:
        return None
    return Image if "uint8" in kind and 2 <= len(shape) <= 4 else Histogram


def _log_value(name: str, value: Any, step: int) -> bool:
    kind = _find_kind(value)
    if kind is None:
        return summary.scalar(name, value, step)
    value = _wrap(kind, value)
    if isinstance(value, Image):
        return summary.image(
            name, value.data, step, max_outputs=value.max_outputs, description=value.caption
        )
    if isinstance(value, Histogram):
        return summary.histogram(name, value.data, step, buckets=value.buckets)
    if isinstance(value, Audio):
        return summary.audio(
            name,
            value.data,
            value.sample_rate,
            step,
            max_outputs=value.max_outputs,
            description=value.caption,
        )
    return summary.text(name, value.data, step)


def _wrap(kind: type[_Value], value: Any) -> _Value:
    """Wrap a value in the class of its type. A list of images becomes one `Image`."""
    if isinstance(value, _Value):
        return value
    if kind is not Image or not isinstance(value, (list, tuple)):
        return kind(value)
    images = [item if isinstance(item, Image) else Image(item) for item in value]
    captions = [image.caption for image in images if image.caption]
    caption = "\n\n".join(captions) or None
    return Image([image.data for image in images], caption, max_outputs=len(images))


def _as_plain(value: Any) -> Any:
    """Convert lists and None to strings: hyperparameters are bools, numbers or strings."""
    return str(value) if value is None or isinstance(value, (list, tuple, set)) else value
