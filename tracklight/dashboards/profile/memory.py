"""Memory: how much each allocator had in use over time, what of at its peak, and what was lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.heap import HeapAnswer, answer_heap
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.index.reduction import thin
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.memory.events import has_allocators
from tracklight.profiles.memory.usage import Allocator, Piece, find_memory
from tracklight.profiles.steps.steps import Steps
from tracklight.types import Float64, Int32

_MS = 1e9
#: More points than this no screen is wide enough for.
_MOST_POINTS = 4000
#: What is in use at a peak falls into few kinds, but there may be a million of them.
_MOST_PIECES = 2000


class Pieces(msgspec.Struct):
    """Memory that was taken alike: one row each, the largest first.

    ``bytes`` and ``requested`` are those of all ``counts`` of them together. ``regions`` also says
    ``before`` for what was there when the capture began, mostly weights. ``events`` are where
    the first was taken, -1 for not in this capture. ``steps`` is, of what was lost, in how many
    steps.
    """

    ops: list[str]
    bytes: Float64
    requested: Float64
    counts: Int32
    regions: list[str]
    types: list[str]
    shapes: list[str]
    events: Int32
    steps: Int32


class Peak(msgspec.Struct):
    """The moment at which most was in use; null where nobody says."""

    ms: float
    event: int
    heap: int
    stack: int
    cache: int
    free: int | None
    fragmentation: float | None
    ever: int | None
    """The most that ever was in use, before the capture as well."""


class AllocatorRow(msgspec.Struct):
    """An allocator over time: ``ms`` since the capture began, and bytes.

    Of many events, those at which most and least was in use are kept. ``capacity`` is all that it
    could have given, null where nobody says.
    """

    name: str
    is_device: bool
    allocations: int
    frees: int
    capacity: int | None
    peak: Peak
    ms: Float64
    heap: Float64
    stack: Float64
    cache: Float64
    events: Int32
    pieces: Pieces
    leaks: Pieces
    step_heaps: Float64


class MemoryAnswer(msgspec.Struct):
    """All allocators, those of devices first; steps by their starts and ends in milliseconds."""

    allocators: list[AllocatorRow]
    step_names: list[str]
    step_starts: Float64
    step_ends: Float64


def answer_memory(store: Store, ask: CaptureAsk) -> MemoryAnswer:
    def make(opened: Opened) -> MemoryAnswer:
        steps = opened.find_steps(ask.marker)
        return _tell(find_memory(opened.trace, steps), steps)

    return store.find(ask, "memory", MemoryAnswer, make)


def _tell(allocators: list[Allocator], steps: Steps) -> MemoryAnswer:
    return MemoryAnswer(
        allocators=[_tell_allocator(each) for each in allocators],
        step_names=[*steps.names],
        step_starts=steps.spans[:, 0] / _MS,
        step_ends=steps.spans[:, 1] / _MS,
    )


def _tell_allocator(allocator: Allocator) -> AllocatorRow:
    events, peak = allocator.events, allocator.events[allocator.peak]
    in_use = np.array([event.in_use for event in events], np.float64)
    kept = [events[at] for at in thin(in_use, _MOST_POINTS).tolist()]
    return AllocatorRow(
        name=allocator.name,
        is_device=allocator.is_device,
        allocations=sum(event.bytes >= 0 for event in events),
        frees=sum(event.bytes < 0 for event in events),
        capacity=peak.in_use + peak.free if peak.free >= 0 else None,
        peak=_tell_peak(allocator),
        ms=np.array([event.time_ps for event in kept], np.float64) / _MS,
        heap=np.array([event.heap for event in kept], np.float64),
        stack=np.array([event.stack for event in kept], np.float64),
        cache=np.array([event.cache for event in kept], np.float64),
        events=np.array([event.event for event in kept], np.int32),
        pieces=_tell_pieces(allocator.pieces[:_MOST_PIECES]),
        leaks=_tell_pieces(allocator.leaks[:_MOST_PIECES]),
        step_heaps=allocator.step_heaps.astype(np.float64),
    )


def _tell_peak(allocator: Allocator) -> Peak:
    at = allocator.events[allocator.peak]
    return Peak(
        ms=at.time_ps / _MS,
        event=at.event,
        heap=at.heap,
        stack=at.stack,
        cache=at.cache,
        free=at.free if at.free >= 0 else None,
        fragmentation=at.fragmentation if at.fragmentation >= 0 else None,
        ever=allocator.ever_peak if allocator.ever_peak >= 0 else None,
    )


def _tell_pieces(pieces: list[Piece]) -> Pieces:
    return Pieces(
        ops=[piece.op for piece in pieces],
        bytes=np.array([piece.bytes for piece in pieces], np.float64),
        requested=np.array([piece.requested for piece in pieces], np.float64),
        counts=np.array([piece.times for piece in pieces], np.int32),
        regions=[piece.region for piece in pieces],
        types=[piece.type for piece in pieces],
        shapes=[piece.shape for piece in pieces],
        events=np.array([piece.event for piece in pieces], np.int32),
        steps=np.array([piece.steps for piece in pieces], np.int32),
    )


def _explain(opened: Opened) -> Why | None:
    if opened.file.kind == "pprof" or has_allocators(opened.trace):
        return None
    return explain_empty(opened) or Why(
        "no allocator reported what it did during this capture",
        "PyTorch's do with profile_memory=True; TensorFlow's do, but for small tensors on a CPU",
    )


def _routes(store: Store) -> Sequence[Route]:
    def memory(ask: CaptureAsk) -> MemoryAnswer:
        """Memory over time, what was in use at the peak, and what never came back."""
        return answer_memory(store, ask)

    def heap(ask: CaptureAsk) -> HeapAnswer:
        """What is held at the moment of a profile of memory, by the line that asked for it."""
        return answer_heap(store, ask)

    return [
        Route("memory", CaptureAsk, memory, "GET", immutable=has_mark),
        Route("heap", CaptureAsk, heap, "GET", immutable=has_mark),
    ]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    if store.open(ask).file.kind == "pprof":
        yield f"heap?capture={ask.capture}", answer_heap(store, ask)
    else:
        yield f"memory?capture={ask.capture}", answer_memory(store, ask)


TOOL = Tool("memory", "Memory", _routes, _explain, _copies)
