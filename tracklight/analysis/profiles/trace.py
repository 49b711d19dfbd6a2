"""What is known of the devices that a capture was taken of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import floor, log10
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.errors import FormatError
from tracklight.formats.profiles.hlo import HloModule, parse_hlo_module
from tracklight.types import Bool, Float64, Int32, Int64


class Device(NamedTuple):
    """0 where a profiler does not say."""

    name: str = ""
    multiprocessors: int = 0
    clock_hz: float = 0.0
    memory_bytes_per_s: float = 0.0
    """How fast its memory is."""
    memory_bytes: int = 0
    compute_capability: tuple[int, int] = (0, 0)
    """The version of what it can compute, as its maker counts."""


# The one form of a trace, whichever profiler wrote it: events as columns, in tracks.
#
# Times are picoseconds since the capture began, the finest that any profiler gives. What is said of
# events (the arguments of a call, a kernel's grid) stays in a table of its own, as most of it is
# never looked at.


class Track(NamedTuple):
    """A thread of a process, or a stream or queue of a device."""

    process: str
    name: str
    id: int
    is_device: bool


class ArgTable(NamedTuple):
    """What is said of events: one row for each thing said."""

    event: Int64
    key: Int32
    """Which of the keys."""
    kind: NDArray[np.uint8]
    bits: Int64
    """A whole number, the bits of a real one, or which text it is, for `read_text`."""

    def reorder(self, order: Int64, count: int) -> ArgTable:
        """The same of events that are put in another order, of ``count`` those in ``order``."""
        places = np.full(count, -1, np.int64)
        places[order] = np.arange(len(order))
        event = places[self.event]
        if len(order) == count:
            return self._replace(event=event)
        return self._replace(event=event).take(event >= 0)

    def take(self, rows: Int64 | Bool) -> ArgTable:
        return ArgTable(self.event[rows], self.key[rows], self.kind[rows], self.bits[rows])


INT, FLOAT, TEXT = range(3)


@dataclass(frozen=True)
class Trace:
    """Events ordered by track, then by start, and the longer of two that start at once first."""

    tracks: tuple[Track, ...]
    names: tuple[str, ...]
    categories: tuple[str, ...]
    """What the profiler itself tells apart; one without a name where it does not."""
    track: Int32
    name: Int32
    category: Int32
    start_ps: Int64
    duration_ps: Int64
    arg_keys: tuple[str, ...]
    args: ArgTable
    get_text: Callable[[int], str] = field(repr=False)
    start_time_ns: int = 0
    """When the capture began, in nanoseconds since 1970; 0: nobody says."""
    problems: tuple[str, ...] = ()
    iter_hlo_protos: Callable[[], Iterable[bytes]] = field(default=tuple, repr=False)
    """The programs of XLA that ran, where the capture carries them."""
    devices: tuple[Device, ...] = ()
    """What the capture says of the devices, in the order of their numbers."""

    environment: tuple[tuple[str, str], ...] = ()
    """What the capture says of the program and where it ran: names and values."""

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def end_ps(self) -> Int64:
        return self.start_ps + self.duration_ps

    @cached_property
    def on_device(self) -> Bool:
        """Of each event, whether a device did it."""
        return np.array([track.is_device for track in self.tracks], bool)[self.track]

    @cached_property
    def hlo_modules(self) -> tuple[HloModule, ...]:
        """The programs of XLA, decoded once; one that is damaged is left out."""
        return tuple(_iter_modules(self.iter_hlo_protos()))

    def match_names(self, predicate: Callable[[str], bool]) -> Bool:
        """Of each event, whether its name fits; each name is looked at once."""
        return np.array([predicate(name) for name in self.names], bool)[self.name]

    def match_categories(self, *names: str) -> Bool:
        """Of each event, whether its category is one of these."""
        return np.array([name in names for name in self.categories], bool)[self.category]

    def get_int_args(self, key: str) -> tuple[Int64, Int64]:
        """The events of which a whole number is said under a key, and the numbers."""
        rows = self._select_rows(key, INT)
        return self.args.event[rows], self.args.bits[rows]

    def get_float_args(self, key: str) -> tuple[Int64, Float64]:
        """The events of which a real number is said under a key, and the numbers."""
        rows = self._select_rows(key, FLOAT)
        return self.args.event[rows], self.args.bits[rows].view(np.float64)

    def get_text_args(self, key: str) -> tuple[Int64, list[str]]:
        """The events of which a text is said under a key, and the texts."""
        events, which, texts = self.get_unique_text_args(key)
        return events, [texts[each] for each in which.tolist()]

    def get_unique_text_args(self, key: str) -> tuple[Int64, Int64, list[str]]:
        """The same with each text once, and of each event which of them is said."""
        rows = self._select_rows(key, TEXT)
        unlike, which = unique_inverse(self.args.bits[rows])
        return self.args.event[rows], which, [self.get_text(text) for text in unlike.tolist()]

    def get_args(self, event: int) -> dict[str, int | float | str]:
        """All that is said of one event."""
        return self.get_args_of_rows(np.flatnonzero(self.args.event == event))

    def get_args_of_rows(self, rows: Int64) -> dict[str, int | float | str]:
        """What some rows of the table say."""
        return {self.arg_keys[self.args.key[row]]: self._get_value(row) for row in rows.tolist()}

    def _get_value(self, row: int) -> int | float | str:
        bits = int(self.args.bits[row])
        if self.args.kind[row] == TEXT:
            return self.get_text(bits)
        return float(np.int64(bits).view(np.float64)) if self.args.kind[row] == FLOAT else bits

    def _select_rows(self, key: str, kind: int) -> Int64:
        if key not in self.arg_keys:
            return np.empty(0, np.int64)
        return np.flatnonzero(
            (self.args.key == self.arg_keys.index(key)) & (self.args.kind == kind)
        )


def make_empty_trace(problems: tuple[str, ...] = ()) -> Trace:
    """A trace in which nothing was recorded."""
    wide, narrow = np.empty(0, np.int64), np.empty(0, np.int32)
    said = ArgTable(wide, narrow, np.empty(0, np.uint8), wide)
    return Trace((), (), (), narrow, narrow, narrow, wide, wide, (), said, str, problems=problems)


def _iter_modules(programs: Iterable[bytes]) -> Iterator[HloModule]:
    with suppress(FormatError):  # the file breaks off
        for program in programs:
            with suppress(FormatError):
                yield parse_hlo_module(program)


# Durations in words, for sentences that the page and the command line show.
#
# `formatMs` in ``web/src/base/format.ts`` formats the same way.

_DIGITS = 3


def format_ms(ms: float) -> str:
    """Return a duration in the unit that reads best: ``3.7 s``, ``49.2 ms``, ``38.4 µs``."""
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
    decimals = _DIGITS - 1 - floor(log10(abs(value)))
    text = f"{round(value, max(decimals, 0)):.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Framework = Literal["tensorflow", "torch", "jax", "python", "chrome"]


def detect_framework(trace: Trace) -> Framework:
    """Who wrote it: PyTorch tells categories apart, and JAX names what it calls."""
    if any(trace.categories):
        return _detect_chrome_framework(trace)
    is_jax = any("PjRt" in name or "pjit" in name.lower() for name in trace.names)
    return "jax" if is_jax else "tensorflow"


def _detect_chrome_framework(trace: Trace) -> Framework:
    """PyTorch writes its ops beside functions of Python, and our own sampler only those."""
    if _TORCH_CATEGORIES.intersection(trace.categories):
        return "torch"
    return "python" if "python_function" in trace.categories else "chrome"


_TORCH_CATEGORIES = frozenset({"cpu_op", "kernel", "cuda_runtime", "gpu_memcpy"})
