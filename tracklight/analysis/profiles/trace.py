"""The in-memory form of a trace, whichever profiler wrote it, and the clean-up of what was written.

Events are stored as columns. Times are picoseconds since the start of the capture, the finest
resolution of any supported profiler. Event arguments (shapes, grid sizes, correlation ids) are kept
in a table of their own, because most of them are never read.

Some profiler versions write markers that are decades off, and damaged files contain arbitrary
times. One such event would stretch a capture of seconds over years, which do not fit into 64-bit
picoseconds. A kernel cannot start before the call that launches it. If one does, the clock of its
device is behind the host's; if all of them start very late, it is ahead. Events of host and device
would then never fall into the same step. Launches and kernels are matched by their correlation ids.

Profilers write the same property as text in one version and as a number in the next, so values of
any type are accepted and invalid ones are treated as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, log10
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles import unique_inverse
from tracklight.errors import FormatError, Message
from tracklight.formats.profiles.hlo import HloModule, parse_hlo_module
from tracklight.types import Bool, Float64, Int32, Int64

PS_PER_MS = 1e9

#: The program that recorded a trace. "python" is the built-in sampler, "chrome" any other writer of
#: the Chrome trace format.
Framework = Literal["tensorflow", "torch", "jax", "python", "chrome"]

#: Kinds of values in an `ArgTable`.
INT, FLOAT, TEXT = range(3)
_KINDS = 3

#: Categories of events that enclose or describe others on the host or a device.
_ANNOTATION_CATEGORIES = ("gpu_user_annotation", "user_annotation", "Trace")
#: Lines of TPU planes with ops. Without them, modules and steps say when the device was busy.
TPU_OP_LINES = ("XLA Ops", "Sparse Core Ops")
_TPU_MODULE_LINES = ("XLA Modules", "Sparse Core Modules", "Steps", "Sparse Core Steps")
#: The line of a plane with counters, which is no track.
COUNTER_LINE = "_counters_"
#: Lines of device planes, other than streams, that describe the work on another line.
_DERIVED_LINES = frozenset({
    "Steps", "XLA Modules", "XLA Ops", "Async XLA Ops", "XLA TraceMe", "Framework Ops",
    "Framework Name Scope", "Source code", "Source Code", "Host Offload Ops", "Launch Stats",
    "Tensor Core Sync Flag", "Sparse Core Steps", "Sparse Core Modules", "Sparse Core Ops",
    "Sparse Core Syncs", "Command Buffers",
})  # fmt: skip
#: Joins the name of a derived line and the stream that it describes.
_DERIVED_SUFFIX = " - from #"

_TORCH_CATEGORIES = frozenset({"cpu_op", "kernel", "cuda_runtime", "gpu_memcpy"})
_SIGNIFICANT_DIGITS = 3


class Device(NamedTuple):
    """An accelerator. Numbers that the profiler does not record are 0."""

    name: str = ""
    multiprocessors: int = 0
    clock_hz: float = 0.0
    memory_bytes_per_s: float = 0.0
    memory_bytes: int = 0
    compute_capability: tuple[int, int] = (0, 0)


class Track(NamedTuple):
    """A thread of a process, or a stream or queue of a device."""

    process: str
    name: str
    id: int
    is_device: bool
    device: str = ""
    """The device of a stream or queue. The process may be the same for several devices."""


class ArgTable(NamedTuple):
    """Event arguments: one row per event and key."""

    event: Int64
    key: Int32
    """Index into `Trace.arg_keys`."""
    kind: NDArray[np.uint8]
    """`INT`, `FLOAT` or `TEXT`."""
    bits: Int64
    """An integer, the bits of a float, or the id of a text for `Trace.get_text`."""

    def reorder(self, order: Int64, count: int) -> ArgTable:
        """Return the table for events that were reordered or filtered.

        Args:
            order: Old event numbers in their new order. Rows of missing events are dropped.
            count: Number of events before reordering.
        """
        new_number = np.full(count, -1, np.int64)
        new_number[order] = np.arange(len(order))
        event = new_number[self.event]
        if len(order) == count:
            return self._replace(event=event)
        return self._replace(event=event).take(event >= 0)

    def take(self, rows: Int64 | Bool) -> ArgTable:
        return ArgTable(self.event[rows], self.key[rows], self.kind[rows], self.bits[rows])


class RecordedCounter(NamedTuple):
    """A number that the profiler recorded again and again, one series of a counter."""

    process: str
    """The process or the device."""
    name: str
    times_ps: Int64
    """Ascending."""
    values: Float64


@dataclass(frozen=True)
class Trace:
    """A trace. Events are sorted by track, then start, then descending duration."""

    tracks: tuple[Track, ...]
    names: tuple[str, ...]
    categories: tuple[str, ...]
    """Event categories of the Chrome trace format; a single empty string for XPlane files."""
    track: Int32
    """The track of each event, an index into ``tracks``; likewise ``name`` and ``category``."""
    name: Int32
    category: Int32
    start_ps: Int64
    duration_ps: Int64
    arg_keys: tuple[str, ...]
    args: ArgTable
    get_text: Callable[[int], str] = field(repr=False)
    """Returns the text of an id in ``args``."""
    start_time_ns: int = 0
    """Start of the capture in Unix time; 0 if unknown."""
    problems: tuple[str | Message, ...] = ()
    """Warnings about what was skipped or corrected while reading."""
    is_partial: bool = False
    """Whether only a part of the file could be read."""
    iter_hlo_protos: Callable[[], Iterable[bytes]] = field(default=tuple, repr=False)
    """Iterates over the serialized XLA programs in the capture."""
    devices: tuple[Device, ...] = ()
    """Devices by their ordinal."""
    environment: tuple[tuple[str | Message, str], ...] = ()
    """Names and values that describe where the program ran."""
    rank: int | None = None
    """The process of a distributed program; None if it is not distributed or unknown."""
    counters: tuple[RecordedCounter, ...] = ()
    """Counters in the file, such as those of the hardware."""

    def __len__(self) -> int:
        return len(self.start_ps)

    @cached_property
    def end_ps(self) -> Int64:
        return self.start_ps + self.duration_ps

    @cached_property
    def on_device(self) -> Bool:
        """Mask of the events that ran on a device."""
        return np.array([track.is_device for track in self.tracks], bool)[self.track]

    @cached_property
    def is_annotation(self) -> Bool:
        """Mask of the events that enclose or describe others and do no work themselves.

        Steps, modules and scopes of TPU planes describe the time of the ops on another line.
        """
        is_work_track = np.ones(len(self.tracks), bool)
        tracks = [(at, track) for at, track in enumerate(self.tracks) if track.is_device]
        for device in {track.device for _, track in tracks}:
            numbers = [at for at, track in tracks if track.device == device]
            work = _select_work_tracks({at: self.tracks[at].name for at in numbers})
            is_work_track[[at for at in numbers if at not in work]] = False
        return self.match_categories(*_ANNOTATION_CATEGORIES) | ~is_work_track[self.track]

    @cached_property
    def is_device_work(self) -> Bool:
        """Mask of the events that keep a device busy: kernels, copies and ops."""
        return self.on_device & ~self.is_annotation

    @cached_property
    def hlo_modules(self) -> tuple[HloModule, ...]:
        """The XLA programs, parsed once. Damaged programs are skipped."""
        return tuple(_iter_hlo_modules(self.iter_hlo_protos()))

    def match_names(self, predicate: Callable[[str], bool]) -> Bool:
        """Return a mask of the events whose name matches. Each unique name is tested once."""
        is_match = np.array([predicate(name) for name in self.names], bool)
        # `take` is twice as fast as indexing with integers of 32 bits.
        return is_match.take(self.name) if is_match.any() else np.zeros(len(self), bool)

    def match_categories(self, *names: str) -> Bool:
        """Return a mask of the events in any of the given categories."""
        is_match = np.array([name in names for name in self.categories], bool)
        if not is_match.any():
            return np.zeros(len(self), bool)
        return is_match.take(self.category)

    def get_int_args(self, key: str) -> tuple[Int64, Int64]:
        """Return the events with an integer argument of this key, and its values."""
        return self._select_args(key, INT)

    def get_float_args(self, key: str) -> tuple[Int64, Float64]:
        """Return the events with a float argument of this key, and its values."""
        events, bits = self._select_args(key, FLOAT)
        return events, bits.view(np.float64)

    def get_text_args(self, key: str) -> tuple[Int64, list[str]]:
        """Return the events with a text argument of this key, and its values."""
        events, inverse, texts = self.get_unique_text_args(key)
        return events, [texts[index] for index in inverse.tolist()]

    def get_unique_text_args(self, key: str) -> tuple[Int64, Int64, list[str]]:
        """Return the events with a text argument of this key, text indices and unique texts."""
        events, bits = self._select_args(key, TEXT)
        ids, inverse = unique_inverse(bits)
        return events, inverse, [self.get_text(id) for id in ids.tolist()]

    def get_args(self, event: int) -> dict[str, int | float | str]:
        """Return all arguments of one event."""
        return self.get_args_of_rows(np.flatnonzero(self.args.event == event))

    def get_args_of_rows(self, rows: Int64) -> dict[str, int | float | str]:
        """Return the arguments in some rows of ``args``."""
        return {self.arg_keys[self.args.key[row]]: self._get_value(row) for row in rows.tolist()}

    def _get_value(self, row: int) -> int | float | str:
        bits = int(self.args.bits[row])
        if self.args.kind[row] == TEXT:
            return self.get_text(bits)
        return float(np.int64(bits).view(np.float64)) if self.args.kind[row] == FLOAT else bits

    def _select_args(self, key: str, kind: int) -> tuple[Int64, Int64]:
        """Return the events and the bits of the arguments of a key and kind."""
        if key not in self.arg_keys:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        group = _KINDS * self.arg_keys.index(key) + kind
        if group not in self._selected_args:
            rows = np.flatnonzero(self._arg_groups == group)
            columns = self.args.event[rows], self.args.bits[rows]
            for column in columns:
                column.flags.writeable = False
            self._selected_args[group] = columns
        return self._selected_args[group]

    @cached_property
    def _arg_groups(self) -> NDArray[Any]:
        """A number for the key and kind of each row of ``args``, small to be compared quickly."""
        count = _KINDS * len(self.arg_keys)
        group_type = np.uint16 if count < 1 << 16 else np.int64
        groups: NDArray[Any] = self.args.key.astype(group_type)
        groups *= group_type(_KINDS)
        groups += self.args.kind
        return groups

    @cached_property
    def _selected_args(self) -> dict[int, tuple[Int64, Int64]]:
        """What `_select_args` has returned, as analyses select the same arguments again."""
        return {}


def _select_work_tracks(names: dict[int, str]) -> set[int]:
    """Return the tracks of a device whose events are work, given the names of all of them."""
    has_ops = any(name in TPU_OP_LINES for name in names.values())
    streams = {
        at for at, name in names.items() if name.partition(_DERIVED_SUFFIX)[0] not in _DERIVED_LINES
    }
    if streams and not has_ops:
        return streams
    lines = (*TPU_OP_LINES, *_TPU_MODULE_LINES)
    line = next((line for line in lines if line in names.values()), None)
    return {at for at, name in names.items() if name == line}


def make_empty_trace(problems: tuple[str | Message, ...] = ()) -> Trace:
    """Return a trace without events."""
    int64, int32 = np.empty(0, np.int64), np.empty(0, np.int32)
    args = ArgTable(int64, int32, np.empty(0, np.uint8), int64)
    return Trace((), (), (), int32, int32, int32, int64, int64, (), args, str, problems=problems)


def _iter_hlo_modules(protos: Iterable[bytes]) -> Iterator[HloModule]:
    with suppress(FormatError):  # the file is truncated
        for proto in protos:
            with suppress(FormatError):
                yield parse_hlo_module(proto)


def detect_framework(trace: Trace) -> Framework:
    """Return the framework that wrote a trace, judged by its categories and event names."""
    if any(trace.categories):
        if _TORCH_CATEGORIES.intersection(trace.categories):
            return "torch"
        return "python" if "python_function" in trace.categories else "chrome"
    is_jax = any("PjRt" in name or "pjit" in name.lower() for name in trace.names)
    return "jax" if is_jax else "tensorflow"


def format_ms(ms: float) -> str:
    """Format a duration in the most readable unit: ``3.7 s``, ``49.2 ms``, ``38.4 µs``.

    `formatMs` in ``web/src/lib/format.ts`` formats the same way.
    """
    size = abs(ms)
    if size >= 1000:
        return f"{_format_3_digits(ms / 1000)} s"
    if size >= 0.1 or size == 0:
        return f"{_format_3_digits(ms)} ms"
    if size >= 1e-4:
        return f"{_format_3_digits(ms * 1000)} \N{MICRO SIGN}s"
    return f"{_format_3_digits(ms * 1e6)} ns"


def _format_3_digits(value: float) -> str:
    """Round to three significant digits, without an exponent."""
    if value == 0:
        return "0"
    decimals = max(_SIGNIFICANT_DIGITS - 1 - floor(log10(abs(value))), 0)
    text = f"{round(value, decimals):.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# ---- clean-up

#: About eleven days. No capture is that long, and sums of a few such times fit into 64 bits.
_MAX_SPAN_PS = 1e18
#: Older versions of PyTorch's profiler write whole microseconds.
_ROUNDING_PS = 1_000_000
_CORRELATION_KEYS = ("correlation_id", "correlation")
#: Device clocks are only this precise. Smaller offsets are left alone.
_MIN_BEHIND_PS = 100_000_000
#: When there are many launches, not all of them wait this long.
_MIN_AHEAD_PS = 10_000_000_000_000


def sort_events(track: Int32 | Int64, start_ps: Int64, duration_ps: Int64) -> Int64 | None:
    """Return the order by track, start and descending duration; None if events have it already."""
    is_later, is_same = start_ps[1:] > start_ps[:-1], start_ps[1:] == start_ps[:-1]
    is_tie = is_same & (duration_ps[1:] <= duration_ps[:-1])
    if (np.where(track[1:] == track[:-1], is_later | is_tie, track[1:] > track[:-1])).all():
        return None
    order = np.argsort(start_ps, kind="stable")
    is_same = np.diff(start_ps[order]) == 0
    tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
    rows = order[tied]
    order[tied] = rows[np.lexsort((-duration_ps[rows], start_ps[rows]))]
    # NumPy sorts 16-bit integers by radix, which is faster.
    tracks = track.astype(np.uint16) if track.max() < 1 << 16 else track
    return order[np.argsort(tracks[order], kind="stable")]


def mask_plausible_events(start_ps: Float64, duration_ps: Float64 | Int64) -> Bool:
    """Return a mask of the events that are within days of the median event and last no longer."""
    if not len(start_ps):
        return np.zeros(0, bool)
    if np.ptp(start_ps) < _MAX_SPAN_PS and duration_ps.max() < _MAX_SPAN_PS:
        return np.ones(len(start_ps), bool)
    half = (len(start_ps) - 1) // 2
    median = np.partition(start_ps, half)[half]
    is_near: Bool = np.abs(start_ps - median) < _MAX_SPAN_PS
    return is_near & (duration_ps < _MAX_SPAN_PS)


def iter_implausible_warnings(is_plausible: Bool) -> Iterator[Message]:
    count = len(is_plausible) - int(is_plausible.sum())
    if count:
        yield Message.format(
            "profile.implausible_times",
            "Ignored events with a time that is more than ten days from the others: {count:,}",
            count=count,
        )


def snap_rounded_events(track: Int64, start_ps: Int64, end_ps: Int64) -> Int64:
    """Return ends with which nested calls nest again after all times were rounded.

    Starts keep their order, but a child may end up to a microsecond after its parent, and two calls
    in a row may overlap by as much. Longer overlaps are left alone.

    Args:
        track: Track of each event. Only threads are passed, as kernels do overlap.
        start_ps: Start of each event.
        end_ps: End of each event, in the order of the file: parents are written first.
    """
    end: Int64 = end_ps.copy()
    order = np.lexsort((start_ps - end, start_ps, track))
    for rows in np.split(order, np.flatnonzero(np.diff(track[order])) + 1):
        starts, ends = start_ps[rows].tolist(), end[rows].tolist()
        _snap_ends(starts, ends, _order_ties(starts, ends, rows.tolist()))
        end[rows] = ends
    return end


def _order_ties(starts: list[int], ends: list[int], file_order: list[int]) -> list[int]:
    """Order events that start together and are about as long as in the file."""
    order = list(range(len(starts)))
    for at in range(1, len(order)):
        while (
            at > 0
            and starts[order[at]] == starts[order[at - 1]]
            and ends[order[at - 1]] - ends[order[at]] <= _ROUNDING_PS
            and file_order[order[at]] < file_order[order[at - 1]]
        ):
            order[at - 1], order[at] = order[at], order[at - 1]
            at -= 1
    return order


def _snap_ends(starts: list[int], ends: list[int], order: list[int]) -> None:
    """Move ends that exceed the parent, or the start of the next event, by a rounding error."""
    stack: list[int] = []
    for at in order:
        while stack:
            top = stack[-1]
            overlap, excess = ends[top] - starts[at], ends[at] - ends[top]
            if overlap <= 0:
                stack.pop()
            elif excess <= 0:
                break
            elif excess <= _ROUNDING_PS and (overlap > _ROUNDING_PS or starts[top] == starts[at]):
                ends[at] = ends[top]
                break
            elif overlap <= _ROUNDING_PS:
                ends[top] = starts[at]
                stack.pop()
            else:
                break
        stack.append(at)


def align_device_clocks(trace: Trace) -> Trace:
    """Return the trace with device events shifted so that kernels start after their launch."""
    problems, counters = list(trace.problems), list(trace.counters)
    start = trace.start_ps
    for process in sorted({track.process for track in trace.tracks if track.is_device}):
        in_process = np.array([track.process == process for track in trace.tracks])[trace.track]
        mask = in_process & trace.on_device
        shift_ps = _compute_shift(_measure_launch_delays(trace, mask))
        if shift_ps:
            start = start + np.where(mask, shift_ps, 0)
            counters = [_shift_counter(counter, shift_ps, process) for counter in counters]
            offset = format_ms(abs(shift_ps) / PS_PER_MS)
            problems.append(_describe_shift(process, offset, is_behind=shift_ps > 0))
    if start is trace.start_ps:
        return trace
    base_ps = min(int(start.min()), 0)
    return replace(
        trace,
        start_ps=start - base_ps,
        counters=tuple(
            counter._replace(times_ps=counter.times_ps - base_ps) for counter in counters
        ),
        problems=tuple(problems),
    )


def _shift_counter(counter: RecordedCounter, shift_ps: int, process: str) -> RecordedCounter:
    """Shift a counter of a device like its events."""
    if counter.process != process:
        return counter
    return counter._replace(times_ps=counter.times_ps + shift_ps)


def _describe_shift(process: str, offset: str, is_behind: bool) -> Message:
    if is_behind:
        return Message.format(
            "profile.clock_behind",
            "The clock of {process} was {offset} behind the host clock; corrected",
            process=process,
            offset=offset,
        )
    return Message.format(
        "profile.clock_ahead",
        "The clock of {process} was {offset} ahead of the host clock; corrected",
        process=process,
        offset=offset,
    )


def _compute_shift(delays: Int64) -> int:
    if not len(delays):
        return 0
    # The shortest delay, except for the 1 % whose ids may be wrong.
    rank = len(delays) // 100
    shortest = int(np.partition(delays, rank)[rank])
    return -shortest if shortest < -_MIN_BEHIND_PS or shortest > _MIN_AHEAD_PS else 0


def _measure_launch_delays(trace: Trace, is_kernel: Bool) -> Int64:
    """Return the time from each launch to the start of its kernel."""
    for key in _CORRELATION_KEYS:
        events, ids = trace.get_int_args(key)
        if len(events):
            on_host = ~trace.on_device[events]
            order = np.argsort(ids[on_host], kind="stable")
            launch_ids, launches = ids[on_host][order], events[on_host][order]
            kernels, kernel_ids = events[is_kernel[events]], ids[is_kernel[events]]
            match = np.searchsorted(launch_ids, kernel_ids)
            matches = match < len(launch_ids)
            matches[matches] = launch_ids[match[matches]] == kernel_ids[matches]
            launch_start = trace.start_ps[launches[match[matches]]]
            delays: Int64 = trace.start_ps[kernels[matches]] - launch_start
            return delays
    return np.empty(0, np.int64)


# ---- devices and versions

#: Metadata keys, their labels, and whether the version is packed as 13020 for 13.2.
_VERSION_KEYS: dict[str, tuple[str | Message, bool]] = {
    "jax_version": ("JAX", False),
    "jaxlib_version": ("jaxlib", False),
    "cuda_driver_version": (Message("profile.fact_cuda_driver", "CUDA driver"), True),
    "cuda_runtime_version": (Message("profile.fact_cuda_runtime", "CUDA runtime"), True),
    "cupti_version": ("CUPTI", False),
}
_DISTRIBUTED_KEYS = {
    "backend": Message("profile.fact_backend", "Distributed backend"),
    "rank": Message("profile.fact_rank", "Rank"),
    "world_size": Message("profile.fact_world_size", "World size"),
}


def parse_xplane_device(stats: Mapping[str, float | str]) -> Device:
    """Return the device that the stats of an XPlane describe."""
    return Device(
        name=str(stats.get("gpu_device_name") or stats.get("device_type_string") or ""),
        multiprocessors=int(_parse_number(stats.get("core_count"))),
        clock_hz=_parse_number(stats.get("clock_rate")) * 1e3,
        memory_bytes_per_s=_parse_number(stats.get("memory_bandwidth")),
        memory_bytes=int(_parse_number(stats.get("memory_size"))),
        compute_capability=(
            int(_parse_number(stats.get("compute_cap_major"))),
            int(_parse_number(stats.get("compute_cap_minor"))),
        ),
    )


def parse_kineto_devices(properties: object) -> tuple[Device, ...]:
    """Return the devices in the ``deviceProperties`` of a PyTorch trace, used or not."""
    entries: Iterable[Any] = properties if isinstance(properties, list) else ()
    return tuple(
        Device(
            name=str(entry.get("name", "")),
            multiprocessors=int(_parse_number(entry.get("numSms"))),
            memory_bytes=int(_parse_number(entry.get("totalGlobalMem"))),
            compute_capability=(
                int(_parse_number(entry.get("computeMajor"))),
                int(_parse_number(entry.get("computeMinor"))),
            ),
        )
        for entry in entries
        if isinstance(entry, dict)
    )


def parse_versions(stats: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return labels and versions of the software that a profiler recorded."""
    return tuple(
        (label, _format_version(stats[key], is_packed))
        for key, (label, is_packed) in _VERSION_KEYS.items()
        if stats.get(key) not in (None, "", 0)
    )


def parse_chrome_environment(header: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return versions and distributed settings from the header of a PyTorch trace."""
    info = header.get("distributedInfo")
    distributed = info if isinstance(info, dict) else {}
    facts = (
        (label, str(distributed[key]))
        for key, label in _DISTRIBUTED_KEYS.items()
        if key in distributed
    )
    return (*parse_versions(header), *facts)


def parse_rank(header: Mapping[str, Any]) -> int | None:
    """Return the rank in the header of a PyTorch trace; None if the program is not distributed."""
    info = header.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else None


def _format_version(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text


def _parse_number(value: object) -> float:
    """Return a number or the number in a text; 0 if it is neither or out of range."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 1e20 else 0.0
