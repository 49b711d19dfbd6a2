"""Clean up what profilers wrote: event times, device properties and software versions.

Some profiler versions write markers that are decades off, and damaged files contain arbitrary
times. One such event would stretch a capture of seconds over years, which do not fit into 64-bit
picoseconds.

A kernel cannot start before the call that launches it. If one does, the clock of its device is
behind the host's; if all of them start very late, it is ahead. Events of host and device would then
never fall into the same step. Launches and kernels are matched by their correlation ids.

Profilers write the same property as text in one version and as a number in the next, so values of
any type are accepted and invalid ones are treated as missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tracklight.analysis.profiles.trace import PS_PER_MS, Device, RecordedCounter, Trace, format_ms
from tracklight.errors import Message
from tracklight.types import Bool, Float64, Int32, Int64

#: About eleven days. No capture is that long, and sums of a few such times fit into 64 bits.
_MAX_SPAN_PS = 1e18
#: Older versions of PyTorch's profiler write whole microseconds.
_ROUNDING_PS = 1_000_000
_CORRELATION_KEYS = ("correlation_id", "correlation")
#: Device clocks are only this precise. Smaller offsets are left alone.
_MIN_BEHIND_PS = 100_000_000
#: When there are many launches, not all of them wait this long.
_MIN_AHEAD_PS = 10_000_000_000_000


def sort_events(track: Int32 | Int64, start_ps: Int64, duration_ps: Int64) -> Int64 | None:
    """Return the order by track, start and descending duration; None if events have it already."""
    is_later, is_same = start_ps[1:] > start_ps[:-1], start_ps[1:] == start_ps[:-1]
    is_tie = is_same & (duration_ps[1:] <= duration_ps[:-1])
    if (np.where(track[1:] == track[:-1], is_later | is_tie, track[1:] > track[:-1])).all():
        return None
    order = np.argsort(start_ps, kind="stable")
    is_same = np.diff(start_ps[order]) == 0
    tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
    rows = order[tied]
    order[tied] = rows[np.lexsort((-duration_ps[rows], start_ps[rows]))]
    # NumPy sorts 16-bit integers by radix, which is faster.
    tracks = track.astype(np.uint16) if track.max() < 1 << 16 else track
    return order[np.argsort(tracks[order], kind="stable")]


def mask_plausible_events(start_ps: Float64, duration_ps: Float64 | Int64) -> Bool:
    """Return a mask of the events that are within days of the median event and last no longer."""
    if not len(start_ps):
        return np.zeros(0, bool)
    if np.ptp(start_ps) < _MAX_SPAN_PS and duration_ps.max() < _MAX_SPAN_PS:
        return np.ones(len(start_ps), bool)
    half = (len(start_ps) - 1) // 2
    median = np.partition(start_ps, half)[half]
    is_near: Bool = np.abs(start_ps - median) < _MAX_SPAN_PS
    return is_near & (duration_ps < _MAX_SPAN_PS)


def iter_implausible_warnings(is_plausible: Bool) -> Iterator[Message]:
    count = len(is_plausible) - int(is_plausible.sum())
    if count:
        yield Message.format(
            "profile.implausible_times",
            "Ignored events with a time that is more than ten days from the others: {count:,}",
            count=count,
        )


def snap_rounded_events(track: Int64, start_ps: Int64, end_ps: Int64) -> Int64:
    """Return ends with which nested calls nest again after all times were rounded.

    Starts keep their order, but a child may end up to a microsecond after its parent, and two calls
    in a row may overlap by as much. Longer overlaps are left alone.

    Args:
        track: Track of each event. Only threads are passed, as kernels do overlap.
        start_ps: Start of each event.
        end_ps: End of each event, in the order of the file: parents are written first.
    """
    end: Int64 = end_ps.copy()
    order = np.lexsort((start_ps - end, start_ps, track))
    for rows in np.split(order, np.flatnonzero(np.diff(track[order])) + 1):
        starts, ends = start_ps[rows].tolist(), end[rows].tolist()
        _snap_ends(starts, ends, _order_ties(starts, ends, rows.tolist()))
        end[rows] = ends
    return end


def _order_ties(starts: list[int], ends: list[int], file_order: list[int]) -> list[int]:
    """Order events that start together and are about as long as in the file."""
    order = list(range(len(starts)))
    for at in range(1, len(order)):
        while (
            at > 0
            and starts[order[at]] == starts[order[at - 1]]
            and ends[order[at - 1]] - ends[order[at]] <= _ROUNDING_PS
            and file_order[order[at]] < file_order[order[at - 1]]
        ):
            order[at - 1], order[at] = order[at], order[at - 1]
            at -= 1
    return order


def _snap_ends(starts: list[int], ends: list[int], order: list[int]) -> None:
    """Move ends that exceed the parent, or the start of the next event, by a rounding error."""
    stack: list[int] = []
    for at in order:
        while stack:
            top = stack[-1]
            overlap, excess = ends[top] - starts[at], ends[at] - ends[top]
            if overlap <= 0:
                stack.pop()
            elif excess <= 0:
                break
            elif excess <= _ROUNDING_PS and (overlap > _ROUNDING_PS or starts[top] == starts[at]):
                ends[at] = ends[top]
                break
            elif overlap <= _ROUNDING_PS:
                ends[top] = starts[at]
                stack.pop()
            else:
                break
        stack.append(at)


def align_device_clocks(trace: Trace) -> Trace:
    """Return the trace with device events shifted so that kernels start after their launch."""
    problems, counters = list(trace.problems), list(trace.counters)
    start = trace.start_ps
    for process in sorted({track.process for track in trace.tracks if track.is_device}):
        in_process = np.array([track.process == process for track in trace.tracks])[trace.track]
        mask = in_process & trace.on_device
        shift_ps = _compute_shift(_measure_launch_delays(trace, mask))
        if shift_ps:
            start = start + np.where(mask, shift_ps, 0)
            counters = [_shift_counter(it, shift_ps, process) for it in counters]
            offset = format_ms(abs(shift_ps) / PS_PER_MS)
            problems.append(_describe_shift(process, offset, is_behind=shift_ps > 0))
    if start is trace.start_ps:
        return trace
    base_ps = min(int(start.min()), 0)
    return replace(
        trace,
        start_ps=start - base_ps,
        counters=tuple(it._replace(times_ps=it.times_ps - base_ps) for it in counters),
        problems=tuple(problems),
    )


def _shift_counter(counter: RecordedCounter, shift_ps: int, process: str) -> RecordedCounter:
    """Shift a counter of a device like its events."""
    if counter.process != process:
        return counter
    return counter._replace(times_ps=counter.times_ps + shift_ps)


def _describe_shift(process: str, offset: str, is_behind: bool) -> Message:
    if is_behind:
        return Message.format(
            "profile.clock_behind",
            "The clock of {process} was {offset} behind the host clock; corrected",
            process=process,
            offset=offset,
        )
    return Message.format(
        "profile.clock_ahead",
        "The clock of {process} was {offset} ahead of the host clock; corrected",
        process=process,
        offset=offset,
    )


def _compute_shift(delays: Int64) -> int:
    if not len(delays):
        return 0
    # The shortest delay, except for the 1 % whose ids may be wrong.
    rank = len(delays) // 100
    shortest = int(np.partition(delays, rank)[rank])
    return -shortest if shortest < -_MIN_BEHIND_PS or shortest > _MIN_AHEAD_PS else 0


def _measure_launch_delays(trace: Trace, is_kernel: Bool) -> Int64:
    """Return the time from each launch to the start of its kernel."""
    for key in _CORRELATION_KEYS:
        events, ids = trace.get_int_args(key)
        if len(events):
            on_host = ~trace.on_device[events]
            order = np.argsort(ids[on_host], kind="stable")
            launch_ids, launches = ids[on_host][order], events[on_host][order]
            kernels, kernel_ids = events[is_kernel[events]], ids[is_kernel[events]]
            match = np.searchsorted(launch_ids, kernel_ids)
            matches = match < len(launch_ids)
            matches[matches] = launch_ids[match[matches]] == kernel_ids[matches]
            launch_start = trace.start_ps[launches[match[matches]]]
            delays: Int64 = trace.start_ps[kernels[matches]] - launch_start
            return delays
    return np.empty(0, np.int64)


# ---- devices and versions

#: Metadata keys, their labels, and whether the version is packed as 13020 for 13.2.
_VERSION_KEYS: dict[str, tuple[str | Message, bool]] = {
    "jax_version": ("JAX", False),
    "jaxlib_version": ("jaxlib", False),
    "cuda_driver_version": (Message("profile.fact_cuda_driver", "CUDA driver"), True),
    "cuda_runtime_version": (Message("profile.fact_cuda_runtime", "CUDA runtime"), True),
    "cupti_version": ("CUPTI", False),
}
_DISTRIBUTED_KEYS = {
    "backend": Message("profile.fact_backend", "Distributed backend"),
    "rank": Message("profile.fact_rank", "Rank"),
    "world_size": Message("profile.fact_world_size", "World size"),
}


def parse_xplane_device(stats: Mapping[str, float | str]) -> Device:
    """Return the device that the stats of an XPlane describe."""
    return Device(
        name=str(stats.get("gpu_device_name") or stats.get("device_type_string") or ""),
        multiprocessors=int(_parse_number(stats.get("core_count"))),
        clock_hz=_parse_number(stats.get("clock_rate")) * 1e3,
        memory_bytes_per_s=_parse_number(stats.get("memory_bandwidth")),
        memory_bytes=int(_parse_number(stats.get("memory_size"))),
        compute_capability=(
            int(_parse_number(stats.get("compute_cap_major"))),
            int(_parse_number(stats.get("compute_cap_minor"))),
        ),
    )


def parse_kineto_devices(properties: object) -> tuple[Device, ...]:
    """Return the devices in the ``deviceProperties`` of a PyTorch trace, used or not."""
    entries: Iterable[Any] = properties if isinstance(properties, list) else ()
    return tuple(
        Device(
            name=str(entry.get("name", "")),
            multiprocessors=int(_parse_number(entry.get("numSms"))),
            memory_bytes=int(_parse_number(entry.get("totalGlobalMem"))),
            compute_capability=(
                int(_parse_number(entry.get("computeMajor"))),
                int(_parse_number(entry.get("computeMinor"))),
            ),
        )
        for entry in entries
        if isinstance(entry, dict)
    )


def parse_versions(stats: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return labels and versions of the software that a profiler recorded."""
    return tuple(
        (label, _format_version(stats[key], is_packed))
        for key, (label, is_packed) in _VERSION_KEYS.items()
        if stats.get(key) not in (None, "", 0)
    )


def parse_chrome_environment(header: Mapping[str, Any]) -> tuple[tuple[str | Message, str], ...]:
    """Return versions and distributed settings from the header of a PyTorch trace."""
    info = header.get("distributedInfo")
    distributed = info if isinstance(info, dict) else {}
    facts = (
        (label, str(distributed[key]))
        for key, label in _DISTRIBUTED_KEYS.items()
        if key in distributed
    )
    return (*parse_versions(header), *facts)


def parse_rank(header: Mapping[str, Any]) -> int | None:
    """Return the rank in the header of a PyTorch trace; None if the program is not distributed."""
    info = header.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if isinstance(rank, int) and rank >= 0 else None


def _format_version(version: Any, is_packed: bool) -> str:
    text = str(version)
    if is_packed and text.isdigit():
        return f"{int(text) // 1000}.{int(text) % 1000 // 10}"
    return text


def _parse_number(value: object) -> float:
    """Return a number or the number in a text; 0 if it is neither or out of range."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 1e20 else 0.0
