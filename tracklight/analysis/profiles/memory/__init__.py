"""Memory: what was allocated, by what, and what was in use at the peak, leaks, and heap profiles.

Allocators report each allocation and deallocation. TensorFlow and JAX record the state of the
allocator with it, PyTorch its total. An allocation of PyTorch belongs to the op during which it was
made. Start with `analyze_memory`; `list_heap_samples` is for memory profiles in the pprof format.

`snapshots` analyzes snapshots of PyTorch's CUDA allocator, and the buffers that XLA assigned to a
program. May import `trace`, `steps`, `xla_programs` and `formats`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.formats.profiles.memory_profiles import PprofFrame, PprofProfile, PprofSample
from tracklight.formats.tensor import DType, get_dtype_name
from tracklight.types import Bool, Int64

#: An allocation that this many steps make and never free is a leak, not just freed late.
MIN_LEAK_STEPS = 3
#: Region of memory that was in use before the capture started.
BEFORE_REGION = "before"
STACK_REGION = "stack"

_ALLOCATION, _DEALLOCATION = "MemoryAllocation", "MemoryDeallocation"
_TORCH_MEMORY = "[memory]"
#: Device types of PyTorch (c10/core/DeviceType.h).
_TORCH_DEVICES = {0: "CPU", 1: "CUDA", 2: "MKLDNN", 6: "HIP", 9: "XLA", 13: "MPS"}
_DEVICE_ALLOCATOR = re.compile(r"gpu|cuda|hip|tpu|mps|bfc", re.I)
#: Files of installed packages, as opposed to the user's own code.
_INSTALLED_CODE = re.compile(r"(site|dist)-packages[/\\]|^<frozen|[/\\]lib[/\\]python3")


# ---- events of allocators


class MemoryEvent(NamedTuple):
    """An allocation, or a deallocation if ``bytes`` is negative."""

    event: int
    time_ps: int
    address: int
    bytes: int
    requested_bytes: int
    heap_bytes: int
    """Heap in use after the event."""
    stack_bytes: int
    """Stack in use after the event."""
    cache_bytes: int
    """Memory of the device that the allocator holds unused."""
    free_bytes: int
    """Memory left; -1 if unknown."""
    peak_bytes: int
    """Most memory in use since the start of the program; -1 if unknown."""
    fragmentation: float
    op: str = ""
    region: str = ""
    type: str = ""
    shape: str = ""

    @property
    def in_use_bytes(self) -> int:
        return self.heap_bytes + self.stack_bytes


def _collect_allocator_events(trace: Trace) -> dict[str, list[MemoryEvent]]:
    """Return the events of each allocator, sorted by time."""
    allocators: dict[str, list[MemoryEvent]] = {}
    for allocator, event in (*_iter_xplane_events(trace), *_iter_torch_events(trace)):
        allocators.setdefault(allocator, []).append(event)
    for events in allocators.values():
        events.sort(key=lambda event: event.time_ps)
    return allocators


def has_allocator_events(trace: Trace) -> bool:
    """Return whether there are any allocator events, without collecting them."""
    return any(name in (_ALLOCATION, _DEALLOCATION, _TORCH_MEMORY) for name in trace.names)


def _is_device_allocator(allocator: str) -> bool:
    return bool(_DEVICE_ALLOCATOR.search(allocator)) and "host" not in allocator.lower()


def _iter_xplane_events(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    is_deallocation = trace.match_names(lambda name: name == _DEALLOCATION)
    is_allocation = trace.match_names(lambda name: name == _ALLOCATION)
    events = np.flatnonzero(is_allocation | is_deallocation)
    if not len(events):
        return
    args = _EventArgs(trace, events)
    for event in events.tolist():
        sign = -1 if is_deallocation[event] else 1
        allocator = args.get_text("allocator_name", event)
        op_name, colon, op_type = args.get_text("tf_op", event).rpartition(":")
        yield (
            allocator or f"memory {args.get_int('device_ordinal', event)}",
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=args.get_int("addr", event),
                bytes=sign * args.get_int("allocation_bytes", event),
                requested_bytes=args.get_int("requested_bytes", event),
                heap_bytes=args.get_int("bytes_allocated", event),
                stack_bytes=args.get_int("bytes_reserved", event),
                cache_bytes=0,
                free_bytes=args.get_int("bytes_available", event, -1),
                peak_bytes=args.get_int("peak_bytes_in_use", event, -1),
                fragmentation=args.get_float("fragmentation", event),
                op=op_name if colon else op_type,
                region=args.get_text("region_type", event),
                type=_get_type_name(args.get_int("data_type", event)),
                shape=args.get_text("shape", event),
            ),
        )


def _iter_torch_events(trace: Trace) -> Iterator[tuple[str, MemoryEvent]]:
    events = np.flatnonzero(trace.match_names(lambda name: name == _TORCH_MEMORY))
    if not len(events):
        return
    args = _EventArgs(trace, events)
    enclosing_ops = _get_enclosing_events(trace, trace.match_categories("cpu_op"), events)
    for event, op in zip(events.tolist(), enclosing_ops.tolist(), strict=True):
        heap_bytes = args.get_int("total_allocated", event)
        size_bytes = args.get_int("allocated", event)
        yield (
            _get_torch_allocator(args, event),
            MemoryEvent(
                event=event,
                time_ps=int(trace.start_ps[event]),
                address=args.get_int("address", event),
                bytes=size_bytes,
                requested_bytes=abs(size_bytes),
                heap_bytes=heap_bytes,
                stack_bytes=0,
                cache_bytes=max(args.get_int("total_reserved", event) - heap_bytes, 0),
                free_bytes=-1,
                peak_bytes=-1,
                fragmentation=nan,
                op=trace.names[trace.name[op]] if op >= 0 else "",
            ),
        )


def _get_torch_allocator(args: _EventArgs, event: int) -> str:
    device_type = args.get_int("device_type", event)
    name = _TORCH_DEVICES.get(device_type, f"device type {device_type}")
    return name if device_type == 0 else f"{name} {max(args.get_int('device_id', event), 0)}"


def _get_type_name(number: int) -> str:
    try:
        return get_dtype_name(DType(number % 100)) if number else ""
    except ValueError:
        return ""


def _get_enclosing_events(trace: Trace, candidates: Bool, events: Int64) -> Int64:
    """Return the innermost candidate around each event on its track, -1 for none.

    Args:
        trace: The trace.
        candidates: Mask of the events that may enclose others.
        events: The events to look up.
    """
    enclosing = np.full(len(events), -1, np.int64)
    position = {event: index for index, event in enumerate(events.tolist())}
    for track in np.unique(trace.track[events]).tolist():
        first, last = np.searchsorted(trace.track, [track, track + 1]).tolist()
        stack: list[tuple[int, int]] = []
        is_relevant = candidates[first:last] | np.isin(np.arange(first, last), events)
        for event in (np.flatnonzero(is_relevant) + first).tolist():
            start = int(trace.start_ps[event])
            while stack and stack[-1][1] < start:
                stack.pop()
            if event in position:
                enclosing[position[event]] = stack[-1][0] if stack else -1
            else:
                stack.append((event, start + int(trace.duration_ps[event])))
    return enclosing


class _EventArgs:
    """Arguments of some events. Each key is read from the trace once."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self._trace = trace
        self._is_wanted = np.zeros(len(trace), bool)
        self._is_wanted[events] = True
        self._columns: dict[tuple[str, str], dict[int, Any]] = {}

    def get_int(self, key: str, event: int, default: int = 0) -> int:
        return int(self._get_column("int", key).get(event, default))

    def get_text(self, key: str, event: int) -> str:
        return str(self._get_column("text", key).get(event, ""))

    def get_float(self, key: str, event: int) -> float:
        value = self._get_column("float", key).get(event)
        return float(self.get_int(key, event, -1)) if value is None else float(value)

    def _get_column(self, kind: str, key: str) -> dict[int, Any]:
        if (kind, key) not in self._columns:
            self._columns[kind, key] = dict(self._iter_values(kind, key))
        return self._columns[kind, key]

    def _iter_values(self, kind: str, key: str) -> Iterator[tuple[int, Any]]:
        if kind == "text":
            events, texts = self._trace.get_text_args(key)
            pairs = zip(events.tolist(), texts, strict=True)
            yield from (pair for pair in pairs if self._is_wanted[pair[0]])
            return
        get = self._trace.get_float_args if kind == "float" else self._trace.get_int_args
        events, values = get(key)
        mask = self._is_wanted[events]
        yield from zip(events[mask].tolist(), values[mask].tolist(), strict=True)


# ---- use of memory over time


class AllocationGroup(NamedTuple):
    """Allocations of the same op, size, type and shape."""

    op: str
    bytes: int
    """Total size of the group."""
    requested_bytes: int
    occurrences: int
    region: str
    """Kind of memory, as the allocator reports it, or `BEFORE_REGION` or `STACK_REGION`."""
    type: str
    shape: str
    event: int
    """The first allocation; -1 if it is not in the capture."""
    steps: int = 0
    """For leaks, the number of steps that made such an allocation."""


class Allocator(NamedTuple):
    name: str
    is_device: bool
    events: list[MemoryEvent]
    peak_index: int
    """Index of the event after which most memory was in use."""
    peak_groups: list[AllocationGroup]
    """What was in use at the peak, largest first."""
    leaks: list[AllocationGroup]
    step_heap_bytes: Int64
    """Heap in use at the end of each step."""

    @property
    def lifetime_peak_bytes(self) -> int:
        """Most memory in use since the start of the program; -1 if unknown."""
        return max((event.peak_bytes for event in self.events), default=-1)


def analyze_memory(trace: Trace, steps: Steps) -> list[Allocator]:
    """Return all allocators: those of devices first, then by their peak."""
    allocators = [
        _make_allocator(name, events, steps)
        for name, events in _collect_allocator_events(trace).items()
    ]
    return sorted(
        allocators,
        key=lambda item: (not item.is_device, -item.events[item.peak_index].in_use_bytes),
    )


def _make_allocator(name: str, events: list[MemoryEvent], steps: Steps) -> Allocator:
    peak_index = int(np.argmax([event.in_use_bytes for event in events]))
    live_at_peak = _list_live(events[: peak_index + 1])
    groups = [
        *_group_allocations(live_at_peak),
        *_iter_unattributed(events[peak_index], live_at_peak),
    ]
    return Allocator(
        name=name,
        is_device=_is_device_allocator(name),
        events=events,
        peak_index=peak_index,
        peak_groups=sorted(groups, key=lambda group: -group.bytes),
        leaks=_list_leaks(_list_live(events), steps),
        step_heap_bytes=_get_step_heap_bytes(events, steps),
    )


def _list_live(events: Iterable[MemoryEvent]) -> list[MemoryEvent]:
    """List the allocations that are not freed by a later one of the events."""
    live: dict[int, MemoryEvent] = {}
    for event in events:
        if event.bytes >= 0:
            live[event.address] = event
        else:
            live.pop(event.address, None)
    return [*live.values()]


def _group_allocations(events: Iterable[MemoryEvent]) -> list[AllocationGroup]:
    groups: dict[tuple[str, int, int, str, str, str], list[MemoryEvent]] = {}
    for event in events:
        key = (event.op, event.bytes, event.requested_bytes, event.region, event.type, event.shape)
        groups.setdefault(key, []).append(event)
    return [
        AllocationGroup(
            op=op,
            bytes=size_bytes * len(group),
            requested_bytes=requested_bytes * len(group),
            occurrences=len(group),
            region=region,
            type=type,
            shape=shape,
            event=group[0].event,
        )
        for (op, size_bytes, requested_bytes, region, type, shape), group in groups.items()
    ]


def _iter_unattributed(
    event: MemoryEvent, live: Sequence[MemoryEvent]
) -> Iterator[AllocationGroup]:
    """Yield the memory in use that was not allocated in the capture: mostly weights."""
    before_bytes = event.heap_bytes - sum(allocation.bytes for allocation in live)
    sizes = {BEFORE_REGION: before_bytes, STACK_REGION: event.stack_bytes}
    for region, size_bytes in sizes.items():
        if size_bytes > 0:
            yield AllocationGroup("", size_bytes, size_bytes, 1, region, "", "", -1)


def _list_leaks(live: Sequence[MemoryEvent], steps: Steps) -> list[AllocationGroup]:
    """List equal allocations that several steps made and that are live at the end."""
    step_of = np.searchsorted(steps.spans[:, 0], [event.time_ps for event in live], "right") - 1
    groups: dict[tuple[str, int, str], list[tuple[int, MemoryEvent]]] = {}
    for step, event in zip(step_of.tolist(), live, strict=True):
        # Allocations of the last step may be freed after the capture.
        if 0 <= step < len(steps.names) - 1:
            groups.setdefault((event.op, event.bytes, event.shape), []).append((step, event))
    leaks = []
    for (_, size_bytes, _), group in groups.items():
        step_count = len({step for step, _ in group})
        if step_count >= MIN_LEAK_STEPS:
            leak = _group_allocations(event for _, event in group)[0]
            leaks.append(leak._replace(steps=step_count, bytes=size_bytes * len(group)))
    return sorted(leaks, key=lambda leak: -leak.bytes)


def _get_step_heap_bytes(events: Sequence[MemoryEvent], steps: Steps) -> Int64:
    times_ps = [event.time_ps for event in events]
    last_event = np.searchsorted(times_ps, steps.spans[:, 1], "right") - 1
    heap_bytes = np.array([event.heap_bytes for event in events], np.int64)
    before_first = events[0].heap_bytes - events[0].bytes
    return np.where(last_event >= 0, heap_bytes[last_event], before_first)


# ---- heap profiles


class HeapSample(NamedTuple):
    """Memory that one call stack allocated and still holds."""

    location: str
    """Function, file and line of the user's code; empty if unknown."""
    stack: tuple[str, ...]
    """Call stack, innermost first."""
    kind: str
    device: str
    occurrences: int
    bytes: int


def list_heap_samples(profile: PprofProfile) -> list[HeapSample]:
    """List the samples of a memory profile, largest first."""
    types = [type.lower() for type in profile.types]
    size_index = next((at for at, type in enumerate(types) if type in ("space", "bytes")), -1)
    samples = (_make_sample(sample, size_index) for sample in profile.samples)
    return sorted(samples, key=lambda sample: -sample.bytes)


def _make_sample(sample: PprofSample, size_index: int) -> HeapSample:
    user_frames = (frame for frame in sample.stack if not _INSTALLED_CODE.search(frame.file))
    return HeapSample(
        location=_format_frame(next(user_frames, sample.stack[0])) if sample.stack else "",
        stack=tuple(map(_format_frame, sample.stack)),
        kind=sample.labels.get("kind", ""),
        device=sample.labels.get("device", ""),
        occurrences=sample.values[0] if sample.values else 0,
        bytes=sample.values[size_index] if sample.values else 0,
    )


def _format_frame(frame: PprofFrame) -> str:
    location = f"{frame.file}:{frame.line}" if frame.line else frame.file
    return f"{frame.function} {location}".strip()
