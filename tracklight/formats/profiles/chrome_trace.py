"""Read traces in the Chrome trace format chunk by chunk.

Traces of the PyTorch profiler grow to hundreds of megabytes. The list of events is split between
two events near the end of each chunk, so that only one chunk is in memory at a time. Text that JSON
forbids, but profilers write, is accepted.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tracklight.errors import FormatError

#: Small enough for the decoded events of a chunk to fit into the CPU cache.
CHUNK_BYTES = 1 << 20
#: Compressed files that are larger when unpacked are rejected.
MAX_UNPACKED_BYTES = 8 << 30
#: The list of events must begin, and every event must end, within this distance.
_MAX_EVENT_BYTES = 16 << 20
#: The end of the last complete event is searched in this part of a chunk, with so many attempts.
_TAIL_BYTES = 1 << 16
_MAX_ATTEMPTS = 4

_GZIP_MAGIC = b"\x1f\x8b"
_EVENT_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN_EVENTS = re.compile(rb"\}\s*(,)\s*\{")
_START_US = re.compile(rb'"ts"\s*:\s*"?(\d+(?:\.\d+)?)')
_INVALID_NUMBER = re.compile(rb":\s*(N/A|-?nan|-?inf)\b")
_NOT_METADATA = {"displayTimeUnit", "traceEvents"}
#: The phase of the events of counters.
_COUNTER_PHASE = "C"


class ChromeEventArgs(msgspec.Struct, gc=False):
    """The arguments of an event that are used; their types depend on the profiler version."""

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
    in_elements: Any = msgspec.field(default=None, name="In msg nelems")
    out_elements: Any = msgspec.field(default=None, name="Out msg nelems")
    element_type: Any = msgspec.field(default=None, name="dtype")
    group_size: Any = msgspec.field(default=None, name="Group size")
    process_group: Any = msgspec.field(default=None, name="Process Group Name")
    sequence: Any = msgspec.field(default=None, name="Seq")


class ChromeEvent(msgspec.Struct, gc=False):
    """An event of the file; some versions write numbers as strings."""

    ph: str = ""
    name: Any = ""
    cat: Any = ""
    pid: Any = 0
    tid: Any = 0
    ts: Any = 0.0
    dur: Any = 0.0
    args: ChromeEventArgs | None = None


class ChromeCounterEvent(msgspec.Struct, gc=False):
    """An event of a counter. Every argument is the value of a series at that time."""

    ph: str = ""
    name: Any = ""
    pid: Any = 0
    id: Any = None
    """Distinguishes counters of the same name."""
    ts: Any = 0.0
    args: msgspec.Raw = msgspec.Raw()

    def read_series(self) -> dict[str, Any]:
        """Return the values by the name of their series."""
        try:
            series = msgspec.json.decode(self.args)
        except msgspec.DecodeError:
            return {}
        return series if isinstance(series, dict) else {}


class EventChunk(NamedTuple):
    """Consecutive events of a file. Those of counters are in both lists."""

    events: list[ChromeEvent]
    counters: list[ChromeCounterEvent]


_get_phase = attrgetter("ph")
_decoder = msgspec.json.Decoder(list[ChromeEvent])
_counter_decoder = msgspec.json.Decoder(list[ChromeCounterEvent])


def iter_event_chunks(
    path: Path, on_progress: Callable[[float], None] = lambda fraction: None
) -> Iterator[EventChunk]:
    """Yield the events of a file, some thousand at a time.

    Args:
        path: A JSON file, which may be compressed with gzip.
        on_progress: Called with the fraction of the file that was read.

    Raises:
        FormatError: The file contains no list of events, cannot be unpacked, or is truncated or
            damaged. In the latter case, the readable events were yielded before.
    """
    stream = _iter_bytes(path, on_progress)
    data = b""
    for chunk in stream:
        data += chunk
        match = _EVENT_LIST.search(data)
        start = match.end() if match else _find_bare_list(data)
        if start is not None:
            yield from _iter_event_lists(data[start:], stream, is_bare=match is None)
            return
        if len(data) > _MAX_EVENT_BYTES:
            break
    raise FormatError("profile.no_event_list", "{name} contains no list of events", name=path.name)


def read_trace_header(path: Path) -> dict[str, Any]:
    """Return what a file contains before its list of events: devices, versions, start time."""
    data = next(_iter_bytes(path, lambda fraction: None), b"")
    match = _EVENT_LIST.search(data)
    if match is None:
        return {}
    try:
        header = json.loads(data[: match.end()] + b"]}", strict=False)
    except ValueError:
        return {}
    return {key: value for key, value in header.items() if key not in _NOT_METADATA}


def read_start_time_ns(path: Path) -> int:
    """Return when the first events of a file began, in Unix time; 0 if the file does not tell."""
    data = next(_iter_bytes(path, lambda fraction: None), b"")
    base_ns = read_trace_header(path).get("baseTimeNanoseconds")
    match = _EVENT_LIST.search(data)
    times = [float(time) for time in _START_US.findall(data, match.end() if match else 0)]
    if not times or not isinstance(base_ns, int):
        return 0
    return base_ns + round(min(times) * 1000)


def _find_bare_list(data: bytes) -> int | None:
    """Return the start of the events in a file that contains only the list."""
    stripped = data.lstrip()
    return len(data) - len(stripped) + 1 if stripped.startswith(b"[") else None


def _iter_event_lists(data: bytes, stream: Iterator[bytes], is_bare: bool) -> Iterator[EventChunk]:
    for content in stream:
        chunk, data = _split_events(data + content)
        if chunk.events:
            yield chunk
        elif len(data) > _MAX_EVENT_BYTES:
            raise FormatError(
                "profile.not_an_event_list",
                "the file is not a list of events: no event ends within {limit_mb} MB",
                limit_mb=_MAX_EVENT_BYTES >> 20,
            )
    chunk, rest = _decode_last_events(data)
    yield chunk
    rest = rest.strip(b" \t\r\n,")
    # The bracket at the end of a file that is only a list is optional.
    if not rest.startswith(b"]") and (rest or not is_bare):
        raise FormatError(
            "profile.events_cut_off",
            "the file is truncated or damaged: some events are missing, possibly all of some kinds "
            "such as device activity",
        )


def _split_events(data: bytes) -> tuple[EventChunk, bytes]:
    """Decode the complete events; return them and the remaining bytes."""
    tail = max(0, len(data) - _TAIL_BYTES)
    commas = [match.start(1) for match in _BETWEEN_EVENTS.finditer(data, tail)]
    chunk, end = _decode_up_to(data, commas[-_MAX_ATTEMPTS:][::-1])
    return chunk, data[end + 1 :] if chunk.events else data


def _decode_last_events(data: bytes) -> tuple[EventChunk, bytes]:
    """Decode the events at the end of a file; return them and the remaining bytes."""
    tail = max(0, len(data) - _TAIL_BYTES)
    ends = [tail + match.end() for match in re.finditer(rb"\}", data[tail:])]
    chunk, end = _decode_up_to(data, ends[-_MAX_ATTEMPTS:][::-1])
    if chunk.events:
        return chunk, data[end:]
    return _decode_before_damage(data)


def _decode_before_damage(data: bytes) -> tuple[EventChunk, bytes]:
    """Decode the events before the first that is damaged, found by bisection."""
    ends = [match.start(1) for match in _BETWEEN_EVENTS.finditer(data)]
    chunk = EventChunk([], [])
    good, low, high = 0, 0, len(ends) - 1
    while low <= high:
        middle = (low + high) // 2
        decoded, end = _decode_up_to(data, [ends[middle]])
        if decoded.events:
            chunk, good, low = decoded, end, middle + 1
        else:
            high = middle - 1
    # The last event before the damage has no other after it.
    following = [match.end() for match in islice(re.finditer(rb"\}", data[good:]), _MAX_ATTEMPTS)]
    last, end = _decode_up_to(data[good:], following[::-1])
    chunk = EventChunk(chunk.events + last.events, chunk.counters + last.counters)
    return chunk, data[good + end :]


def _decode_up_to(data: bytes, ends: list[int]) -> tuple[EventChunk, int]:
    """Decode up to the first of ``ends`` at which a list can end; also return that end.

    A comma within an event may look like one between events, but then decoding fails.
    """
    view, start = memoryview(data), len(data) - len(data.lstrip(b" \t\r\n,"))
    for decode in (_decode, _decode_leniently):
        for end in ends:
            chunk = decode(b"".join((b"[", view[start:end], b"]")))
            if chunk is not None:
                return chunk, end
    return EventChunk([], []), 0


def _decode(content: bytes) -> EventChunk | None:
    try:
        events = _decoder.decode(content)
        # Few files have counters, whose arguments have names that are not known before.
        has_counters = _COUNTER_PHASE in set(map(_get_phase, events))
        counters = _counter_decoder.decode(content) if has_counters else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return EventChunk(events, [counter for counter in counters if counter.ph == _COUNTER_PHASE])


def _decode_leniently(content: bytes) -> EventChunk | None:
    """Decode events with invalid numbers, control characters or invalid UTF-8."""
    text = _INVALID_NUMBER.sub(b": null", content).decode("utf-8", "replace")
    try:
        return _decode(msgspec.json.encode(json.loads(text, strict=False)))
    except (ValueError, RecursionError):
        return None


def _iter_bytes(path: Path, on_progress: Callable[[float], None]) -> Iterator[bytes]:
    """Yield the content of a file, decompressed if necessary."""
    with path.open("rb") as file:
        size = max(path.stat().st_size, 1)

        def read(count: int) -> bytes:
            on_progress(min(file.tell() / size, 1.0))
            return file.read(count)

        first = read(CHUNK_BYTES)
        more = iter(lambda: read(CHUNK_BYTES), b"")
        if first.startswith(_GZIP_MAGIC):
            yield from _decompress(chain([first], more), path.name)
        else:
            yield from chain([first] if first else [], more)


def _decompress(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    decompressor, size = zlib.decompressobj(wbits=31), 0
    try:
        for compressed in chunks:
            while compressed and not decompressor.eof:
                data = decompressor.decompress(compressed, CHUNK_BYTES)
                compressed, size = decompressor.unconsumed_tail, size + len(data)
                if size > MAX_UNPACKED_BYTES:
                    raise FormatError(
                        "profile.unpacked_too_large",
                        "{name} is larger than {limit_gb} GB when unpacked",
                        name=name,
                        limit_gb=MAX_UNPACKED_BYTES >> 30,
                    )
                if data:
                    yield data
    except zlib.error as error:
        raise FormatError(
            "profile.cannot_unpack", "{name} cannot be unpacked: {error}", name=name, error=error
        ) from error
