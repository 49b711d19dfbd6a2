"""What was taken of memory and given back, as allocators reported it, in one form.

TensorFlow and JAX report both with the state of the allocator, PyTorch with what it had in all; who
an allocation of PyTorch was for is the op during which it was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import nan
from typing import Any, NamedTuple

import numpy as np

from tracklight.formats.tensor import DType, get_type_name
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Int64

_TAKES, _GIVES = "MemoryAllocation", "MemoryDeallocation"
_TORCH = "[memory]"
_TORCH_DEVICES = {0: "CPU", 1: "CUDA", 2: "MKLDNN", 6: "HIP", 9: "XLA", 13: "MPS"}
_DEVICE = re.compile(r"gpu|cuda|hip|tpu|mps|bfc", re.I)


class MemoryEvent(NamedTuple):
    """``bytes`` is negative where memory was given back."""

    event: int
    time_ps: int
    address: int
    bytes: int
    requested: int
    heap: int
    """What was in use after it."""
    stack: int
    """What was in use beside that."""
    cache: int
    """What the allocator holds of the device without anybody using it."""
    free: int
    """What there was left; -1: nobody says."""
    peak: int
    """The most that ever was in use; -1: nobody says."""
    fragmentation: float
    op: str = ""
    region: str = ""
    type: str = ""
    shape: str = ""

    @property
    def in_use(self) -> int:
        return self.heap + self.stack


def find_allocators(trace: Trace) -> dict[str, list[MemoryEvent]]:
    """What happened in each allocator, in the order of time."""
    found: dict[str, list[MemoryEvent]] = {}
    for name, event in (*_iter_plane(trace), *_iter_torch(trace)):
        found.setdefault(name, []).append(event)
    for events in found.values():
        events.sort(key=lambda each: each.time_ps)
    return found


def has_allocators(trace: Trace) -> bool:
    """Whether any allocator reported anything, which is quicker to find out than what."""
    return any(name in (_TAKES, _GIVES, _TORCH) for name in trace.names)


def is_of_device(allocator: str) -> bool:
    return bool(_DEVICE.search(allocator)) and "host" not in allocator.lower()


def _iter_plane(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    gives = trace.find_names(lambda name: name == _GIVES)
    events = np.flatnonzero(trace.find_names(lambda name: name == _TAKES) | gives)
    if not len(events):
        return
    said = _Said(trace, events)
    for event in events.tolist():
        sign = -1 if gives[event] else 1
        name = said.text("allocator_name", event) or f"memory {said.whole('device_ordinal', event)}"
        op, colon, kind = said.text("tf_op", event).rpartition(":")
        yield (
            name,
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=said.whole("addr", event),
                bytes=sign * said.whole("allocation_bytes", event),
                requested=said.whole("requested_bytes", event),
                heap=said.whole("bytes_allocated", event),
                stack=said.whole("bytes_reserved", event),
                cache=0,
                free=said.whole("bytes_available", event, -1),
                peak=said.whole("peak_bytes_in_use", event, -1),
                fragmentation=said.real("fragmentation", event),
                op=op if colon else kind,
                region=said.text("region_type", event),
                type=_name_type(said.whole("data_type", event)),
                shape=said.text("shape", event),
            ),
        )


def _iter_torch(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    events = np.flatnonzero(trace.find_names(lambda name: name == _TORCH))
    if not len(events):
        return
    said = _Said(trace, events)
    around = find_around(trace, trace.find_categories("cpu_op"), events)
    for event, op in zip(events.tolist(), around.tolist(), strict=True):
        heap = said.whole("total_allocated", event)
        size = said.whole("allocated", event)
        yield (
            _name_device(said, event),
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=said.whole("address", event),
                bytes=size,
                requested=abs(size),
                heap=heap,
                stack=0,
                cache=max(said.whole("total_reserved", event) - heap, 0),
                free=-1,
                peak=-1,
                fragmentation=nan,
                op=trace.names[trace.name[op]] if op >= 0 else "",
            ),
        )


def _name_device(said: _Said, event: int) -> str:
    kind = said.whole("device_type", event)
    name = _TORCH_DEVICES.get(kind, f"device of kind {kind}")
    return name if kind == 0 else f"{name} {max(said.whole('device_id', event), 0)}"


def _name_type(number: int) -> str:
    try:
        return get_type_name(DType(number % 100)) if number else ""
    except ValueError:
        return ""


def find_around(trace: Trace, which: Bool, events: Int64) -> Int64:
    """Of each event, the innermost of certain others that goes on around it; -1: none."""
    around = np.full(len(events), -1, np.int64)
    places = {event: at for at, event in enumerate(events.tolist())}
    for track in np.unique(trace.track[events]).tolist():
        first, last = np.searchsorted(trace.track, [track, track + 1]).tolist()
        open_: list[tuple[int, int]] = []
        mine = np.flatnonzero(which[first:last] | np.isin(np.arange(first, last), events)) + first
        for event in mine.tolist():
            start = int(trace.start_ps[event])
            while open_ and open_[-1][1] < start:
                open_.pop()
            if event in places:
                around[places[event]] = open_[-1][0] if open_ else -1
            else:
                open_.append((event, start + int(trace.duration_ps[event])))
    return around


class _Said:
    """What is said of some events, by key; each key is looked up once."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self._trace = trace
        self._wanted = np.zeros(len(trace), bool)
        self._wanted[events] = True
        self._known: dict[tuple[str, str], dict[int, Any]] = {}

    def whole(self, key: str, event: int, missing: int = 0) -> int:
        return int(self._get("whole", key).get(event, missing))

    def text(self, key: str, event: int) -> str:
        return str(self._get("text", key).get(event, ""))

    def real(self, key: str, event: int) -> float:
        found = self._get("real", key).get(event)
        return float(self.whole(key, event, -1)) if found is None else float(found)

    def _get(self, kind: str, key: str) -> dict[int, Any]:
        if (kind, key) not in self._known:
            self._known[kind, key] = dict(self._iter(kind, key))
        return self._known[kind, key]

    def _iter(self, kind: str, key: str) -> Iterator[tuple[int, Any]]:
        if kind == "text":
            events, texts = self._trace.find_texts(key)
            pairs = zip(events.tolist(), texts, strict=True)
            yield from (pair for pair in pairs if self._wanted[pair[0]])
            return
        find = self._trace.find_reals if kind == "real" else self._trace.find_numbers
        events, numbers = find(key)
        mine = self._wanted[events]
        yield from zip(events[mine].tolist(), numbers[mine].tolist(), strict=True)
