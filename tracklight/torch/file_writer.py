"""`FileWriter`: one event file of a `SummaryWriter`, for programs that log protobuf messages.

Events and summaries may be messages of ``tensorboard.compat.proto``, of TensorFlow or of
`tracklight.formats.proto`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.writer import as_step
from tracklight.writer.event_writer import EventWriter

DEFAULT_MAX_QUEUE = 10
DEFAULT_FLUSH_SECS = 120


class EventFileWriter(EventWriter):
    """An `EventWriter` with the methods of TensorBoard's class of this name."""

    def get_logdir(self) -> str:
        return self.logdir

    def add_event(self, event: Any) -> bool:
        """Log an ``Event`` message or its bytes."""
        return super().add_event(event if isinstance(event, bytes) else event.SerializeToString())

    def reopen(self) -> None:
        """Continue in a new file after `close`."""
        if self.is_closed:
            self._start_thread()
            self._open_file()


class FileWriter:
    """Append messages to a new event file.

    Args:
        log_dir: Directory of the run, or a URL.
        max_queue: Write to the file when this many records are buffered.
        flush_secs: Write to the file after this time.
        filename_suffix: Appended to the name of the event file.
        strict: Raise exceptions on misuse instead of warning.

    Example:
        >>> writer = tracklight.torch.FileWriter("runs/first")
        >>> writer.add_event(tracklight.formats.proto.Event(file_version=b"brain.Event:2"))
        >>> writer.close()
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = DEFAULT_MAX_QUEUE,
        flush_secs: float = DEFAULT_FLUSH_SECS,
        filename_suffix: str = "",
        *,
        strict: bool | None = None,
    ) -> None:
        # PyTorch's defaults are replaced by tracklight's, so that values appear after a second
        # instead of two minutes.
        self.event_writer = EventFileWriter(
            log_dir,
            max_queue=None if max_queue == DEFAULT_MAX_QUEUE else max_queue,
            flush_s=None if flush_secs == DEFAULT_FLUSH_SECS else flush_secs,
            filename_suffix=filename_suffix,
            strict=strict,
        )

    def get_logdir(self) -> str:
        return self.event_writer.logdir

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Log an ``Event`` message; ``step`` replaces its step unless it is None.

        Raises:
            UsageError: The step is not an int.
        """
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = as_step(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log a ``Summary`` message.

        Raises:
            UsageError: The step is not an int.
        """
        data = summary if isinstance(summary, bytes) else summary.SerializeToString()
        self.add_values(list(proto.parse("Summary", data).value), global_step, walltime)

    def add_values(
        self, values: list[Message], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log ``Summary.Value`` messages as one event, all with their metadata.

        Raises:
            UsageError: The step is not an int.
        """
        step = 0 if global_step is None else as_step(global_step, "global_step")
        self.event_writer.add(values, step, walltime, always_write_metadata=True)

    def add_later(
        self,
        build: Callable[[], Message],
        size_bytes: int,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a value that the writer thread builds; see `EventWriter.add_later`.

        Raises:
            UsageError: The step is not an int.
        """
        step = 0 if global_step is None else as_step(global_step, "global_step")
        self.event_writer.add_later(
            build, step, walltime, size_bytes=size_bytes, always_write_metadata=True
        )

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Log a ``GraphDef`` and the ``RunMetadata`` of one step."""
        graph, stats = graph_profile
        self.add_onnx_graph(graph, walltime)
        tagged = proto.TaggedRunMetadata(tag=b"step1", run_metadata=stats.SerializeToString())
        self.add_event(proto.Event(tagged_run_metadata=tagged), walltime=walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Log a ``GraphDef``."""
        event = proto.Event(graph_def=graph.SerializeToString())
        self.add_event(event, walltime=walltime)

    def flush(self) -> None:
        """Wait until all records are in the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write all records and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continue in a new file after `close`."""
        self.event_writer.reopen()
