"""The files of a run: how they are opened, written to and closed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from tracklight.formats import proto
from tracklight.formats.event import FILE_VERSION, SessionStatus
from tracklight.formats.proto import Message
from tracklight.sdk import lenient
from tracklight.sdk.arrays import as_step
from tracklight.sdk.names import as_name
from tracklight.torch.files import FLUSH_S, MAX_QUEUE, FileWriter

Self = TypeVar("Self", bound="RunWriter")


class RunWriter:
    """A run's own event file, and those of the runs below it that belong to it."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = MAX_QUEUE,
        flush_secs: float = FLUSH_S,
        filename_suffix: str = "",
        *,
        strict: bool | None = None,
    ) -> None:
        self.log_dir = log_dir or _name_run(comment)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._strict = lenient.is_strict() if strict is None else strict
        self._get_file_writer()

    def get_logdir(self) -> str | os.PathLike[str]:
        return self.log_dir

    def flush(self) -> None:
        """Wait until all that was logged is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all and end; what is logged later goes to a new file."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None
        self._log_simple = self._log_simple_again

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _add(
        self,
        method: str,
        tag: Any,
        global_step: Any,
        walltime: float | None,
        build: Callable[..., Message | list[Message]],
        *given: Any,
    ) -> None:
        with self._guard(method, tag):
            built = build(as_name(tag, "tag"), *given)
            messages = built if isinstance(built, list) else [built]
            self._get_file_writer().add_values(messages, global_step, walltime)

    def _guard(self, method: str, what: object) -> lenient.guard:
        return lenient.guard(f"{method}({what!r:.100})", strict=self._strict)

    def _get_file_writer(self) -> FileWriter:
        """The writer of this run's own file; after `close`, one of a new file."""
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            self._log_simple = self.file_writer.event_writer.simple
            self._hide_purged(self.file_writer)
        return self.file_writer

    def _get_sub_writer(self, name: str) -> FileWriter:
        folder = f"{self._get_file_writer().get_logdir()}/{name}"
        writers = self.all_writers or {}
        if folder not in writers:
            writers[folder] = self._open(folder)
        return writers[folder]

    def _open(self, folder: str | os.PathLike[str]) -> FileWriter:
        queue = self.max_queue, self.flush_secs
        return FileWriter(folder, *queue, self.filename_suffix, strict=self._strict)

    def _hide_purged(self, writer: FileWriter) -> None:
        if self.purge_step is None:
            return
        step, self.purge_step = as_step(self.purge_step, "purge_step"), None
        start = proto.SessionLog(status=SessionStatus.START)
        writer.add_event(proto.Event(file_version=FILE_VERSION), step)
        writer.add_event(proto.Event(session_log=start), step)

    def _log_simple_again(
        self, tag: str, value: float, step: int, wall_time: float | None = None
    ) -> bool:
        """The first scalar after `close`."""
        return self._get_file_writer().event_writer.simple(tag, value, step, wall_time)


def _name_run(comment: str) -> str:
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
