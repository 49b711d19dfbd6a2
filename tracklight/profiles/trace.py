"""The one form of a trace, whichever profiler wrote it: events as columns, in tracks.

Times are picoseconds since the capture began, the finest that any profiler gives. What is said of
events (the arguments of a call, a kernel's grid) stays in a table of its own, as most of it is
never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.hlo import Module, read_module
from tracklight.profiles.columns.numbering import number
from tracklight.profiles.devices import Device
from tracklight.types import Bool, Float64, Int32, Int64


class Track(NamedTuple):
    """A thread of a process, or a stream or queue of a device."""

    process: str
    name: str
    id: int
    is_device: bool


class Said(NamedTuple):
    """What is said of events: one row for each thing said."""

    event: Int64
    key: Int32
    """Which of the keys."""
    kind: NDArray[np.uint8]
    bits: Int64
    """A whole number, the bits of a real one, or which text it is, for `read_text`."""

    def move(self, order: Int64, count: int) -> Said:
        """The same of events that are put in another order, of ``count`` those in ``order``."""
        places = np.full(count, -1, np.int64)
        places[order] = np.arange(len(order))
        event = places[self.event]
        if len(order) == count:
            return self._replace(event=event)
        return self._replace(event=event).take(event >= 0)

    def take(self, rows: Int64 | Bool) -> Said:
        return Said(self.event[rows], self.key[rows], self.kind[rows], self.bits[rows])


WHOLE, REAL, TEXT = range(3)


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
    keys: tuple[str, ...]
    said: Said
    read_text: Callable[[int], str] = field(repr=False)
    began_ns: int = 0
    """When the capture began, in nanoseconds since 1970; 0: nobody says."""
    problems: tuple[str, ...] = ()
    iter_programs: Callable[[], Iterable[bytes]] = field(default=tuple, repr=False)
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
    def modules(self) -> tuple[Module, ...]:
        """The programs of XLA, decoded once; one that is damaged is left out."""
        return tuple(_iter_modules(self.iter_programs()))

    def find_names(self, fits: Callable[[str], bool]) -> Bool:
        """Of each event, whether its name fits; each name is looked at once."""
        return np.array([fits(name) for name in self.names], bool)[self.name]

    def find_categories(self, *names: str) -> Bool:
        """Of each event, whether its category is one of these."""
        return np.array([name in names for name in self.categories], bool)[self.category]

    def find_numbers(self, key: str) -> tuple[Int64, Int64]:
        """The events of which a whole number is said under a key, and the numbers."""
        rows = self._rows(key, WHOLE)
        return self.said.event[rows], self.said.bits[rows]

    def find_reals(self, key: str) -> tuple[Int64, Float64]:
        """The events of which a real number is said under a key, and the numbers."""
        rows = self._rows(key, REAL)
        return self.said.event[rows], self.said.bits[rows].view(np.float64)

    def find_texts(self, key: str) -> tuple[Int64, list[str]]:
        """The events of which a text is said under a key, and the texts."""
        events, which, texts = self.find_unlike_texts(key)
        return events, [texts[each] for each in which.tolist()]

    def find_unlike_texts(self, key: str) -> tuple[Int64, Int64, list[str]]:
        """The same with each text once, and of each event which of them is said."""
        rows = self._rows(key, TEXT)
        unlike, which = number(self.said.bits[rows])
        return self.said.event[rows], which, [self.read_text(text) for text in unlike.tolist()]

    def tell(self, event: int) -> dict[str, int | float | str]:
        """All that is said of one event."""
        return self.tell_rows(np.flatnonzero(self.said.event == event))

    def tell_rows(self, rows: Int64) -> dict[str, int | float | str]:
        """What some rows of the table say."""
        return {self.keys[self.said.key[row]]: self._value(row) for row in rows.tolist()}

    def _value(self, row: int) -> int | float | str:
        bits = int(self.said.bits[row])
        if self.said.kind[row] == TEXT:
            return self.read_text(bits)
        return float(np.int64(bits).view(np.float64)) if self.said.kind[row] == REAL else bits

    def _rows(self, key: str, kind: int) -> Int64:
        if key not in self.keys:
            return np.empty(0, np.int64)
        return np.flatnonzero((self.said.key == self.keys.index(key)) & (self.said.kind == kind))


def make_empty(problems: tuple[str, ...] = ()) -> Trace:
    """A trace in which nothing was recorded."""
    wide, narrow = np.empty(0, np.int64), np.empty(0, np.int32)
    said = Said(wide, narrow, np.empty(0, np.uint8), wide)
    return Trace((), (), (), narrow, narrow, narrow, wide, wide, (), said, str, problems=problems)


def _iter_modules(programs: Iterable[bytes]) -> Iterator[Module]:
    with suppress(FormatError):  # the file breaks off
        for program in programs:
            with suppress(FormatError):
                yield read_module(program)
