"""Collectives between devices: their bandwidth, what hides them, and which rank others wait for.

Collectives are the kernels of NCCL or RCCL. PyTorch records the number of elements and the size of
the group with each of them; without that, sizes and bandwidths are unknown. The bandwidths are
those of nccl-tests: *algorithm* bandwidth is the size of the data by the time, *bus* bandwidth is
what each link has to carry, which does not depend on the number of ranks
(https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).

A kernel of a collective starts when its rank is ready and ends when all of them are done. The time
until the last rank is ready is waiting. Start with `list_collectives` for one rank and with
`compare_ranks` for several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles import (
    intersect_intervals,
    measure_intervals,
    merge_intervals,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Float64, Int64

_KERNEL = re.compile(r"(nccl|rccl)(Dev)?Kernel_?(?P<name>\w*)", re.IGNORECASE)
_ALGORITHMS = ("RING", "TREE", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS_TREE", "NVLS", "PAT")
_PROTOCOLS = ("LL128", "LL", "SIMPLE")
_COPY_PREFIX = "mem"

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "all_reduce", "all_gather", "reduce_scatter"
ALL_TO_ALL, BROADCAST, REDUCE = "all_to_all", "broadcast", "reduce"
POINT_TO_POINT, OTHER_KIND = "send_recv", "other"
#: Parts of names of kernels and of collectives of PyTorch, without underscores; the first counts.
_KINDS = {
    "allreduce": ALL_REDUCE,
    "allgather": ALL_GATHER,
    "reducescatter": REDUCE_SCATTER,
    "alltoall": ALL_TO_ALL,
    "broadcast": BROADCAST,
    "sendrecv": POINT_TO_POINT,
    "send": POINT_TO_POINT,
    "recv": POINT_TO_POINT,
    "reduce": REDUCE,
}
#: Names of element types of PyTorch.
_TYPE_BYTES = {
    "Double": 8, "Long": 8, "ComplexFloat": 8, "Float": 4, "Int": 4, "UInt32": 4, "Half": 2,
    "BFloat16": 2, "Short": 2, "UInt16": 2, "Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1,
    "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1, "ComplexDouble": 16, "UInt64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Collectives:
    """Columns of the collectives of one trace, by start."""

    event: Int64
    kind: list[str]
    group: list[str]
    """Name of the process group; empty if unknown."""
    group_size: Int64
    """Number of ranks; 0 if unknown."""
    bytes: Float64
    """Size of the data as nccl-tests counts it; NaN if unknown."""
    algorithm: list[str]
    """As in the name of the kernel, such as ``RING``; empty if unknown."""
    protocol: list[str]
    sequence: Int64
    """Number of the collective in its group; -1 if unknown."""
    start_ps: Int64
    end_ps: Int64
    exposed_ps: Int64
    """Time during which no other kernel ran on the device."""

    def __len__(self) -> int:
        return len(self.event)

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps


def mask_collectives(trace: Trace) -> Bool:
    """Return a mask of the kernels of collectives."""
    return trace.is_device_work & trace.match_names(lambda name: _KERNEL.match(name) is not None)


def list_collectives(trace: Trace) -> Collectives:
    """Return the collectives that a trace recorded on devices."""
    events = np.flatnonzero(mask_collectives(trace))
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    args = _CollectiveArgs(trace, events)
    names = [trace.names[name] for name in trace.name[events].tolist()]
    kinds = [
        _get_kind(args.get_text("collective", at) or _get_kernel_name(name))
        for at, name in enumerate(names)
    ]
    start, end = trace.start_ps[events], trace.end_ps[events]
    return Collectives(
        event=events,
        kind=kinds,
        group=[args.get_text("process_group", at) for at in range(len(events))],
        group_size=args.get_ints("group_size", 0),
        bytes=np.array([args.get_bytes(kind, at) for at, kind in enumerate(kinds)], np.float64),
        algorithm=[_get_token(name, _ALGORITHMS) for name in names],
        protocol=[_get_token(name, _PROTOCOLS) for name in names],
        sequence=args.get_ints("sequence", -1),
        start_ps=start,
        end_ps=end,
        exposed_ps=_measure_exposed(trace, events, start, end),
    )


class _CollectiveArgs:
    """Arguments of some events by their position."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self._trace = trace
        self._position = {event: at for at, event in enumerate(events.tolist())}
        self._texts = {
            key: self._collect(*trace.get_text_args(key))
            for key in ("collective", "process_group", "element_type")
        }
        self._ints = {
            key: self._collect(*self._get_ints(key))
            for key in ("in_elements", "out_elements", "group_size", "sequence")
        }

    def _get_ints(self, key: str) -> tuple[Int64, list[int]]:
        events, values = self._trace.get_int_args(key)
        return events, values.tolist()

    def _collect(self, events: Int64, values: Sequence[int | str]) -> dict[int, int | str]:
        pairs = zip(events.tolist(), values, strict=True)
        return {self._position[event]: item for event, item in pairs if event in self._position}

    def get_text(self, key: str, at: int) -> str:
        return str(self._texts[key].get(at, ""))

    def get_ints(self, key: str, default: int) -> Int64:
        values = self._ints[key]
        return np.array([values.get(at, default) for at in range(len(self._position))], np.int64)

    def get_bytes(self, kind: str, at: int) -> float:
        sizes = self._ints["in_elements"].get(at), self._ints["out_elements"].get(at)
        type_bytes = _TYPE_BYTES.get(self.get_text("element_type", at))
        if type_bytes is None or not all(isinstance(size, int) for size in sizes):
            return nan
        # The input is smaller than what is gathered, and larger than what is scattered.
        return float(max(int(size) for size in sizes if size is not None) * type_bytes)


def _get_kernel_name(name: str) -> str:
    match = _KERNEL.match(name)
    return match["name"] if match else name


def _get_kind(name: str) -> str:
    plain = name.lower().replace("_", "")
    return next((kind for text, kind in _KINDS.items() if text in plain), OTHER_KIND)


def _get_token(name: str, tokens: Sequence[str]) -> str:
    words = f"_{name.partition('(')[0].upper()}_"
    return next((token for token in tokens if f"_{token}_" in words), "")


def _measure_exposed(trace: Trace, events: Int64, start: Int64, end: Int64) -> Int64:
    exposed = end - start
    devices = np.array([track.device for track in trace.tracks])[trace.track[events]]
    for device in np.unique(devices).tolist():
        rows = np.flatnonzero(devices == device)
        other = _mask_compute(trace, device)
        spans = np.column_stack([start[rows], end[rows]])
        exposed[rows] -= _measure_each(trace.start_ps[other], trace.end_ps[other], spans)
    return exposed


def _measure_each(start: Int64, end: Int64, spans: Int64) -> Int64:
    """Return for how much of each span any event runs; the spans may overlap."""
    busy = merge_intervals(np.column_stack([start, end]))
    before = np.append(0, np.cumsum(busy[:, 1] - busy[:, 0]))
    edges = busy.ravel()

    def measure_until(times: Int64) -> Int64:
        """Return the busy time before each time."""
        position = np.searchsorted(edges, times, "right")
        complete = before[position // 2]
        is_inside = position % 2 == 1
        last_start = edges[np.maximum(position - 1, 0)] if len(edges) else times
        result: Int64 = complete + np.where(is_inside, times - last_start, 0)
        return result

    return measure_until(spans[:, 1]) - measure_until(spans[:, 0])


def _mask_compute(trace: Trace, device: str) -> Bool:
    """Return a mask of the kernels of a device other than collectives and copies."""
    is_track = np.array([track.device == device for track in trace.tracks], bool)
    is_copy = trace.match_names(lambda name: name.lower().startswith(_COPY_PREFIX))
    return is_track[trace.track] & trace.is_device_work & ~is_copy & ~mask_collectives(trace)


# ---- one rank


class CommunicationTime(NamedTuple):
    """How long one device communicated, in ps. Collectives at the same time count once."""

    device: str
    total_ps: int
    overlapped_ps: int
    """While another kernel computed."""
    compute_ps: int
    """While any kernel other than a collective or copy ran."""

    @property
    def exposed_ps(self) -> int:
        return self.total_ps - self.overlapped_ps


def measure_communication(trace: Trace) -> list[CommunicationTime]:
    """Return the communication of each device that has any."""
    is_collective = mask_collectives(trace)
    tracks = np.unique(trace.track[is_collective]).tolist()
    return [
        _measure_device(trace, device, is_collective)
        for device in sorted({trace.tracks[track].device for track in tracks})
    ]


def _measure_device(trace: Trace, device: str, is_collective: Bool) -> CommunicationTime:
    is_track = np.array([track.device == device for track in trace.tracks], bool)[trace.track]
    communication = _merge(trace, is_collective & is_track)
    compute = _merge(trace, _mask_compute(trace, device))
    overlapped = intersect_intervals(communication, compute)
    return CommunicationTime(
        device=device,
        total_ps=measure_intervals(communication),
        overlapped_ps=measure_intervals(overlapped),
        compute_ps=measure_intervals(compute),
    )


def _merge(trace: Trace, mask: Bool) -> Int64:
    return merge_intervals(np.column_stack([trace.start_ps[mask], trace.end_ps[mask]]))


class CollectiveGroup(NamedTuple):
    """Collectives of the same kind, size, group and algorithm."""

    kind: str
    group: str
    group_size: int
    bytes: float
    algorithm: str
    protocol: str
    occurrences: int
    total_ps: int
    min_ps: int
    max_ps: int
    exposed_ps: int
    longest_event: int

    @property
    def algorithm_bytes_per_s(self) -> float:
        """Bytes by the time of all calls, including their waits for other ranks; NaN if unknown."""
        return self.bytes * self.occurrences / self.total_ps * 1e12 if self.total_ps else nan

    @property
    def bus_bytes_per_s(self) -> float:
        return self.algorithm_bytes_per_s * get_bus_factor(self.kind, self.group_size)

    @property
    def best_bus_bytes_per_s(self) -> float:
        """Bus bandwidth of the shortest call, which waited least."""
        if not self.min_ps:
            return nan
        return self.bytes / self.min_ps * 1e12 * get_bus_factor(self.kind, self.group_size)


def get_bus_factor(kind: str, group_size: int) -> float:
    """Return how many times the data crosses each link, as in nccl-tests; NaN if unknown."""
    if group_size < 1:
        return nan
    if kind == ALL_REDUCE:
        return 2 * (group_size - 1) / group_size
    if kind in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL):
        return (group_size - 1) / group_size
    return nan if kind == OTHER_KIND else 1.0


def group_collectives(collectives: Collectives) -> list[CollectiveGroup]:
    """Return the collectives by kind, size, group and algorithm, longest total time first."""
    rows: dict[tuple[str, str, int, float, str, str], list[int]] = {}
    for at in range(len(collectives)):
        size = float(collectives.bytes[at])
        key = (
            collectives.kind[at],
            collectives.group[at],
            int(collectives.group_size[at]),
            -1.0 if isnan(size) else size,
            collectives.algorithm[at],
            collectives.protocol[at],
        )
        rows.setdefault(key, []).append(at)
    groups = [_make_group(collectives, key, np.array(own, np.int64)) for key, own in rows.items()]
    return sorted(groups, key=lambda group: -group.total_ps)


def _make_group(
    collectives: Collectives, key: tuple[str, str, int, float, str, str], rows: Int64
) -> CollectiveGroup:
    kind, group, group_size, size, algorithm, protocol = key
    durations = collectives.duration_ps[rows]
    return CollectiveGroup(
        kind=kind,
        group=group,
        group_size=group_size,
        bytes=nan if size < 0 else size,
        algorithm=algorithm,
        protocol=protocol,
        occurrences=len(rows),
        total_ps=int(durations.sum()),
        min_ps=int(durations.min()),
        max_ps=int(durations.max()),
        exposed_ps=int(collectives.exposed_ps[rows].sum()),
        longest_event=int(collectives.event[rows[np.argmax(durations)]]),
    )


# ---- several ranks


class RankTrace(NamedTuple):
    """The collectives of one rank; ``start_ns`` is when its capture began, in Unix time."""

    rank: int
    start_ns: int
    collectives: Collectives


class RankTimes(NamedTuple):
    """The collectives of one rank on the time axis of all ranks, in ps since the first one."""

    rank: int
    offset_ps: int
    """What was added to the times of the rank, because clocks differ."""
    start_ps: Int64
    end_ps: Int64
    wait_ps: Int64
    """How long each collective waited for the last rank; -1 for those that were not matched."""
    is_last: Bool
    """Whether the rank was the last one of its collective."""

    @property
    def total_wait_ps(self) -> int:
        return int(self.wait_ps[self.wait_ps >= 0].sum())

    @property
    def transfer_ps(self) -> int:
        """Time of matched collectives without waiting."""
        matched = self.wait_ps >= 0
        durations = self.end_ps[matched] - self.start_ps[matched]
        return int((durations - self.wait_ps[matched]).sum())


class RankComparison(NamedTuple):
    ranks: list[RankTimes]
    matched: int
    """Number of collectives that were found on more than one rank."""


def compare_ranks(ranks: Sequence[RankTrace]) -> RankComparison:
    """Put ranks on one time axis and measure which of them waited for which.

    The same collective has the same number in its group on all ranks; without numbers, it is the
    n-th one of its kind and group. The clocks of machines differ, and all ranks of a collective
    end at about the same time, so that each rank is moved by the median difference to the first.
    """
    ordered = sorted(ranks, key=lambda rank: rank.rank)
    if not ordered:
        return RankComparison([], 0)
    keys = [list(_iter_keys(rank.collectives)) for rank in ordered]
    first_ns = min(rank.start_ns for rank in ordered)
    shifts = [(rank.start_ns - first_ns) * 1000 for rank in ordered]
    reference = _index_ends(keys[0], ordered[0].collectives.end_ps + shifts[0])
    offsets = [
        _get_offset(reference, _index_ends(own, rank.collectives.end_ps + shift))
        for own, rank, shift in zip(keys, ordered, shifts, strict=True)
    ]
    starts = [
        rank.collectives.start_ps + shift + offset
        for rank, shift, offset in zip(ordered, shifts, offsets, strict=True)
    ]
    origin = min((int(start.min()) for start in starts if len(start)), default=0)
    members: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for at, own in enumerate(keys):
        for row, key in enumerate(own):
            if key is not None:
                members.setdefault(key, []).append((at, row))
    waits = [np.full(len(start), -1, np.int64) for start in starts]
    is_last = [np.zeros(len(start), bool) for start in starts]
    matched = 0
    for rows in members.values():
        if len(rows) < 2:
            continue
        matched += 1
        ready = [int(starts[at][row]) for at, row in rows]
        last = max(ready)
        for (at, row), time in zip(rows, ready, strict=True):
            duration = int(ordered[at].collectives.duration_ps[row])
            waits[at][row] = min(last - time, duration)
            is_last[at][row] = time == last
    return RankComparison(
        [
            RankTimes(
                rank=rank.rank,
                offset_ps=offset,
                start_ps=start - origin,
                end_ps=start - origin + rank.collectives.duration_ps,
                wait_ps=wait,
                is_last=last_of,
            )
            for rank, offset, start, wait, last_of in zip(
                ordered, offsets, starts, waits, is_last, strict=True
            )
        ],
        matched,
    )


def _iter_keys(collectives: Collectives) -> Iterator[tuple[str, str, int] | None]:
    """Yield what identifies each collective on all ranks; None for calls of single pairs."""
    counts: dict[tuple[str, str], int] = {}
    for kind, group, sequence in zip(
        collectives.kind, collectives.group, collectives.sequence.tolist(), strict=True
    ):
        number = counts[kind, group] = counts.get((kind, group), -1) + 1
        if kind in (POINT_TO_POINT, OTHER_KIND):
            yield None
        else:
            yield (kind, group, number) if sequence < 0 else ("", group, sequence)


def _index_ends(
    keys: Sequence[tuple[str, str, int] | None], end_ps: Int64
) -> dict[tuple[str, str, int], int]:
    return {key: end for key, end in zip(keys, end_ps.tolist(), strict=True) if key is not None}


def _get_offset(
    reference: dict[tuple[str, str, int], int], own: dict[tuple[str, str, int], int]
) -> int:
    differences = [reference[key] - end for key, end in own.items() if key in reference]
    return int(np.median(differences)) if differences else 0
