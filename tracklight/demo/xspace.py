"""Writes captures as TensorFlow's profiler does: hosts and devices, with events on their lines."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tracklight.formats.wire import DELIMITED, EIGHT_BYTES, VARINT, encode_varint

Told = int | float | str | bytes

_PS_PER_US = 1_000_000
_UINT64 = (1 << 64) - 1
#: Which field of a stat a value is in; texts stand in the table of names, as they come again.
_DOUBLE, _INT64, _BYTES, _REFERENCE = 2, 4, 6, 7


class _Event(NamedTuple):
    start_ps: int
    duration_ps: int
    name: int
    stats: bytes


class Line:
    """A thread of a host, or a stream of a device."""

    def __init__(self, plane: Plane, number: int, name: str) -> None:
        self.number, self.name, self.begins_ns = number, name, 0
        self._plane = plane
        self._events: list[_Event] = []

    def add(self, event: str, start_us: float, took_us: float, /, **told: Told) -> None:
        """Add an event, wherever in time; what is ``told`` of it goes by TensorFlow's names."""
        start, took = round(start_us * _PS_PER_US), round(took_us * _PS_PER_US)
        stats = b"".join(_block(4, stat) for stat in self._plane.encode_stats(told))
        self._events.append(_Event(start, took, self._plane.number_event(event), stats))

    def encode(self) -> bytes:
        events = sorted(self._events, key=lambda event: (event.start_ps, -event.duration_ps))
        head = _number(1, self.number) + _block(2, self.name.encode()) + _number(3, self.begins_ns)
        return head + b"".join(_block(4, _encode_event(event)) for event in events)


class Plane:
    """A host, a device, or what is known of the capture."""

    def __init__(self, name: str, /, **told: Told) -> None:
        self.name, self._told = name, told
        self._lines: list[Line] = []
        self._event_names: dict[str, int] = {}
        self._stat_names: dict[str, int] = {}

    def add_line(self, number: int, name: str) -> Line:
        self._lines.append(Line(self, number, name))
        return self._lines[-1]

    def number_event(self, name: str) -> int:
        return self._event_names.setdefault(name, len(self._event_names) + 1)

    def encode_stats(self, told: dict[str, Told]) -> Iterator[bytes]:
        for key, value in told.items():
            yield _number(1, self._number_stat(key)) + self._encode_value(value)

    def encode(self, number: int) -> bytes:
        stats = b"".join(_block(6, stat) for stat in self.encode_stats(self._told))
        lines = b"".join(_block(3, line.encode()) for line in self._lines)
        tables = ((4, self._event_names), (5, self._stat_names))
        names = b"".join(
            _block(table, _number(1, key) + _block(2, _number(1, key) + _block(2, name.encode())))
            for table, known in tables
            for name, key in known.items()
        )
        return _number(1, number) + _block(2, self.name.encode()) + lines + names + stats

    def _number_stat(self, name: str) -> int:
        return self._stat_names.setdefault(name, len(self._stat_names) + 1)

    def _encode_value(self, value: Told) -> bytes:
        if isinstance(value, str):
            return _number(_REFERENCE, self._number_stat(value))
        if isinstance(value, bytes):
            return _block(_BYTES, value)
        if isinstance(value, float):
            return encode_varint(_DOUBLE << 3 | EIGHT_BYTES) + struct.pack("<d", value)
        return _number(_INT64, value)


def encode_space(planes: list[Plane], host: str) -> bytes:
    parts = [_block(1, plane.encode(number)) for number, plane in enumerate(planes)]
    return b"".join([*parts, _block(4, host.encode())])


def _encode_event(event: _Event) -> bytes:
    times = _number(2, event.start_ps) + _number(3, event.duration_ps)
    return _number(1, event.name) + times + event.stats


def _number(field: int, value: int) -> bytes:
    return encode_varint(field << 3 | VARINT) + encode_varint(value & _UINT64)


def _block(field: int, content: bytes) -> bytes:
    return encode_varint(field << 3 | DELIMITED) + encode_varint(len(content)) + content
