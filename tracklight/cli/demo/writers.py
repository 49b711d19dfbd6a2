"""Write event files, and profiler captures in TensorFlow's XSpace format."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tracklight.formats.event import (
    SessionStatus,
    encode_event,
    encode_file_version,
    encode_graph,
    encode_run_metadata,
    encode_session_status,
)
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import encode_record
from tracklight.formats.wire_format import FIXED64, LENGTH_DELIMITED, VARINT, encode_varint


class EventFile:
    """An event file of a run with arbitrary wall times."""

    def __init__(self, run: Path, started: float) -> None:
        run.mkdir(parents=True, exist_ok=True)
        self._stream = (run / f"events.out.tfevents.{int(started):010d}.demo.1.0").open("xb")
        self._metadata: dict[bytes, bytes] = {}
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
        """Write values in one event; unchanged metadata is written only once per tag."""
        for value in values:
            metadata = value.metadata.SerializeToString()
            if self._metadata.get(value.tag) == metadata:
                value.ClearField("metadata")
            self._metadata[value.tag] = metadata
        self._write(encode_event(wall_time, step, values))

    def log_graph(self, wall_time: float, graph: Message) -> None:
        self._write(encode_graph(wall_time, 0, graph))

    def log_run_metadata(self, wall_time: float, step: int, tag: str, metadata: Message) -> None:
        """Write times and memory of the operations of the run's graph in one step."""
        self._write(encode_run_metadata(wall_time, step, tag, metadata))

    def log_restart(self, wall_time: float, step: int) -> None:
        """Write that training restarts at ``step``, which overwrites later values."""
        self._write(encode_session_status(wall_time, step, SessionStatus.START))

    def _write(self, event: bytes) -> None:
        self._stream.write(encode_record(event))


# --- XSpace: planes (hosts and devices) hold lines (threads and streams), which hold events. ---

StatValue = int | float | str | bytes

_PS_PER_US = 1_000_000
_UINT64 = (1 << 64) - 1
#: Fields of XStat by type of value. Strings are references to the table of stat names.
_DOUBLE, _INT64, _BYTES, _REFERENCE = 2, 4, 6, 7


class _Event(NamedTuple):
    start_ps: int
    duration_ps: int
    name: int
    stats: bytes


class Line:
    """A thread of a host or a stream of a device."""

    def __init__(self, plane: Plane, number: int, name: str) -> None:
        self.number, self.name, self.timestamp_ns = number, name, 0
        self._plane = plane
        self._events: list[_Event] = []

    def add(self, event: str, start_us: float, duration_us: float, /, **stats: StatValue) -> None:
        """Add an event, in any order; ``stats`` have the names that TensorFlow uses."""
        start_ps, duration_ps = round(start_us * _PS_PER_US), round(duration_us * _PS_PER_US)
        encoded = b"".join(_encode_bytes_field(4, stat) for stat in self._plane.encode_stats(stats))
        event_id = self._plane.get_event_id(event)
        self._events.append(_Event(start_ps, duration_ps, event_id, encoded))

    def encode(self) -> bytes:
        events = sorted(self._events, key=lambda event: (event.start_ps, -event.duration_ps))
        head = (
            _encode_int_field(1, self.number)
            + _encode_bytes_field(2, self.name.encode())
            + _encode_int_field(3, self.timestamp_ns)
        )
        return head + b"".join(_encode_bytes_field(4, _encode_xevent(event)) for event in events)


class Plane:
    """A host, a device, or the metadata of the capture."""

    def __init__(self, name: str, /, **stats: StatValue) -> None:
        self.name, self._stats = name, stats
        self._lines: list[Line] = []
        self._event_names: dict[str, int] = {}
        self._stat_names: dict[str, int] = {}

    def add_line(self, number: int, name: str) -> Line:
        self._lines.append(Line(self, number, name))
        return self._lines[-1]

    def get_event_id(self, name: str) -> int:
        return self._event_names.setdefault(name, len(self._event_names) + 1)

    def encode_stats(self, stats: dict[str, StatValue]) -> Iterator[bytes]:
        for key, value in stats.items():
            yield _encode_int_field(1, self._get_stat_id(key)) + self._encode_value(value)

    def encode(self, number: int) -> bytes:
        stats = b"".join(_encode_bytes_field(6, stat) for stat in self.encode_stats(self._stats))
        lines = b"".join(_encode_bytes_field(3, line.encode()) for line in self._lines)
        tables = ((4, self._event_names), (5, self._stat_names))
        names = b"".join(
            _encode_bytes_field(
                table,
                _encode_int_field(1, key)
                + _encode_bytes_field(
                    2, _encode_int_field(1, key) + _encode_bytes_field(2, name.encode())
                ),
            )
            for table, ids in tables
            for name, key in ids.items()
        )
        return (
            _encode_int_field(1, number)
            + _encode_bytes_field(2, self.name.encode())
            + lines
            + names
            + stats
        )

    def _get_stat_id(self, name: str) -> int:
        return self._stat_names.setdefault(name, len(self._stat_names) + 1)

    def _encode_value(self, value: StatValue) -> bytes:
        if isinstance(value, str):
            return _encode_int_field(_REFERENCE, self._get_stat_id(value))
        if isinstance(value, bytes):
            return _encode_bytes_field(_BYTES, value)
        if isinstance(value, float):
            return encode_varint(_DOUBLE << 3 | FIXED64) + struct.pack("<d", value)
        return _encode_int_field(_INT64, value)


def encode_space(planes: list[Plane], host: str) -> bytes:
    """Encode the planes of a host as an ``.xplane.pb`` file."""
    parts = [_encode_bytes_field(1, plane.encode(number)) for number, plane in enumerate(planes)]
    return b"".join([*parts, _encode_bytes_field(4, host.encode())])


def _encode_xevent(event: _Event) -> bytes:
    times = _encode_int_field(2, event.start_ps) + _encode_int_field(3, event.duration_ps)
    return _encode_int_field(1, event.name) + times + event.stats


def _encode_int_field(field: int, value: int) -> bytes:
    return encode_varint(field << 3 | VARINT) + encode_varint(value & _UINT64)


def _encode_bytes_field(field: int, content: bytes) -> bytes:
    return encode_varint(field << 3 | LENGTH_DELIMITED) + encode_varint(len(content)) + content
