"""Communication: collectives by kind and size, what hides them, and ranks that wait for others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles.attribution import format_device
from tracklight.analysis.profiles.communication import (
    Collectives,
    RankTrace,
    compare_ranks,
    group_collectives,
    list_collectives,
    mask_collectives,
    measure_communication,
)
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.dashboards.profile.schemas import CaptureRequest, has_version
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
)
from tracklight.errors import Message
from tracklight.plugin import Route
from tracklight.types import Float64, Int32

_MAX_GROUPS = 2000
#: Collectives of a rank on the time axis; the first ones are sent.
_MAX_BARS = 5000


class DeviceCommunication(msgspec.Struct):
    """How long a device communicated. Collectives at the same time count once."""

    name: str
    total_ms: float
    exposed_ms: float
    """While no other kernel computed."""
    compute_ms: float


class CommunicationResponse(msgspec.Struct):
    """Collectives by kind, size, group and algorithm, longest total time first.

    ``bytes`` and bandwidths (bytes/s) are NaN if unknown; they are those of nccl-tests.
    ``group_sizes`` are 0 if unknown. ``best_bus_bandwidths`` are those of the shortest calls.
    """

    devices: list[DeviceCommunication]
    kinds: list[str]
    groups: list[str]
    group_sizes: Int32
    bytes: Float64
    algorithms: list[str]
    protocols: list[str]
    counts: Int32
    total_ms: Float64
    min_ms: Float64
    max_ms: Float64
    exposed_ms: Float64
    algorithm_bandwidths: Float64
    bus_bandwidths: Float64
    best_bus_bandwidths: Float64
    longest: Int32
    steps: int


class RankRow(msgspec.Struct):
    """A rank and its collectives on the time axis of all ranks, in milliseconds.

    ``wait_ms`` is the part of each collective before the last rank was ready, NaN if it was found
    on no other rank. ``offset_ms`` was added to the times of the rank, as clocks differ.
    """

    rank: int
    host: str
    offset_ms: float
    collectives: int
    total_wait_ms: float
    transfer_ms: float
    last_count: int
    """How often it was the last rank that was ready."""
    exposed_ms: float
    kinds: list[str]
    start_ms: Float64
    duration_ms: Float64
    wait_ms: Float64


class RanksResponse(msgspec.Struct):
    """All ranks of a capture; ``matched`` is the number of collectives found on several ranks."""

    ranks: list[RankRow]
    matched: int
    unreadable: list[str]
    """Hosts whose file cannot be read."""


def _get_collectives(capture: LoadedCapture) -> Collectives:
    return capture.get_or_compute("collectives", lambda: list_collectives(capture.trace))


class HostCollectives(NamedTuple):
    """What the comparison of ranks needs of a host."""

    rank: int | None
    start_time_ns: int
    collectives: Collectives


def _read_collectives(capture: LoadedCapture) -> HostCollectives:
    trace = capture.trace
    return HostCollectives(trace.rank, trace.start_time_ns, _get_collectives(capture))


def get_communication_response(
    store: CaptureStore, request: CaptureRequest
) -> CommunicationResponse:
    def compute(capture: LoadedCapture) -> CommunicationResponse:
        groups = group_collectives(_get_collectives(capture))[:_MAX_GROUPS]
        return CommunicationResponse(
            devices=[
                DeviceCommunication(
                    name=format_device(item.device),
                    total_ms=item.total_ps / PS_PER_MS,
                    exposed_ms=item.exposed_ps / PS_PER_MS,
                    compute_ms=item.compute_ps / PS_PER_MS,
                )
                for item in measure_communication(capture.trace)
            ],
            kinds=[group.kind for group in groups],
            groups=[group.group for group in groups],
            group_sizes=np.array([group.group_size for group in groups], np.int32),
            bytes=np.array([group.bytes for group in groups], np.float64),
            algorithms=[group.algorithm for group in groups],
            protocols=[group.protocol for group in groups],
            counts=np.array([group.occurrences for group in groups], np.int32),
            total_ms=_to_ms([group.total_ps for group in groups]),
            min_ms=_to_ms([group.min_ps for group in groups]),
            max_ms=_to_ms([group.max_ps for group in groups]),
            exposed_ms=_to_ms([group.exposed_ps for group in groups]),
            algorithm_bandwidths=np.array(
                [group.algorithm_bytes_per_s for group in groups], np.float64
            ),
            bus_bandwidths=np.array([group.bus_bytes_per_s for group in groups], np.float64),
            best_bus_bandwidths=np.array(
                [group.best_bus_bytes_per_s for group in groups], np.float64
            ),
            longest=np.array([group.longest_event for group in groups], np.int32),
            steps=len(capture.get_steps(request.marker).names),
        )

    return store.get_or_compute(request, "communication", CommunicationResponse, compute)


def get_ranks_response(store: CaptureStore, request: CaptureRequest) -> RanksResponse:
    """Return the collectives of all hosts of a capture on one time axis."""
    traces: dict[int, RankTrace] = {}
    hosts: dict[int, str] = {}
    unreadable = []

    def read(host: str) -> HostCollectives:
        host_request = CaptureRequest(request.capture, host)
        return store.compute(host_request, _read_collectives, as_task=True)

    for at, (host, found) in enumerate(store.map_hosts(request.capture, read)):
        if isinstance(found, Exception):
            unreadable.append(host)
            continue
        rank = found.rank if found.rank is not None and found.rank not in traces else at
        while rank in traces:
            rank += 1
        traces[rank] = RankTrace(rank, found.start_time_ns, found.collectives)
        hosts[rank] = host
    comparison = compare_ranks([*traces.values()])
    rows = []
    for times in comparison.ranks:
        collectives = traces[times.rank].collectives
        shown = slice(_MAX_BARS)
        wait_ms = times.wait_ps[shown] / PS_PER_MS
        wait_ms[times.wait_ps[shown] < 0] = np.nan
        rows.append(
            RankRow(
                rank=times.rank,
                host=hosts[times.rank],
                offset_ms=times.offset_ps / PS_PER_MS,
                collectives=len(collectives),
                total_wait_ms=times.total_wait_ps / PS_PER_MS,
                transfer_ms=times.transfer_ps / PS_PER_MS,
                last_count=int(times.is_last.sum()),
                exposed_ms=int(collectives.exposed_ps.sum()) / PS_PER_MS,
                kinds=collectives.kind[shown],
                start_ms=times.start_ps[shown] / PS_PER_MS,
                duration_ms=(times.end_ps - times.start_ps)[shown] / PS_PER_MS,
                wait_ms=wait_ms,
            )
        )
    return RanksResponse(rows, comparison.matched, unreadable)


def _to_ms(times_ps: Sequence[int]) -> Float64:
    return np.array(times_ps, np.float64) / PS_PER_MS


def _explain_no_communication(capture: LoadedCapture) -> EmptyReason | None:
    if mask_collectives(capture.trace).any():
        return None
    return explain_empty(capture) or EmptyReason(
        Message("profile.no_collectives", "No collectives of NCCL were recorded."),
        Message(
            "profile.no_collectives_hint",
            "Profile a program that runs on several GPUs, such as DistributedDataParallel.",
        ),
    )


def _make_communication_routes(store: CaptureStore) -> Sequence[Route]:
    def communication(request: CaptureRequest) -> CommunicationResponse:
        """Return collectives by kind and size with their bandwidth, exposed and overlapped."""
        return get_communication_response(store, request)

    def ranks(request: CaptureRequest) -> RanksResponse:
        """Return the collectives of all ranks on one time axis, and how long each rank waited."""
        return get_ranks_response(store, request)

    return [
        Route("communication", CaptureRequest, communication, "GET", immutable=has_version),
        Route("communication/ranks", CaptureRequest, ranks, "GET"),
    ]


def _iter_communication_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    yield f"communication?capture={request.capture}", get_communication_response(store, request)
    yield f"communication/ranks?capture={request.capture}", get_ranks_response(store, request)


COMMUNICATION_TOOL = Tool(
    "communication",
    _make_communication_routes,
    _explain_no_communication,
    _iter_communication_static,
)
