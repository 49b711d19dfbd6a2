"""Memory: use of each allocator over time, its peak and leaks; heap profiles in pprof format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.profiles.memory import (
    AllocationGroup,
    Allocator,
    HeapSample,
    analyze_memory,
    has_allocator_events,
    list_heap_samples,
)
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.dashboards.profile.schemas import (
    AllocationColumns,
    AllocatorRow,
    CaptureRequest,
    HeapResponse,
    MemoryPeak,
    MemoryResponse,
    has_version,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
)
from tracklight.errors import Message
from tracklight.formats.profiles.pprof import parse_pprof
from tracklight.index.downsampling import downsample_minmax
from tracklight.plugin import Route

#: More points than any screen is wide.
_MAX_POINTS = 4000
#: There are mostly few different allocations, but there may be a million.
_MAX_ALLOCATION_GROUPS = 2000
_MAX_HEAP_ROWS = 20_000


def get_memory_response(store: CaptureStore, request: CaptureRequest) -> MemoryResponse:
    def compute(capture: LoadedCapture) -> MemoryResponse:
        steps = capture.get_steps(request.marker)
        allocators = analyze_memory(capture.trace, steps)
        return MemoryResponse(
            allocators=[_make_allocator_row(allocator) for allocator in allocators],
            step_names=[*steps.names],
            step_starts=steps.spans[:, 0] / PS_PER_MS,
            step_ends=steps.spans[:, 1] / PS_PER_MS,
        )

    return store.get_or_compute(request, "memory", MemoryResponse, compute)


def _make_allocator_row(allocator: Allocator) -> AllocatorRow:
    events, peak = allocator.events, allocator.events[allocator.peak_index]
    in_use_bytes = np.array([event.in_use_bytes for event in events], np.float64)
    points = [events[at] for at in downsample_minmax(in_use_bytes, _MAX_POINTS).tolist()]
    return AllocatorRow(
        name=allocator.name,
        is_device=allocator.is_device,
        allocations=sum(event.bytes >= 0 for event in events),
        frees=sum(event.bytes < 0 for event in events),
        capacity=peak.in_use_bytes + peak.free_bytes if peak.free_bytes >= 0 else None,
        peak=_make_peak(allocator),
        ms=np.array([event.time_ps for event in points], np.float64) / PS_PER_MS,
        heap=np.array([event.heap_bytes for event in points], np.float64),
        stack=np.array([event.stack_bytes for event in points], np.float64),
        cache=np.array([event.cache_bytes for event in points], np.float64),
        events=np.array([event.event for event in points], np.int32),
        peak_allocations=_make_allocation_columns(allocator.peak_groups[:_MAX_ALLOCATION_GROUPS]),
        leaks=_make_allocation_columns(allocator.leaks[:_MAX_ALLOCATION_GROUPS]),
        step_heap_bytes=allocator.step_heap_bytes.astype(np.float64),
    )


def _make_peak(allocator: Allocator) -> MemoryPeak:
    event = allocator.events[allocator.peak_index]
    lifetime_peak_bytes = allocator.lifetime_peak_bytes
    return MemoryPeak(
        ms=event.time_ps / PS_PER_MS,
        event=event.event,
        heap=event.heap_bytes,
        stack=event.stack_bytes,
        cache=event.cache_bytes,
        free=event.free_bytes if event.free_bytes >= 0 else None,
        fragmentation=event.fragmentation if event.fragmentation >= 0 else None,
        lifetime_peak_bytes=lifetime_peak_bytes if lifetime_peak_bytes >= 0 else None,
    )


def _make_allocation_columns(groups: list[AllocationGroup]) -> AllocationColumns:
    return AllocationColumns(
        ops=[group.op for group in groups],
        bytes=np.array([group.bytes for group in groups], np.float64),
        requested=np.array([group.requested_bytes for group in groups], np.float64),
        counts=np.array([group.occurrences for group in groups], np.int32),
        regions=[group.region for group in groups],
        types=[group.type for group in groups],
        shapes=[group.shape for group in groups],
        events=np.array([group.event for group in groups], np.int32),
        steps=np.array([group.steps for group in groups], np.int32),
    )


def get_heap_response(store: CaptureStore, request: CaptureRequest) -> HeapResponse:
    def compute(capture: LoadedCapture) -> HeapResponse:
        samples = _read_samples(store, request) if capture.file.kind == "pprof" else []
        shown = samples[:_MAX_HEAP_ROWS]
        return HeapResponse(
            locations=[sample.location for sample in shown],
            stacks=["\n".join(sample.stack) for sample in shown],
            kinds=[sample.kind for sample in shown],
            devices=[sample.device for sample in shown],
            counts=np.array([sample.occurrences for sample in shown], np.int32),
            bytes=np.array([sample.bytes for sample in shown], np.float64),
            total_bytes=float(sum(sample.bytes for sample in samples)),
        )

    return store.get_or_compute(request, "heap", HeapResponse, compute)


def _read_samples(store: CaptureStore, request: CaptureRequest) -> list[HeapSample]:
    with store.open_file(request) as path:
        return list_heap_samples(parse_pprof(path.read_bytes()))


def _explain_no_memory(capture: LoadedCapture) -> EmptyReason | None:
    if capture.file.kind == "pprof" or has_allocator_events(capture.trace):
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_memory", "No allocator events were recorded."),
        Message(
            "profile.no_memory_hint",
            "Pass profile_memory=True to PyTorch's profiler. TensorFlow records allocations, "
            "except for small tensors on a CPU.",
        ),
    )


def _make_memory_routes(store: CaptureStore) -> Sequence[Route]:
    def memory(request: CaptureRequest) -> MemoryResponse:
        """Return memory over time, what was in use at the peak, and leaks."""
        return get_memory_response(store, request)

    def heap(request: CaptureRequest) -> HeapResponse:
        """Return what a memory profile holds, by the line of code that allocated it."""
        return get_heap_response(store, request)

    return [
        Route("memory", CaptureRequest, memory, "GET", immutable=has_version),
        Route("heap", CaptureRequest, heap, "GET", immutable=has_version),
    ]


def _iter_memory_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    if store.load(request).file.kind == "pprof":
        yield f"heap?capture={request.capture}", get_heap_response(store, request)
    else:
        yield f"memory?capture={request.capture}", get_memory_response(store, request)


MEMORY_TOOL = Tool("memory", _make_memory_routes, _explain_no_memory, _iter_memory_static)
