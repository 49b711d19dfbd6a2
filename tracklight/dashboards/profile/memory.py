"""Profiles of memory in pprof's form: what is held, by the line that asked for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.media.values import has_fingerprint
from tracklight.analysis.profiles.memory import (
    AllocationGroup,
    Allocator,
    HeapSample,
    analyze_memory,
    has_allocator_events,
    list_heap_samples,
)
from tracklight.analysis.profiles.steps import Steps
from tracklight.dashboards.profile.schemas import (
    AllocationColumns,
    AllocatorRow,
    CaptureRequest,
    HeapResponse,
    MemoryPeak,
    MemoryResponse,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
)
from tracklight.formats.profiles.pprof import parse_pprof
from tracklight.index.downsampling import downsample_minmax
from tracklight.plugin import Route

_MAX_HEAP_ROWS = 20_000


def get_heap_response(store: CaptureStore, ask: CaptureRequest) -> HeapResponse:
    def make(opened: LoadedCapture) -> HeapResponse:
        held = _read_samples(store, ask) if opened.file.kind == "pprof" else []
        shown = held[:_MAX_HEAP_ROWS]
        return HeapResponse(
            wheres=[each.location for each in shown],
            stacks=["\n".join(each.stack) for each in shown],
            kinds=[each.kind for each in shown],
            devices=[each.device for each in shown],
            counts=np.array([each.occurrences for each in shown], np.int32),
            bytes=np.array([each.bytes for each in shown], np.float64),
            total_bytes=float(sum(each.bytes for each in held)),
        )

    return store.get_or_compute(ask, "heap", HeapResponse, make)


def _read_samples(store: CaptureStore, ask: CaptureRequest) -> list[HeapSample]:
    with store.open_file(ask) as path:
        return list_heap_samples(parse_pprof(path.read_bytes()))


# Memory: how much each allocator had in use over time, what of at its peak, and what was lost.

_PS_PER_MS = 1e9

#: More points than this no screen is wide enough for.
_MAX_POINTS = 4000

#: What is in use at a peak falls into few kinds, but there may be a million of them.
_MAX_ALLOCATION_GROUPS = 2000


def get_memory_response(store: CaptureStore, ask: CaptureRequest) -> MemoryResponse:
    def make(opened: LoadedCapture) -> MemoryResponse:
        steps = opened.get_steps(ask.marker)
        return _make_memory_response(analyze_memory(opened.trace, steps), steps)

    return store.get_or_compute(ask, "memory", MemoryResponse, make)


def _make_memory_response(allocators: list[Allocator], steps: Steps) -> MemoryResponse:
    return MemoryResponse(
        allocators=[_make_allocator_row(each) for each in allocators],
        step_names=[*steps.names],
        step_starts=steps.spans[:, 0] / _PS_PER_MS,
        step_ends=steps.spans[:, 1] / _PS_PER_MS,
    )


def _make_allocator_row(allocator: Allocator) -> AllocatorRow:
    events, peak = allocator.events, allocator.events[allocator.peak_index]
    in_use = np.array([event.in_use_bytes for event in events], np.float64)
    kept = [events[at] for at in downsample_minmax(in_use, _MAX_POINTS).tolist()]
    return AllocatorRow(
        name=allocator.name,
        is_device=allocator.is_device,
        allocations=sum(event.bytes >= 0 for event in events),
        frees=sum(event.bytes < 0 for event in events),
        capacity=peak.in_use_bytes + peak.free_bytes if peak.free_bytes >= 0 else None,
        peak=_make_peak(allocator),
        ms=np.array([event.time_ps for event in kept], np.float64) / _PS_PER_MS,
        heap=np.array([event.heap for event in kept], np.float64),
        stack=np.array([event.stack for event in kept], np.float64),
        cache=np.array([event.cache for event in kept], np.float64),
        events=np.array([event.event for event in kept], np.int32),
        pieces=_make_allocation_columns(allocator.peak_groups[:_MAX_ALLOCATION_GROUPS]),
        leaks=_make_allocation_columns(allocator.leaks[:_MAX_ALLOCATION_GROUPS]),
        step_heaps=allocator.step_heap_bytes.astype(np.float64),
    )


def _make_peak(allocator: Allocator) -> MemoryPeak:
    at = allocator.events[allocator.peak_index]
    return MemoryPeak(
        ms=at.time_ps / _PS_PER_MS,
        event=at.event,
        heap=at.heap_bytes,
        stack=at.stack_bytes,
        cache=at.cache_bytes,
        free=at.free_bytes if at.free_bytes >= 0 else None,
        fragmentation=at.fragmentation if at.fragmentation >= 0 else None,
        ever=allocator.lifetime_peak_bytes if allocator.lifetime_peak_bytes >= 0 else None,
    )


def _make_allocation_columns(pieces: list[AllocationGroup]) -> AllocationColumns:
    return AllocationColumns(
        ops=[piece.op for piece in pieces],
        bytes=np.array([piece.bytes for piece in pieces], np.float64),
        requested=np.array([piece.requested_bytes for piece in pieces], np.float64),
        counts=np.array([piece.occurrences for piece in pieces], np.int32),
        regions=[piece.region for piece in pieces],
        types=[piece.type for piece in pieces],
        shapes=[piece.shape for piece in pieces],
        events=np.array([piece.event for piece in pieces], np.int32),
        steps=np.array([piece.steps for piece in pieces], np.int32),
    )


def _explain_no_memory(opened: LoadedCapture) -> EmptyReason | None:
    if opened.file.kind == "pprof" or has_allocator_events(opened.trace):
        return None
    return explain_empty(opened) or EmptyReason(
        "no allocator reported what it did during this capture",
        "PyTorch's do with profile_memory=True; TensorFlow's do, but for small tensors on a CPU",
    )


def _make_memory_routes(store: CaptureStore) -> Sequence[Route]:
    def memory(ask: CaptureRequest) -> MemoryResponse:
        """Memory over time, what was in use at the peak, and what never came back."""
        return get_memory_response(store, ask)

    def heap(ask: CaptureRequest) -> HeapResponse:
        """What is held at the moment of a profile of memory, by the line that asked for it."""
        return get_heap_response(store, ask)

    return [
        Route("memory", CaptureRequest, memory, "GET", immutable=has_fingerprint),
        Route("heap", CaptureRequest, heap, "GET", immutable=has_fingerprint),
    ]


def _iter_memory_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    if store.load(ask).file.kind == "pprof":
        yield f"heap?capture={ask.capture}", get_heap_response(store, ask)
    else:
        yield f"memory?capture={ask.capture}", get_memory_response(store, ask)


MEMORY_TOOL = Tool("memory", "Memory", _make_memory_routes, _explain_no_memory, _iter_memory_static)
