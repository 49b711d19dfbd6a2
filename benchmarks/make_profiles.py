"""Large captures: copies of a small real one, shifted in time.

Step numbers, launch ids and flow ids continue across copies, so that profiling tools find all
steps.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.make_logs import get_log
from tracklight.formats.proto import LENGTH_DELIMITED, VARINT, Field, iter_fields

_DATA = Path(__file__).parent.parent / "tests" / "data" / "profile"
#: Field numbers of the XSpace messages.
_PLANE, _LINE, _STAT_NAME, _EVENT, _OFFSET, _STAT = 1, 3, 5, 4, 2, 4
_KEY, _VALUE, _NAME = 1, 2, 2
_NUMBERS = (3, 4)
_COUNTED = (b"correlation_id", b"step_num", b"_p", b"_c", b"run_id", b"group_id")
_FAR = 1_000_000


def get_xplane(copies: int, *, name: str = "jax_bf16") -> Path:
    """Return a capture of JAX on a GPU; four steps per copy."""
    return get_log(f"profile-{name}-{copies}", lambda folder: _write_xplane(folder, name, copies))


def get_kineto(copies: int, *, name: str = "tcpu") -> Path:
    """Return an unpacked capture of PyTorch with stacks; three steps per copy."""
    return get_log(f"profile-{name}-{copies}", lambda folder: _write_kineto(folder, name, copies))


def get_file(folder: Path) -> Path:
    """Return the only file of a capture."""
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    return path


def _write_xplane(folder: Path, name: str, copies: int) -> None:
    data = (_DATA / f"{name}.xplane.pb").read_bytes()
    target = folder / "run" / "plugins" / "profile" / "2026_01_01_00_00_00" / "vm.xplane.pb"
    target.parent.mkdir(parents=True)
    period_ps = _get_end_ps(data) + 1_000_000
    with target.open("wb") as file:
        for field in iter_fields(data, 0, len(data)):
            content = data[field.start : field.end]
            if field.number == _PLANE:
                content = b"".join(_iter_plane(content, copies, period_ps))
            file.write(_delimited(field.number, content))


def _get_end_ps(data: bytes) -> int:
    """Return the end of the last line."""
    offsets = [0]
    for plane in _iter_inside(data, _PLANE):
        for line in _iter_inside(plane, _LINE):
            for event in _iter_inside(line, _EVENT):
                offsets += [f.value for f in iter_fields(event, 0, len(event)) if f.number == 2]
                offsets += [f.value for f in iter_fields(event, 0, len(event)) if f.number == 3]
    return 2 * max(offsets)


def _iter_inside(data: bytes, number: int) -> Iterator[bytes]:
    for field in iter_fields(data, 0, len(data)):
        if field.number == number and field.wire_type == LENGTH_DELIMITED:
            yield data[field.start : field.end]


def _iter_plane(plane: bytes, copies: int, period_ps: int) -> Iterator[bytes]:
    counted = frozenset(_iter_counted(plane))
    for field in iter_fields(plane, 0, len(plane)):
        content = plane[field.start : field.end]
        if field.number != _LINE:
            yield _encode(field, content)
            continue
        yield _delimited(_LINE, b"".join(_iter_line(content, copies, period_ps, counted)))


def _iter_counted(plane: bytes) -> Iterator[int]:
    """Yield the stats that identify steps, launches and flows."""
    for entry in _iter_inside(plane, _STAT_NAME):
        fields = {field.number: field for field in iter_fields(entry, 0, len(entry))}
        if _VALUE in fields and _KEY in fields:
            (name,) = [*_iter_inside(entry[fields[2].start : fields[2].end], _NAME)] or [b""]
            if name in _COUNTED:
                yield fields[_KEY].value


def _iter_line(
    line: bytes, copies: int, period_ps: int, counted: frozenset[int]
) -> Iterator[bytes]:
    events = [*_iter_inside(line, _EVENT)]
    for field in iter_fields(line, 0, len(line)):
        if field.number != _EVENT:
            yield _encode(field, line[field.start : field.end])
    for copy in range(copies):
        for event in events:
            yield _delimited(_EVENT, _move(event, copy, period_ps, counted))


def _move(event: bytes, copy: int, period_ps: int, counted: frozenset[int]) -> bytes:
    parts = []
    offset = 0
    for field in iter_fields(event, 0, len(event)):
        content = event[field.start : field.end]
        if field.number == _OFFSET:
            offset = field.value
        elif field.number == _STAT:
            parts.append(_delimited(_STAT, _count_on(content, copy, counted)))
        else:
            parts.append(_encode(field, content))
    return b"".join([_number(_OFFSET, offset + copy * period_ps), *parts])


def _count_on(stat: bytes, copy: int, counted: frozenset[int]) -> bytes:
    fields = [*iter_fields(stat, 0, len(stat))]
    if not any(field.number == _KEY and field.value in counted for field in fields):
        return stat
    return b"".join(
        _number(field.number, field.value + copy * _FAR)
        if field.number in _NUMBERS
        else _encode(field, stat[field.start : field.end])
        for field in fields
    )


def _encode(field: Field, content: bytes) -> bytes:
    if field.wire_type == VARINT:
        return _number(field.number, field.value)
    if field.wire_type == LENGTH_DELIMITED:
        return _delimited(field.number, content)
    return _varint(field.number << 3 | field.wire_type) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | VARINT) + _varint(value)


def _delimited(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _write_kineto(folder: Path, name: str, copies: int) -> None:
    capture: dict[str, Any] = msgspec.json.decode(
        gzip.decompress((_DATA / f"{name}.pt.trace.json.gz").read_bytes())
    )
    events = capture.pop("traceEvents")
    timed = [event for event in events if event.get("ph") == "X"]
    period_us = max(e["ts"] + e["dur"] for e in timed) - min(e["ts"] for e in timed) + 100
    folder.mkdir(parents=True)
    head = msgspec.json.encode(capture)[:-1]
    with (folder / "worker.1790000000000000000.pt.trace.json").open("wb") as file:
        file.write(head + b',"traceEvents":[')
        for copy in range(copies):
            later = [_delay(event, copy, period_us) for event in events]
            file.write((b",\n" if copy else b"") + msgspec.json.encode(later)[1:-1])
        file.write(b"]}")


def _delay(event: dict[str, Any], copy: int, period_us: float) -> dict[str, Any]:
    if "ts" not in event or not copy:
        return event
    moved = {**event, "ts": event["ts"] + copy * period_us}
    given = event.get("args")
    if isinstance(given, dict):
        counted = ("External id", "correlation", "Ev Idx")
        moved["args"] = {
            key: value + copy * _FAR if key in counted and isinstance(value, int) else value
            for key, value in given.items()
        }
    return moved
