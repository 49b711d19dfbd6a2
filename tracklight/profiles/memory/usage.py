"""Memory over time: how much was in use, what of at the worst moment, and what never came back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tracklight.profiles.memory.events import MemoryEvent, find_allocators, is_of_device
from tracklight.profiles.steps.steps import Steps
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

#: What is taken in so many steps and never given back is lost, not merely late.
LEAK_STEPS = 3
BEFORE = "before"
STACK = "stack"


class Piece(NamedTuple):
    """Memory that was taken alike, and how often."""

    op: str
    bytes: int
    """Of all of them."""
    requested: int
    times: int
    region: str
    """What kind of memory it is; ``before`` for what was in use when the capture began."""
    type: str
    shape: str
    event: int
    """Where the first of them was taken; -1: not in this capture."""
    steps: int = 0
    """Of what was lost, in how many steps."""


class Allocator(NamedTuple):
    name: str
    is_device: bool
    events: list[MemoryEvent]
    peak: int
    """Which event it was after which most was in use."""
    pieces: list[Piece]
    """What was in use then, the largest first."""
    leaks: list[Piece]
    step_heaps: Int64
    """What was in use at the end of each step."""

    @property
    def ever_peak(self) -> int:
        """The most that was in use, before the capture as well; -1: nobody says."""
        return max((event.peak for event in self.events), default=-1)


def find_memory(trace: Trace, steps: Steps) -> list[Allocator]:
    """All allocators, those of devices first, then those of which most was in use."""
    found = [_make(name, events, steps) for name, events in find_allocators(trace).items()]
    return sorted(found, key=lambda each: (not each.is_device, -each.events[each.peak].in_use))


def _make(name: str, events: list[MemoryEvent], steps: Steps) -> Allocator:
    peak = int(np.argmax([event.in_use for event in events]))
    living, left = _find_living(events[: peak + 1]), _find_living(events)
    pieces = [*_sum_up(living), *_find_rest(events[peak], living)]
    pieces.sort(key=lambda piece: -piece.bytes)
    leaks = _find_leaks(left, steps)
    return Allocator(
        name, is_of_device(name), events, peak, pieces, leaks, _find_heaps(events, steps)
    )


def _find_living(events: Iterable[MemoryEvent]) -> list[MemoryEvent]:
    """What was taken and not given back up to the last of some events."""
    living: dict[int, MemoryEvent] = {}
    for event in events:
        if event.bytes >= 0:
            living[event.address] = event
        else:
            living.pop(event.address, None)
    return [*living.values()]


def _sum_up(events: Iterable[MemoryEvent]) -> list[Piece]:
    alike: dict[tuple[str, int, int, str, str, str], list[MemoryEvent]] = {}
    for each in events:
        key = (each.op, each.bytes, each.requested, each.region, each.type, each.shape)
        alike.setdefault(key, []).append(each)
    return [
        Piece(op, size * len(own), asked * len(own), len(own), region, kind, shape, own[0].event)
        for (op, size, asked, region, kind, shape), own in alike.items()
    ]


def _find_rest(at: MemoryEvent, living: Sequence[MemoryEvent]) -> list[Piece]:
    """What nobody was seen to take: it was there before, mostly weights."""
    before = at.heap - sum(event.bytes for event in living)
    rest = [Piece("", before, before, 1, BEFORE, "", "", -1)] if before > 0 else []
    return rest + ([Piece("", at.stack, at.stack, 1, STACK, "", "", -1)] if at.stack > 0 else [])


def _find_leaks(left: Sequence[MemoryEvent], steps: Steps) -> list[Piece]:
    """What was taken alike in step after step and is still there when the capture ends."""
    which = np.searchsorted(steps.spans[:, 0], [event.time_ps for event in left], "right") - 1
    of: dict[tuple[str, int, str], list[tuple[int, MemoryEvent]]] = {}
    for step, event in zip(which.tolist(), left, strict=True):
        # What the last step took may well be given back after it.
        if 0 <= step < len(steps.names) - 1:
            of.setdefault((event.op, event.bytes, event.shape), []).append((step, event))
    leaks = [
        _sum_up(event for _, event in own)[0]._replace(steps=count, bytes=size * len(own))
        for (_, size, _), own in of.items()
        if (count := len({step for step, _ in own})) >= LEAK_STEPS
    ]
    return sorted(leaks, key=lambda piece: -piece.bytes)


def _find_heaps(events: Sequence[MemoryEvent], steps: Steps) -> Int64:
    times = [event.time_ps for event in events]
    last = np.searchsorted(times, steps.spans[:, 1], "right") - 1
    heaps = np.array([event.heap for event in events], np.int64)
    # Before the first event, what was in use is what that left less what it took.
    return np.where(last >= 0, heaps[last], events[0].heap - events[0].bytes)
