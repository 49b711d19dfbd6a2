"""What was taken of memory, given back, and kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.formats.profiles.pprof import PprofFrame, PprofProfile, PprofSample
from tracklight.formats.tensor import DType, get_dtype_name
from tracklight.types import Bool, Int64

# What was taken of memory and given back, as allocators reported it, in one form.
#
# TensorFlow and JAX report both with the state of the allocator, PyTorch with what it had in all; who
# an allocation of PyTorch was for is the op during which it was made.

_ALLOCATION, _DEALLOCATION = "MemoryAllocation", "MemoryDeallocation"

_TORCH_MEMORY = "[memory]"

_TORCH_DEVICES = {0: "CPU", 1: "CUDA", 2: "MKLDNN", 6: "HIP", 9: "XLA", 13: "MPS"}

_DEVICE_ALLOCATOR = re.compile(r"gpu|cuda|hip|tpu|mps|bfc", re.I)


class MemoryEvent(NamedTuple):
    """``bytes`` is negative where memory was given back."""

    event: int
    time_ps: int
    address: int
    bytes: int
    requested_bytes: int
    heap_bytes: int
    """What was in use after it."""
    stack_bytes: int
    """What was in use beside that."""
    cache_bytes: int
    """What the allocator holds of the device without anybody using it."""
    free_bytes: int
    """What there was left; -1: nobody says."""
    peak_bytes: int
    """The most that ever was in use; -1: nobody says."""
    fragmentation: float
    op: str = ""
    region: str = ""
    type: str = ""
    shape: str = ""

    @property
    def in_use_bytes(self) -> int:
        return self.heap_bytes + self.stack_bytes


def collect_allocator_events(trace: Trace) -> dict[str, list[MemoryEvent]]:
    """What happened in each allocator, in the order of time."""
    found: dict[str, list[MemoryEvent]] = {}
    for name, event in (*_iter_xplane_events(trace), *_iter_torch_events(trace)):
        found.setdefault(name, []).append(event)
    for events in found.values():
        events.sort(key=lambda each: each.time_ps)
    return found


def has_allocator_events(trace: Trace) -> bool:
    """Whether any allocator reported anything, which is quicker to find out than what."""
    return any(name in (_ALLOCATION, _DEALLOCATION, _TORCH_MEMORY) for name in trace.names)


def is_device_allocator(allocator: str) -> bool:
    return bool(_DEVICE_ALLOCATOR.search(allocator)) and "host" not in allocator.lower()


def _iter_xplane_events(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    gives = trace.match_names(lambda name: name == _DEALLOCATION)
    events = np.flatnonzero(trace.match_names(lambda name: name == _ALLOCATION) | gives)
    if not len(events):
        return
    said = _EventArgs(trace, events)
    for event in events.tolist():
        sign = -1 if gives[event] else 1
        name = (
            said.get_text("allocator_name", event)
            or f"memory {said.get_int('device_ordinal', event)}"
        )
        op, colon, kind = said.get_text("tf_op", event).rpartition(":")
        yield (
            name,
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=said.get_int("addr", event),
                bytes=sign * said.get_int("allocation_bytes", event),
                requested_bytes=said.get_int("requested_bytes", event),
                heap_bytes=said.get_int("bytes_allocated", event),
                stack_bytes=said.get_int("bytes_reserved", event),
                cache_bytes=0,
                free_bytes=said.get_int("bytes_available", event, -1),
                peak_bytes=said.get_int("peak_bytes_in_use", event, -1),
                fragmentation=said.get_float("fragmentation", event),
                op=op if colon else kind,
                region=said.get_text("region_type", event),
                type=_get_type_name(said.get_int("data_type", event)),
                shape=said.get_text("shape", event),
            ),
        )


def _iter_torch_events(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    events = np.flatnonzero(trace.match_names(lambda name: name == _TORCH_MEMORY))
    if not len(events):
        return
    said = _EventArgs(trace, events)
    around = get_enclosing_events(trace, trace.match_categories("cpu_op"), events)
    for event, op in zip(events.tolist(), around.tolist(), strict=True):
        heap = said.get_int("total_allocated", event)
        size = said.get_int("allocated", event)
        yield (
            _get_torch_allocator(said, event),
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=said.get_int("address", event),
                bytes=size,
                requested_bytes=abs(size),
                heap_bytes=heap,
                stack_bytes=0,
                cache_bytes=max(said.get_int("total_reserved", event) - heap, 0),
                free_bytes=-1,
                peak_bytes=-1,
                fragmentation=nan,
                op=trace.names[trace.name[op]] if op >= 0 else "",
            ),
        )


def _get_torch_allocator(said: _EventArgs, event: int) -> str:
    kind = said.get_int("device_type", event)
    name = _TORCH_DEVICES.get(kind, f"device of kind {kind}")
    return name if kind == 0 else f"{name} {max(said.get_int('device_id', event), 0)}"


def _get_type_name(number: int) -> str:
    try:
        return get_dtype_name(DType(number % 100)) if number else ""
    except ValueError:
        return ""


def get_enclosing_events(trace: Trace, which: Bool, events: Int64) -> Int64:
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


class _EventArgs:
    """What is said of some events, by key; each key is looked up once."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self._trace = trace
        self._wanted = np.zeros(len(trace), bool)
        self._wanted[events] = True
        self._known: dict[tuple[str, str], dict[int, Any]] = {}

    def get_int(self, key: str, event: int, missing: int = 0) -> int:
        return int(self._get_column("whole", key).get(event, missing))

    def get_text(self, key: str, event: int) -> str:
        return str(self._get_column("text", key).get(event, ""))

    def get_float(self, key: str, event: int) -> float:
        found = self._get_column("real", key).get(event)
        return float(self.get_int(key, event, -1)) if found is None else float(found)

    def _get_column(self, kind: str, key: str) -> dict[int, Any]:
        if (kind, key) not in self._known:
            self._known[kind, key] = dict(self._iter_values(kind, key))
        return self._known[kind, key]

    def _iter_values(self, kind: str, key: str) -> Iterator[tuple[int, Any]]:
        if kind == "text":
            events, texts = self._trace.get_text_args(key)
            pairs = zip(events.tolist(), texts, strict=True)
            yield from (pair for pair in pairs if self._wanted[pair[0]])
            return
        find = self._trace.get_float_args if kind == "real" else self._trace.get_int_args
        events, numbers = find(key)
        mine = self._wanted[events]
        yield from zip(events[mine].tolist(), numbers[mine].tolist(), strict=True)


# Memory over time: how much was in use, what of at the worst moment, and what never came back.

#: What is taken in so many steps and never given back is lost, not merely late.
MIN_LEAK_STEPS = 3

BEFORE_REGION = "before"

STACK_REGION = "stack"


class AllocationGroup(NamedTuple):
    """Memory that was taken alike, and how often."""

    op: str
    bytes: int
    """Of all of them."""
    requested_bytes: int
    occurrences: int
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
    peak_index: int
    """Which event it was after which most was in use."""
    peak_groups: list[AllocationGroup]
    """What was in use then, the largest first."""
    leaks: list[AllocationGroup]
    step_heap_bytes: Int64
    """What was in use at the end of each step."""

    @property
    def lifetime_peak_bytes(self) -> int:
        """The most that was in use, before the capture as well; -1: nobody says."""
        return max((event.peak_bytes for event in self.events), default=-1)


def analyze_memory(trace: Trace, steps: Steps) -> list[Allocator]:
    """All allocators, those of devices first, then those of which most was in use."""
    found = [
        _make_allocator(name, events, steps)
        for name, events in collect_allocator_events(trace).items()
    ]
    return sorted(
        found, key=lambda each: (not each.is_device, -each.events[each.peak_index].in_use_bytes)
    )


def _make_allocator(name: str, events: list[MemoryEvent], steps: Steps) -> Allocator:
    peak = int(np.argmax([event.in_use_bytes for event in events]))
    living, left = _list_live(events[: peak + 1]), _list_live(events)
    pieces = [*_group_allocations(living), *_list_unattributed(events[peak], living)]
    pieces.sort(key=lambda piece: -piece.bytes)
    leaks = _list_leaks(left, steps)
    return Allocator(
        name,
        is_device_allocator(name),
        events,
        peak,
        pieces,
        leaks,
        _get_step_heap_bytes(events, steps),
    )


def _list_live(events: Iterable[MemoryEvent]) -> list[MemoryEvent]:
    """What was taken and not given back up to the last of some events."""
    living: dict[int, MemoryEvent] = {}
    for event in events:
        if event.bytes >= 0:
            living[event.address] = event
        else:
            living.pop(event.address, None)
    return [*living.values()]


def _group_allocations(events: Iterable[MemoryEvent]) -> list[AllocationGroup]:
    alike: dict[tuple[str, int, int, str, str, str], list[MemoryEvent]] = {}
    for each in events:
        key = (each.op, each.bytes, each.requested_bytes, each.region, each.type, each.shape)
        alike.setdefault(key, []).append(each)
    return [
        AllocationGroup(
            op, size * len(own), asked * len(own), len(own), region, kind, shape, own[0].event
        )
        for (op, size, asked, region, kind, shape), own in alike.items()
    ]


def _list_unattributed(at: MemoryEvent, living: Sequence[MemoryEvent]) -> list[AllocationGroup]:
    """What nobody was seen to take: it was there before, mostly weights."""
    before = at.heap_bytes - sum(event.bytes for event in living)
    rest = [AllocationGroup("", before, before, 1, BEFORE_REGION, "", "", -1)] if before > 0 else []
    return rest + (
        [AllocationGroup("", at.stack_bytes, at.stack_bytes, 1, STACK_REGION, "", "", -1)]
        if at.stack_bytes > 0
        else []
    )


def _list_leaks(left: Sequence[MemoryEvent], steps: Steps) -> list[AllocationGroup]:
    """What was taken alike in step after step and is still there when the capture ends."""
    which = np.searchsorted(steps.spans[:, 0], [event.time_ps for event in left], "right") - 1
    of: dict[tuple[str, int, str], list[tuple[int, MemoryEvent]]] = {}
    for step, event in zip(which.tolist(), left, strict=True):
        # What the last step took may well be given back after it.
        if 0 <= step < len(steps.names) - 1:
            of.setdefault((event.op, event.bytes, event.shape), []).append((step, event))
    leaks = [
        _group_allocations(event for _, event in own)[0]._replace(
            steps=count, bytes=size * len(own)
        )
        for (_, size, _), own in of.items()
        if (count := len({step for step, _ in own})) >= MIN_LEAK_STEPS
    ]
    return sorted(leaks, key=lambda piece: -piece.bytes)


def _get_step_heap_bytes(events: Sequence[MemoryEvent], steps: Steps) -> Int64:
    times = [event.time_ps for event in events]
    last = np.searchsorted(times, steps.spans[:, 1], "right") - 1
    heaps = np.array([event.heap_bytes for event in events], np.int64)
    # Before the first event, what was in use is what that left less what it took.
    return np.where(last >= 0, heaps[last], events[0].heap_bytes - events[0].bytes)


# What holds memory at one moment, by the line of the user's program that asked for it.

#: Code that is installed and not written by who reads this.
_INSTALLED_CODE = re.compile(r"(site|dist)-packages[/\\]|^<frozen|[/\\]lib[/\\]python3")


class HeapSample(NamedTuple):
    location: str
    """File, line and function of the user's program; empty where nobody says."""
    stack: tuple[str, ...]
    """All that was called, the innermost first."""
    kind: str
    device: str
    occurrences: int
    bytes: int


def list_heap_samples(profile: PprofProfile) -> list[HeapSample]:
    """The largest first."""
    names = [name.lower() for name in profile.types]
    size = next((at for at, name in enumerate(names) if name in ("space", "bytes")), -1)
    held = (_make_sample(sample, size) for sample in profile.samples)
    return sorted(held, key=lambda each: -each.bytes)


def _make_sample(sample: PprofSample, size: int) -> HeapSample:
    own = next((frame for frame in sample.stack if not _INSTALLED_CODE.search(frame.file)), None)
    return HeapSample(
        location=_format_frame(own or sample.stack[0]) if sample.stack else "",
        stack=tuple(map(_format_frame, sample.stack)),
        kind=sample.labels.get("kind", ""),
        device=sample.labels.get("device", ""),
        occurrences=sample.values[0] if sample.values else 0,
        bytes=sample.values[size] if sample.values else 0,
    )


def _format_frame(frame: PprofFrame) -> str:
    place = f"{frame.file}:{frame.line}" if frame.line else frame.file
    return f"{frame.function} {place}".strip()
