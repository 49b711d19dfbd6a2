"""Capture files: find, group, read and export them.

A capture consists of one file per host or worker that recorded at the same time. `open_capture`
reads any supported file into a `Trace`: XSpace protobufs of TensorFlow and JAX with `parse_xplane`,
and Chrome trace JSON of PyTorch (Kineto) and others with `chrome_trace`, which also writes it for
Perfetto.

Lines of XSpace planes become tracks, stats of events become arguments. Texts stay in the file
buffer and are decoded on use.

May import `analysis.profiles` (its base and `trace`), `formats` and `logdir`.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles import StringInterner, map_unique, unique_inverse
from tracklight.analysis.profiles.captures.chrome_trace import read_chrome_trace
from tracklight.analysis.profiles.trace import (
    COUNTER_LINE,
    FLOAT,
    INT,
    TEXT,
    ArgTable,
    Device,
    RecordedCounter,
    Trace,
    Track,
    align_device_clocks,
    iter_implausible_warnings,
    mask_plausible_events,
    parse_versions,
    parse_xplane_device,
    sort_events,
)
from tracklight.errors import FormatError, Message
from tracklight.formats.profiles import chrome_trace as chrome_format
from tracklight.formats.profiles import xplane
from tracklight.formats.profiles.xplane import XLine, XPlane, XSpace, scan_xstat
from tracklight.formats.proto import decode_text
from tracklight.logdir import natural_key
from tracklight.logdir.access import Root
from tracklight.logdir.discover import discover
from tracklight.logdir.filesystem import LocalFileSystem
from tracklight.types import MEMORY_KINDS, CaptureFile, CaptureKind, Float64, Int32, Int64
from tracklight.util.files import hash_key

# ---- XSpace files

_ENVIRONMENT_PLANE = "Task Environment"
_METADATA_PLANE = "/host:metadata"
_DEVICE_PLANE_PREFIX = "/device:"
#: Names of launches end with the id of the CUDA graph, which differs from call to call.
_CUDA_GRAPH_SUFFIX = " (CudaGraph:"
_PS_PER_NS = 1_000
#: Line times below this (about 100 days) count from the start of the profiler, others from 1970.
_MIN_EPOCH_NS = 1 << 53
_MAX_PS = 1 << 62
_MAX_TEXT_BYTES = 1 << 24

#: The kind of an argument by the field of XStat that contains it; integers if it has none.
_KIND_OF_FIELD = np.full(xplane.PACKED_TEXT + 1, INT, np.uint8)
_KIND_OF_FIELD[xplane.DOUBLE] = FLOAT
_KIND_OF_FIELD[[xplane.TEXT, xplane.BYTES, xplane.REFERENCE, xplane.PACKED_TEXT]] = TEXT

Number = TypeVar("Number", np.int64, np.int32, np.uint8, np.float64)


def parse_xplane(data: bytes) -> Trace:
    """Parse the content of an ``.xplane.pb`` file. Damage is reported in `Trace.problems`."""
    space = xplane.parse_xspace(data)
    counters = tuple(_take_counters(space))
    names, keys, texts = StringInterner(), StringInterner(), _TextTable(space)
    lines = list(_iter_lines(space, names, keys, texts))
    counts = [len(line.start_ps) for line in lines]
    track = np.repeat(np.arange(len(lines), dtype=np.int32), counts)
    start = _concat((line.start_ps for line in lines), np.int64)
    duration = _concat((line.duration_ps for line in lines), np.int64)
    approx_start = _concat((line.approx_start_ps for line in lines), np.float64)
    is_plausible = mask_plausible_events(approx_start, duration)
    order = sort_events(track, start, duration)
    if order is None and not is_plausible.all():
        order = np.arange(len(start))
    if order is not None:
        order = order[is_plausible[order]]
    problems = (space.problem, *iter_implausible_warnings(is_plausible), *space.messages)
    return Trace(
        tracks=tuple(line.track for line in lines),
        names=tuple(names.interned),
        categories=("",),
        track=_reorder(track, order),
        name=_reorder(_concat((line.name for line in lines), np.int32), order),
        category=np.zeros(int(is_plausible.sum()), np.int32),
        start_ps=_reorder(start, order),
        duration_ps=_reorder(duration, order),
        arg_keys=tuple(keys.interned),
        args=_concat_args(lines, order),
        get_text=texts.get,
        start_time_ns=_get_start_time_ns(space),
        problems=tuple(filter(None, problems)),
        is_partial=space.problem is not None,
        iter_hlo_protos=partial(xplane.iter_hlo_protos, data),
        devices=tuple(_iter_devices(space, texts)),
        environment=_parse_environment(space, texts),
        counters=counters,
    )


class _LineEvents(NamedTuple):
    """The events of one line, in file order."""

    track: Track
    name: Int32
    start_ps: Int64
    approx_start_ps: Float64
    """As float, which does not overflow for implausible times."""
    duration_ps: Int64
    args: ArgTable
    """Of events that are numbered across all lines."""


class _TextTable:
    """Texts by id: even ids are interned strings, odd ids are spans of the file."""

    def __init__(self, space: XSpace) -> None:
        self._data = space.data
        self._strings = StringInterner()
        self._spans: list[Int64] = []
        self._firsts = [0]

    def add_text(self, text: str) -> int:
        return 2 * self._strings[text]

    def add_spans(self, spans: Int64) -> Int64:
        """Return ids for texts, given rows of their field, offset and size."""
        first, end = self._firsts[-1], self._firsts[-1] + len(spans)
        self._spans.append(spans)
        self._firsts.append(end)
        return 2 * np.arange(first, end, dtype=np.int64) + 1

    def get(self, id: int) -> str:
        if id % 2 == 0:
            return self._strings.interned[id // 2]
        chunk = bisect_right(self._firsts, id // 2) - 1
        field, offset, size = self._spans[chunk][id // 2 - self._firsts[chunk]].tolist()
        data = self._data[offset : offset + size]
        if field == xplane.BYTES:
            return f"{size} bytes"
        return decode_text(_decompress(data) if field == xplane.PACKED_TEXT else data)


def _decompress(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MAX_TEXT_BYTES)
    except zlib.error:
        return b"(damaged compressed text)"


def _take_counters(space: XSpace) -> Iterator[RecordedCounter]:
    """Yield the counters of all planes, and remove their lines.

    They are lines of events without a duration, whose stats are the values. TPUs have them, and
    GPUs whose performance counters were sampled.
    """
    lines: list[tuple[XPlane, XLine]] = []
    for plane in space.planes:
        lines += [(plane, line) for line in plane.lines if line.name == COUNTER_LINE]
        plane.lines = [line for line in plane.lines if line.name != COUNTER_LINE]
    base_ns = _get_base_ns(space)
    for plane, line in lines:
        yield from _iter_line_counters(plane, line, base_ns)


def _iter_line_counters(plane: XPlane, line: XLine, base_ns: int) -> Iterator[RecordedCounter]:
    events = line.events[:-1]
    event_of_stat = np.repeat(np.arange(len(events)), np.diff(line.events[:, 3]))
    is_number = np.isin(line.stats[:, 1], (xplane.DOUBLE, xplane.UNSIGNED, xplane.SIGNED))
    stats, event_of_stat = line.stats[is_number], event_of_stat[is_number]
    bits = stats[:, 2].copy()
    values = np.where(stats[:, 1] == xplane.DOUBLE, bits.view(np.float64), bits.astype(np.float64))
    line_start_ps = max(min((line.timestamp_ns - base_ns) * _PS_PER_NS, _MAX_PS), -_MAX_PS)
    times = events[event_of_stat, 1] + line_start_ps
    counter = events[event_of_stat, 0]
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(values[order]) & (np.abs(times[order]) < _MAX_PS)]
    for id in unique_inverse(counter[order])[0].tolist():
        own = order[counter[order] == id]
        name = plane.event_names.get(id, "?")
        keys = unique_inverse(stats[own, 0])[0].tolist()
        for key in keys:
            rows = own[stats[own, 0] == key]
            label = name if len(keys) == 1 else f"{name}: {plane.stat_names.get(key, '?')}"
            yield RecordedCounter(plane.name, label, times[rows], values[rows])


def _iter_lines(
    space: XSpace, names: StringInterner, keys: StringInterner, texts: _TextTable
) -> Iterator[_LineEvents]:
    base_ns, first_event = _get_base_ns(space), 0
    for plane in space.planes:
        while plane.lines:  # popped, so that memory is released line by line
            line = plane.lines.pop(0)
            yield _convert_line(plane, line, base_ns, first_event, names, keys, texts)
            first_event += len(line.events) - 1


def _get_base_ns(space: XSpace) -> int:
    """Return what to subtract from line times: 0, or the first time if they count from 1970."""
    first = min((line.timestamp_ns for plane in space.planes for line in plane.lines), default=0)
    return first if first > _MIN_EPOCH_NS else 0


def _convert_line(
    plane: XPlane,
    line: XLine,
    base_ns: int,
    first_event: int,
    names: StringInterner,
    keys: StringInterner,
    texts: _TextTable,
) -> _LineEvents:
    events = line.events[:-1]
    line_start_ps = (line.timestamp_ns - base_ns) * _PS_PER_NS
    numbers = np.arange(first_event, first_event + len(events))
    event_of_stat = np.repeat(numbers, np.diff(line.events[:, 3]))
    stats = line.stats
    if plane.event_stats:
        shared_stats, shared_events = _expand_shared_stats(plane, events)
        stats = np.concatenate([stats, shared_stats])
        event_of_stat = np.concatenate([event_of_stat, numbers[shared_events]])
    is_device = plane.name.startswith(_DEVICE_PLANE_PREFIX)
    return _LineEvents(
        track=Track(plane.name, line.name, line.id, is_device, plane.name if is_device else ""),
        name=_intern_names(events[:, 0], plane.event_names, names),
        start_ps=events[:, 1] + max(min(line_start_ps, _MAX_PS), -_MAX_PS),
        approx_start_ps=events[:, 1].astype(np.float64) + float(line_start_ps),
        duration_ps=np.maximum(events[:, 2], 0),
        args=_convert_stats(plane, stats, event_of_stat, keys, texts),
    )


def _expand_shared_stats(plane: XPlane, events: Int64) -> tuple[Int64, Int64]:
    """Return the stats that events share through their metadata, one row per event and stat."""
    rows, owners = [np.empty((0, 4), np.int64)], [np.empty(0, np.int64)]
    ids, inverse = unique_inverse(events[:, 0])
    for at, id in enumerate(ids.tolist()):
        for row in plane.event_stats.get(id, ()):
            own = np.flatnonzero(inverse == at)
            rows.append(np.tile(np.array(row, np.int64), (len(own), 1)))
            owners.append(own)
    return np.concatenate(rows), np.concatenate(owners)


def _convert_stats(
    plane: XPlane, stats: Int64, event: Int64, keys: StringInterner, texts: _TextTable
) -> ArgTable:
    ids, field, bits, _ = columns = stats.T
    kind, bits = _KIND_OF_FIELD.take(field), bits.copy()
    rows = np.flatnonzero(kind == TEXT)
    is_reference = field[rows] == xplane.REFERENCE
    references, in_file = rows[is_reference], rows[~is_reference]
    bits[references] = map_unique(
        bits[references], lambda id: texts.add_text(plane.stat_names.get(id, ""))
    )
    bits[in_file] = texts.add_spans(np.column_stack([column[in_file] for column in columns[1:]]))
    return ArgTable(event, _intern_names(ids, plane.stat_names, keys), kind, bits)


def _intern_names(ids: Int64, names: dict[int, str], interner: StringInterner) -> Int32:
    """Intern the names of metadata ids, without the ids of CUDA graphs."""
    return map_unique(ids, lambda id: interner[names.get(id, "?").partition(_CUDA_GRAPH_SUFFIX)[0]])


def _reorder(column: NDArray[Number], order: Int64 | None) -> NDArray[Number]:
    return column if order is None else column[order]


def _concat(columns: Iterable[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    """Concatenate columns, of which there may be none."""
    return np.concatenate([np.empty(0, dtype), *columns])


def _concat_args(lines: list[_LineEvents], order: Int64 | None) -> ArgTable:
    args = ArgTable(
        _concat((line.args.event for line in lines), np.int64),
        _concat((line.args.key for line in lines), np.int32),
        _concat((line.args.kind for line in lines), np.uint8),
        _concat((line.args.bits for line in lines), np.int64),
    )
    if order is None:
        return args
    return args.reorder(order, sum(len(line.start_ps) for line in lines))


def _iter_devices(space: XSpace, texts: _TextTable) -> Iterator[Device]:
    for plane in space.planes:
        if plane.name.startswith(_DEVICE_PLANE_PREFIX):
            yield parse_xplane_device(dict(_iter_plane_stats(plane, space.data, texts)))


def _parse_environment(space: XSpace, texts: _TextTable) -> tuple[tuple[str | Message, str], ...]:
    planes = (plane for plane in space.planes if plane.name == _METADATA_PLANE)
    stats = (stat for plane in planes for stat in _iter_plane_stats(plane, space.data, texts))
    return parse_versions(dict(stats))


def _iter_plane_stats(
    plane: XPlane, data: bytes, texts: _TextTable
) -> Iterator[tuple[str, float | str]]:
    """Yield names and values of the stats of a plane itself."""
    for span in plane.stats.tolist():
        key, field, bits, size = scan_xstat(data, *span)
        name = plane.stat_names.get(key, "")
        if field == xplane.REFERENCE:
            yield name, plane.stat_names.get(bits, "")
        elif field == xplane.DOUBLE:
            yield name, float(np.int64(bits).view(np.float64))
        elif field in (xplane.TEXT, xplane.BYTES, xplane.PACKED_TEXT):
            row = np.array([[field, bits, size]], np.int64)
            yield name, texts.get(int(texts.add_spans(row)[0]))
        else:
            yield name, bits


def _get_start_time_ns(space: XSpace) -> int:
    for plane in space.planes:
        if plane.name == _ENVIRONMENT_PLANE:
            for key, _, bits, _ in (scan_xstat(space.data, *span) for span in plane.stats.tolist()):
                if plane.stat_names.get(key) == "profile_start_time":
                    return bits
    return 0


# ---- captures

#: Name of a session folder, in the local time of the machine that recorded it.
SESSION_FORMAT = "%Y_%m_%d_%H_%M_%S"

_XPLANE_SUFFIX = ".xplane.pb"
#: The limit of protobuf itself.
_MAX_XPLANE_BYTES = 2 << 30
#: Workers of one program finish recording within this time of each other.
_MAX_WORKER_GAP_S = 60.0
#: File names contain nanoseconds, in older versions milliseconds.
_SESSION_UNITS_PER_S = (1e9, 1e6, 1e3, 1.0)
_MIN_TIME_S, _MAX_TIME_S = 1e9, 1e10
#: Time zones are at most 26 hours apart, in steps of 15 minutes.
_MAX_ZONE_OFFSET_S, _ZONE_STEP_S = 26 * 3600, 900
#: A file is written at most this long after the time in the name of its session.
_MAX_WRITE_DELAY_S = 300

_GroupKey = tuple[str, ...]


class Capture(NamedTuple):
    """A capture file with a trace, or a memory snapshot."""

    run: str
    session: str
    host: str
    path: Path
    kind: CaptureKind


def list_captures(roots: Iterable[Root], *, with_snapshots: bool = False) -> list[Capture]:
    """List the capture files with a trace, sorted by run, session and host.

    Args:
        roots: The log directories.
        with_snapshots: Whether to list the memory snapshots of PyTorch as well. Other memory
            profiles are never listed.
    """
    file_system = LocalFileSystem()
    captures = (
        Capture(file.run, file.session, file.host, Path(file.path), file.kind)
        for root in roots
        for file in discover(root, file_system).captures
        if file.kind not in MEMORY_KINDS or (with_snapshots and file.kind == "snapshot")
    )
    return sorted(captures, key=lambda capture: [natural_key(name) for name in capture[:3]])


def open_capture(path: Path, on_progress: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a capture file.

    Args:
        path: An XPlane protobuf (``.xplane.pb``) or a Chrome trace (``.json`` or ``.json.gz``).
        on_progress: Called with the share of the file that was read, from 0 to 1.

    Raises:
        FormatError: The file contains no readable event. Damaged files that do are read as far as
            possible; `Trace.problems` says what is missing.

    Example:
        >>> trace = open_capture(Path("logs/plugins/profile/run/host.xplane.pb"))
        >>> len(trace)
        12345
    """
    trace = align_device_clocks(_read_trace(path, on_progress))
    if trace.problems and not len(trace):
        raise FormatError(
            "files.unreadable_capture",
            'Cannot read "{name}": {reason}',
            name=path.name,
            reason=trace.problems[0],
        )
    return trace


def _read_trace(path: Path, on_progress: Callable[[float], None]) -> Trace:
    if not path.name.endswith(_XPLANE_SUFFIX):
        return read_chrome_trace(path, on_progress)
    if path.stat().st_size > _MAX_XPLANE_BYTES:
        raise FormatError(
            "profile.xplane_too_large",
            '"{name}" is larger than 2 GB, the limit of the XPlane format',
            name=path.name,
        )
    return parse_xplane(path.read_bytes())


def iter_capture_groups(files: Iterable[CaptureFile]) -> Iterator[tuple[str, list[CaptureFile]]]:
    """Group files into captures; yield the id and the files of each, by run and time."""
    by_run: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        by_run[file.run].append(file)
    for run, run_files in by_run.items():
        groups: dict[_GroupKey, list[CaptureFile]] = {}
        for file in sorted(run_files, key=get_capture_time_s):
            groups.setdefault(_get_group_key(groups, file), []).append(file)
        for key, group in groups.items():
            yield make_capture_id(run, *key), sorted(group, key=lambda file: file.host)


def make_capture_id(run: str, *group: str) -> str:
    """Return the id of a capture in URLs, which is stable across server restarts."""
    return hash_key(run, *group, size_bytes=8)


def get_capture_time_s(file: CaptureFile) -> float:
    """Return when a capture was recorded: the time in its name, or else when it was written."""
    if file.session.isdigit():
        times_s = (int(file.session) / unit for unit in _SESSION_UNITS_PER_S)
        valid_s = (time_s for time_s in times_s if _MIN_TIME_S <= time_s < _MAX_TIME_S)
        return next(valid_s, file.mtime_s)
    try:
        session_s = datetime.strptime(file.session, SESSION_FORMAT).timestamp()
    except (ValueError, OverflowError, OSError):
        return file.mtime_s
    return file.mtime_s if _is_written_at_session_time(file.mtime_s - session_s) else session_s


def read_start_time_s(path: Path, kind: CaptureKind) -> float | None:
    """Return when a capture began according to the file itself; None if it does not tell."""
    try:
        if kind == "xplane":
            with path.open("rb") as file:
                start_ns = xplane.read_start_time_ns(file)
        else:
            start_ns = chrome_format.read_start_time_ns(path) if kind == "chrome" else 0
    except (OSError, FormatError):
        return None
    return start_ns / 1e9 if _MIN_TIME_S <= start_ns / 1e9 < _MAX_TIME_S else None


def _is_written_at_session_time(delay_s: float) -> bool:
    """Return whether a file was written right after the time in its name, in any time zone.

    Session folders are named in the local time of another machine, so the modification time is more
    reliable, unless the file was copied later.
    """
    zone_offset_s = delay_s // _ZONE_STEP_S * _ZONE_STEP_S
    return abs(zone_offset_s) <= _MAX_ZONE_OFFSET_S and delay_s - zone_offset_s <= (
        _MAX_WRITE_DELAY_S
    )


def _get_group_key(groups: dict[_GroupKey, list[CaptureFile]], file: CaptureFile) -> _GroupKey:
    """Return the group of a file: its session folder, or else workers that recorded together."""
    if file.kind != "chrome" or not file.session.isdigit():
        return file.kind, file.session
    for key, group in groups.items():
        is_near = get_capture_time_s(file) - get_capture_time_s(group[0]) <= _MAX_WORKER_GAP_S
        if key[0] == "near" and is_near and all(file.host != other.host for other in group):
            return key
    return "near", file.session, file.host
