"""How long tracks and devices were busy.

A track or device is busy while at least one event runs on it. Annotations, which only enclose other
events, do not count. The overview, the trace viewer and its measurements all use these functions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import measure_coverage
from tracklight.analysis.profiles.attribution.launches import pair_launches
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

#: Shorter gaps between work that was launched in time are the overhead of starting it.
_MAX_KERNEL_WAIT_PS = 30_000_000


class IdleTimes(NamedTuple):
    """Why a device was idle between its first and its last event, in picoseconds.

    The categories are those of Holistic Trace Analysis, but for a device instead of a stream.
    """

    host_wait_ps: int
    """The next work had not been launched yet when the device became idle."""
    kernel_wait_ps: int
    """It had been launched, and started within 30 µs."""
    other_ps: int
    """It had been launched and started later, or its launch is unknown."""


def measure_tracks(trace: Trace, start_ps: int, end_ps: int) -> Int64:
    """Return how long each track was busy in a window of time."""
    window = np.array([[start_ps, end_ps]], np.int64)
    busy = np.zeros(len(trace.tracks), np.int64)
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    is_work = ~trace.is_annotation
    for track, (first, last) in enumerate(pairwise(bounds)):
        mask = is_work[first:last]
        start, duration = trace.start_ps[first:last][mask], trace.duration_ps[first:last][mask]
        busy[track] = measure_coverage(start, start + duration, window)[0]
    return busy


def list_devices(trace: Trace) -> list[str]:
    """List the devices on which anything ran."""
    counts = np.bincount(trace.track[trace.is_device_work], minlength=len(trace.tracks)).tolist()
    return sorted(
        {track.device for track, count in zip(trace.tracks, counts, strict=True) if count}
    )


def mask_device(trace: Trace, device: str) -> Bool:
    """Return a mask of the events that kept a device busy."""
    is_track = np.array([track.device == device for track in trace.tracks], bool)
    return is_track[trace.track] & trace.is_device_work


def measure_device(trace: Trace, device: str, spans: Int64) -> Int64:
    """Return how long a device was busy in each span, over all its streams."""
    mask = mask_device(trace, device)
    return measure_coverage(trace.start_ps[mask], trace.end_ps[mask], spans)


def measure_idle(trace: Trace, device: str) -> IdleTimes:
    """Return how long a device was idle between its events, by cause."""
    events = np.flatnonzero(mask_device(trace, device))
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    if len(events) < 2:
        return IdleTimes(0, 0, 0)
    idle_since = np.maximum.accumulate(trace.end_ps[events])[:-1]
    gap_ps, following = trace.start_ps[events[1:]] - idle_since, events[1:]
    is_gap = gap_ps > 0
    gap_ps, following, idle_since = gap_ps[is_gap], following[is_gap], idle_since[is_gap]
    launch_ps = np.full(len(trace), -1, np.int64)
    launches, launched = pair_launches(trace)
    launch_ps[launched] = trace.start_ps[launches]
    is_known = np.zeros(len(trace), bool)
    is_known[launched] = True
    is_host_wait = is_known[following] & (launch_ps[following] > idle_since)
    is_kernel_wait = is_known[following] & ~is_host_wait & (gap_ps < _MAX_KERNEL_WAIT_PS)
    host_ps, kernel_ps = int(gap_ps[is_host_wait].sum()), int(gap_ps[is_kernel_wait].sum())
    return IdleTimes(host_ps, kernel_ps, int(gap_ps.sum()) - host_ps - kernel_ps)


def format_device(device: str) -> str:
    """Return the name of a device to show: ``GPU 0`` for ``/device:GPU:0``."""
    return device.removeprefix("/device:").replace(":", " ")
