"""The in-memory form of a trace, whichever profiler wrote it.

Events are stored as columns. Times are picoseconds since the start of the capture, the finest
resolution of any supported profiler. Event arguments (shapes, grid sizes, correlation ids) are kept
in a table of their own, because most of them are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import floor, log10
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import unique_inverse
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
        return is_match[self.name] if is_match.any() else np.zeros(len(self), bool)

    def match_categories(self, *names: str) -> Bool:
        """Return a mask of the events in any of the given categories."""
        is_match = np.array([name in names for name in self.categories], bool)
        if not is_match.any():
            return np.zeros(len(self), bool)
        return is_match[self.category]

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
