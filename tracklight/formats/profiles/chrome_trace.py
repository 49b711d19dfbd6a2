"""Reads traces in Chrome's JSON piece by piece, as those of PyTorch grow to hundreds of megabytes.

The list of events is cut between two of them where a piece ends, so that no more than a piece is
held at a time. Text is let through that JSON forbids and profilers write all the same.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from tracklight.errors import FormatError

#: Few enough that what is made of a piece fits into the processor's cache.
CHUNK_BYTES = 1 << 20
#: The list begins, and every event ends, within this.
_FAR_BYTES = 16 << 20
#: A file unpacks to no more than this.
MAX_UNPACKED_BYTES = 8 << 30
#: Where an event may end is looked for in so much of a piece, and so often.
_TAIL_BYTES = 1 << 16
_TRIES = 4
_GZIP = b"\x1f\x8b"
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*(,)\s*\{")
_BARE = re.compile(rb":\s*(N/A|-?nan|-?inf)\b")
_OTHERS = {"displayTimeUnit", "traceEvents"}


class ChromeEventArgs(msgspec.Struct, gc=False):
    """What is looked at of an event's arguments; their types depend on the version."""

    name: Any = None
    correlation: Any = None
    external: Any = msgspec.field(default=None, name="External id")
    device: Any = None
    stream: Any = None
    bytes: Any = None
    grid: msgspec.Raw = msgspec.Raw()
    block: msgspec.Raw = msgspec.Raw()
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_memory: Any = msgspec.field(default=None, name="shared memory")
    occupancy: Any = msgspec.field(default=None, name="est. achieved occupancy %")
    input_types: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input type")
    input_dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Dims")
    allocated: Any = msgspec.field(default=None, name="Bytes")
    total_allocated: Any = msgspec.field(default=None, name="Total Allocated")
    total_reserved: Any = msgspec.field(default=None, name="Total Reserved")
    address: Any = msgspec.field(default=None, name="Addr")
    device_type: Any = msgspec.field(default=None, name="Device Type")
    device_id: Any = msgspec.field(default=None, name="Device Id")
    collective: Any = msgspec.field(default=None, name="Collective name")


class ChromeEvent(msgspec.Struct, gc=False):
    """An event as it stands in the file; of some versions, numbers are texts."""

    ph: str = ""
    name: Any = ""
    cat: Any = ""
    pid: Any = 0
    tid: Any = 0
    ts: Any = 0.0
    dur: Any = 0.0
    args: ChromeEventArgs | None = None


_strict = msgspec.json.Decoder(list[ChromeEvent])


def iter_event_chunks(
    path: Path, on_progress: Callable[[float], None] = lambda share: None
) -> Iterator[list[ChromeEvent]]:
    """Yield the events of a file, some thousand at a time; ``tell`` hears how far it has come."""
    stream = _iter_bytes(path, on_progress)
    held = b""
    for chunk in stream:
        held += chunk
        found = _LIST.search(held)
        start = found.end() if found else _find_bare_list(held)
        if start is not None:
            yield from _iter_lists(held[start:], stream)
            return
        if len(held) > _FAR_BYTES:
            break
    raise FormatError(f"there is no list of events in {path.name}")


def read_trace_header(path: Path) -> dict[str, Any]:
    """What a file says before its list of events: devices, versions, when it began."""
    held = next(_iter_bytes(path, lambda share: None), b"")
    found = _LIST.search(held)
    if found is None:
        return {}
    try:
        head = json.loads(held[: found.end()] + b"]}", strict=False)
    except ValueError:
        return {}
    return {key: value for key, value in head.items() if key not in _OTHERS}


def _find_bare_list(held: bytes) -> int | None:
    """Where a file begins that is nothing but the list."""
    bare = held.lstrip()
    return len(held) - len(bare) + 1 if bare.startswith(b"[") else None


def _iter_lists(held: bytes, stream: Iterator[bytes]) -> Iterator[list[ChromeEvent]]:
    for chunk in stream:
        events, held = _cut(held + chunk)
        if events:
            yield events
        elif len(held) > _FAR_BYTES:
            raise FormatError("no event ends within 16 MB: this is no list of events")
    yield _read_end(held)


def _cut(held: bytes) -> tuple[list[ChromeEvent], bytes]:
    """Decode up to the last place at which a list may be cut; what is left comes back."""
    places = [found.start(1) for found in _BETWEEN.finditer(held, max(0, len(held) - _TAIL_BYTES))]
    events, end = _decode_first(held, places[-_TRIES:][::-1])
    return (events, held[end + 1 :]) if events else ([], held)


def _read_end(held: bytes) -> list[ChromeEvent]:
    """Decode the last events, whatever stands after them, or breaks off in the middle of one."""
    ends = [found.end() for found in re.finditer(rb"\}", held[-_TAIL_BYTES:])]
    first = max(0, len(held) - _TAIL_BYTES)
    return _decode_first(held, [first + end for end in ends[-_TRIES:][::-1]])[0]


def _decode_first(held: bytes, ends: list[int]) -> tuple[list[ChromeEvent], int]:
    """Decode up to the first of some ends before which a list stands.

    A place inside of an event looks like one between two, but what stands before it is no list.
    """
    view, start = memoryview(held), len(held) - len(held.lstrip(b" \t\r\n,"))
    for decode in (_decode, _decode_loosely):
        for end in ends:
            events = decode(b"".join((b"[", view[start:end], b"]")))
            if events is not None:
                return events, end
    return [], 0


def _decode(content: bytes) -> list[ChromeEvent] | None:
    try:
        return _strict.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _decode_loosely(content: bytes) -> list[ChromeEvent] | None:
    """As `_decode`, of numbers that are none and text with bytes that are no text as well."""
    text = _BARE.sub(b": null", content).decode("utf-8", "replace")
    try:
        return _decode(msgspec.json.encode(json.loads(text, strict=False)))
    except (ValueError, RecursionError):
        return None


def _iter_bytes(path: Path, tell: Callable[[float], None]) -> Iterator[bytes]:
    """Yield the content of a file, unpacked if it is packed."""
    with path.open("rb") as file:
        size = max(path.stat().st_size, 1)

        def read(count: int) -> bytes:
            tell(min(file.tell() / size, 1.0))
            return file.read(count)

        first = read(CHUNK_BYTES)
        if first.startswith(_GZIP):
            yield from _unpack(first, iter(lambda: read(CHUNK_BYTES), b""), path.name)
        else:
            yield from chain([first] if first else [], iter(lambda: read(CHUNK_BYTES), b""))


def _unpack(first: bytes, more: Iterator[bytes], name: str) -> Iterator[bytes]:
    unpacker, size = zlib.decompressobj(wbits=31), 0
    try:
        for packed in chain([first], more):
            while packed and not unpacker.eof:
                chunk = unpacker.decompress(packed, CHUNK_BYTES)
                packed, size = unpacker.unconsumed_tail, size + len(chunk)
                if size > MAX_UNPACKED_BYTES:
                    raise FormatError(f"{name} unpacks to more than {MAX_UNPACKED_BYTES >> 30} GB")
                if chunk:
                    yield chunk
    except zlib.error as error:
        raise FormatError(f"{name} cannot be unpacked: {error}") from error
