"""How long tracks and devices were busy.

A track or device is busy while at least one event runs on it. Annotations, which only enclose other
events, do not count. The overview, the trace viewer and its measurements all use these functions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tracklight.analysis.profiles.arrays import measure_coverage
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64


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
    busy_tracks = np.unique(trace.track[trace.is_device_work]).tolist()
    return sorted({trace.tracks[track].device for track in busy_tracks})


def mask_device(trace: Trace, device: str) -> Bool:
    """Return a mask of the events that kept a device busy."""
    is_track = np.array([track.device == device for track in trace.tracks], bool)
    return is_track[trace.track] & trace.is_device_work


def measure_device(trace: Trace, device: str, spans: Int64) -> Int64:
    """Return how long a device was busy in each span, over all its streams."""
    mask = mask_device(trace, device)
    return measure_coverage(trace.start_ps[mask], trace.end_ps[mask], spans)


def format_device(device: str) -> str:
    """Return the name of a device to show: ``GPU 0`` for ``/device:GPU:0``."""
    return device.removeprefix("/device:").replace(":", " ")
