"""Read captures and recompute their step times without the code under test.

The readers are a plain JSON parser and a small protobuf decoder. All computations are loops over
lists of events. They are slow, but follow the documented rules step by step.
"""

from __future__ import annotations

import gzip
import json
import lzma
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PS_PER_US = 1_000_000


@dataclass
class RawEvent:
    """An event of a capture file."""

    process: str
    thread: str
    on_device: bool
    name: str
    category: str
    start_ps: int
    end_ps: int
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def correlation(self) -> int | None:
        return self.args.get("correlation", self.args.get("correlation_id"))


def read_content(path: Path) -> bytes:
    """Read a file, unpacked."""
    content = path.read_bytes()
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix)
    return unpack(content) if unpack else content


def read_raw(path: Path) -> list[RawEvent]:
    """Read the events of a Kineto trace or an XSpace."""
    content = read_content(path)
    is_json = ".json" in path.name
    return list(_iter_kineto(json.loads(content)) if is_json else _iter_xspace(content))


# --- Kineto --------------------------------------------------------------------------------------

DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")


def _iter_kineto(document: dict[str, Any]) -> Iterator[RawEvent]:
    for event in document["traceEvents"]:
        is_shown = event.get("pid") not in ("Spans", "Traces", "", -1)
        if event["ph"] == "X" and is_shown:
            duration = event["dur"]
        elif event["ph"] == "i" and is_shown:
            duration = 0
        else:
            continue
        category = event.get("cat", "")
        start_ps = round(event["ts"] * PS_PER_US)
        yield RawEvent(
            process=str(event["pid"]),
            thread=str(event["tid"]),
            on_device=category in DEVICE_CATEGORIES,
            name=event["name"],
            category=category,
            start_ps=start_ps,
            end_ps=start_ps + round(duration * PS_PER_US),
            args=event.get("args", {}),
        )


# --- XSpace --------------------------------------------------------------------------------------


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def iter_message(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a protobuf message: numbers with integers, doubles or bytes."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        if key & 7 == 0:
            value, at = _read_varint(data, at)
            yield key >> 3, value - (1 << 64) if value >> 63 else value
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<d", data[at : at + 8])[0]
            at += 8
        elif key & 7 == 5:
            yield key >> 3, struct.unpack("<f", data[at : at + 4])[0]
            at += 4
        else:
            size, at = _read_varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size


def get_fields(data: bytes) -> dict[int, list[Any]]:
    """Return the values of the fields of a protobuf message, by number."""
    fields = defaultdict(list)
    for number, value in iter_message(data):
        fields[number].append(value)
    return fields


def read_names(entries: list[bytes]) -> dict[int, str]:
    """Return the names of the metadata of a plane, by id."""
    names = {}
    for entry in entries:
        fields = get_fields(entry)
        metadata = get_fields(fields[2][0]) if fields[2] else {2: [b""]}
        names[fields[1][0] if fields[1] else 0] = (metadata[2] or [b""])[0].decode()
    return names


def _iter_xspace(data: bytes) -> Iterator[RawEvent]:
    for number, plane_bytes in iter_message(data):
        if number == 1:
            yield from _iter_plane(get_fields(plane_bytes))


#: The line of a plane with the values of counters, which are no events.
COUNTER_LINE = b"_counters_"


def _iter_plane(plane: dict[int, list[Any]]) -> Iterator[RawEvent]:
    process = plane[2][0].decode() if plane[2] else ""
    event_names, stat_names = read_names(plane[4]), read_names(plane[5])
    for line_bytes in plane[3]:
        line = get_fields(line_bytes)
        if line[2] == [COUNTER_LINE]:
            continue
        line_start_ps = 1000 * (line[3][0] if line[3] else 0)
        for event_bytes in line[4]:
            event = get_fields(event_bytes)
            name = event_names[event[1][0]].partition(" (CudaGraph:")[0]
            start_ps = line_start_ps + (event[2][0] if event[2] else 0)
            yield RawEvent(
                process=process,
                thread=f"{line[1]}{line[2]}",
                on_device=process.startswith("/device:"),
                name=name,
                category="",
                start_ps=start_ps,
                end_ps=start_ps + (event[3][0] if event[3] else 0),
                args=dict(_iter_stats(event[4], stat_names)),
            )


def _iter_stats(stats: list[bytes], names: dict[int, str]) -> Iterator[tuple[str, Any]]:
    for stat in stats:
        key, value = "", None
        for number, content in iter_message(stat):
            if number == 1:
                key = names[content]
            else:
                value = names[content] if number == 7 else content
        yield key, value


# --- Steps ---------------------------------------------------------------------------------------

#: Parts of a step by descending priority.
PARTS = (
    "device_compute", "output", "device_to_device", "collectives", "input", "host_to_device",
    "kernel_launch", "compilation", "host_compute",
)  # fmt: skip


def is_work(event: RawEvent) -> bool:
    return event.on_device and event.category != "gpu_user_annotation"


def list_launched(events: list[RawEvent]) -> list[tuple[RawEvent | None, RawEvent]]:
    """List all device work with the host call that launched it."""
    launches: dict[int, RawEvent] = {}
    for event in sorted(events, key=lambda event: event.start_ps):
        if not event.on_device and event.correlation is not None:
            launches.setdefault(event.correlation, event)
    return [
        (launches.get(event.correlation) if event.correlation is not None else None, event)
        for event in events
        if is_work(event)
    ]


def measure_union(rows: list[tuple[int, int]], start: int, end: int) -> int:
    """Return how much of a window intervals cover."""
    covered, until = 0, start
    for first, last in sorted(rows):
        first, last = max(first, until), min(last, end)
        if last > first:
            covered, until = covered + last - first, last
    return covered


def classify(event: RawEvent, kernel_ids: set[int]) -> str | None:
    """Return the part of a step that an event counts for; None if it only encloses others."""
    name = event.name.lower()
    if event.on_device:
        if event.category == "gpu_user_annotation":
            return None
        if not name.startswith("mem"):
            return "collectives" if name.startswith("nccl") else "device_compute"
        if "h2d" in name or "htod" in name:
            return "host_to_device"
        return "output" if "d2h" in name or "dtoh" in name else "device_to_device"
    if event.category in ("python_function", "overhead", "Trace"):
        return None
    if event.name.startswith(("ProfilerStep#", "Profiled batch", "train", "test", "$")):
        return None
    is_api_call = event.name.startswith(("cu", "cuda")) and "_" not in event.name
    if "Launch" in event.name and is_api_call and "HostFunc" not in event.name:
        return "kernel_launch"
    if event.category == "" and event.correlation in kernel_ids and not is_api_call:
        return "kernel_launch"
    if name.startswith(("iteratorgetnext", "enumerate(data", "input_pipeline")):
        return "input"
    if name.startswith(("memcpyhtod", "memcpyh2d")):
        return "host_to_device"
    return "host_compute"


def divide_time(rows: list[tuple[int, int, str]], start: int, end: int) -> dict[str, int]:
    """Divide a window among parts, each instant counting for the part of highest priority."""
    edges = sorted(
        {start, end, *(at for first, last, _ in rows for at in (first, last) if start < at < end)}
    )
    changes: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for first, last, part in rows:
        if last > start and first < end and last > first:
            changes[max(first, start)].append((part, 1))
            changes[min(last, end)].append((part, -1))
    running = dict.fromkeys(PARTS, 0)
    time: dict[str, int] = defaultdict(int)
    for at, following in zip(edges, [*edges[1:], end], strict=True):
        for part, change in changes[at]:
            running[part] += change
        part = next((part for part in PARTS if running[part]), "other")
        time[part] += following - at
    return time
