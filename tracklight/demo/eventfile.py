"""An event file that is written from start to end."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from tracklight.formats.event import (
    SessionStatus,
    encode_event,
    encode_file_version,
    encode_graph,
    encode_run_metadata,
    encode_session,
)
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import frame


class EventFile:
    """One event file of a run, named as other writers name theirs: by the time it was opened."""

    def __init__(self, run: Path, started: float) -> None:
        run.mkdir(parents=True, exist_ok=True)
        self._stream = (run / f"events.out.tfevents.{int(started):010d}.demo.1.0").open("xb")
        self._described: dict[bytes, bytes] = {}
        self._write(encode_file_version(started))

    def __enter__(self) -> EventFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def log(self, wall_time: float, step: int, *values: Message) -> None:
        """Log values; a later one of a tag keeps metadata only if that says something else."""
        for value in values:
            metadata = value.metadata.SerializeToString()
            if self._described.get(value.tag) == metadata:
                value.ClearField("metadata")
            self._described[value.tag] = metadata
        self._write(encode_event(wall_time, step, values))

    def log_graph(self, wall_time: float, graph: Message) -> None:
        self._write(encode_graph(wall_time, 0, graph))

    def log_run_metadata(self, wall_time: float, step: int, tag: str, metadata: Message) -> None:
        """Say what the operations of the run's graph took in one step."""
        self._write(encode_run_metadata(wall_time, step, tag, metadata))

    def log_restart(self, wall_time: float, step: int) -> None:
        """Say that training goes on at ``step``, so what was logged from there on is void."""
        self._write(encode_session(wall_time, step, SessionStatus.START))

    def _write(self, event: bytes) -> None:
        self._stream.write(frame(event))
