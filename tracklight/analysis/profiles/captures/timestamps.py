"""Leaves out what is said to have happened when nothing can have.

Some versions of profilers write marks decades ahead, and damaged files anything. One such event
would stretch a capture of seconds over years, and years do not fit into picoseconds of 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracklight.analysis.profiles.trace import Trace, format_ms
from tracklight.types import Bool, Float64, Int64

#: Some ten days: no capture is as long, and sums of a few of them still fit.
_MAX_SPAN_PS = 1e18


def mask_plausible_events(start_ps: Float64, duration_ps: Float64 | Int64) -> Bool:
    """Of each event whether it is within days of most others, and no longer than days."""
    if not len(start_ps):
        return np.zeros(0, bool)
    half = (len(start_ps) - 1) // 2
    near: Bool = np.abs(start_ps - np.partition(start_ps, half)[half]) < _MAX_SPAN_PS
    return near & (duration_ps < _MAX_SPAN_PS)


def iter_implausible_warnings(possible: Bool) -> Iterator[str]:
    count = len(possible) - int(possible.sum())
    if count:
        events = "1 event is" if count == 1 else f"{count:,} events are"
        yield f"{events} left out, as no capture lasts for so many days"


# Sets the clock of a device right, where the capture itself shows that it is wrong.
#
# No kernel begins before the call that launches it. Where one does, the device's clock is behind that
# of its host, and where all begin long after, it is ahead: then steps of the host and work of the
# device would never meet. Who is launched by whom is told by numbers.

_CORRELATION_KEYS = ("correlation_id", "correlation")

#: Clocks of devices are only known to so much; what is less is left as it is.
_MIN_BEHIND_PS = 100_000_000

#: So long does no launch wait, if there are many.
_MIN_AHEAD_PS = 10_000_000_000_000

_PS_PER_MS = 1e9


def align_device_clocks(trace: Trace) -> Trace:
    """The trace with devices moved in time so that what is launched follows its launch."""
    problems = list(trace.problems)
    start = trace.start_ps
    for process in sorted({track.process for track in trace.tracks if track.is_device}):
        mine = np.array([track.process == process for track in trace.tracks])[trace.track]
        waits = _measure_launch_delays(trace, mine & trace.on_device)
        shift = _compute_shift(waits)
        if shift:
            start = start + np.where(mine & trace.on_device, shift, 0)
            way = "behind" if shift > 0 else "ahead of"
            problems.append(
                f"the clock of {process} was {format_ms(abs(shift) / _PS_PER_MS)} {way} the host's: "
                "corrected"
            )
    if start is trace.start_ps:
        return trace
    return replace(trace, start_ps=start - min(int(start.min()), 0), problems=tuple(problems))


def _compute_shift(waits: Int64) -> int:
    if not len(waits):
        return 0
    # The shortest, but for a few that may be numbered wrong.
    few = len(waits) // 100
    least = int(np.partition(waits, few)[few])
    return -least if least < -_MIN_BEHIND_PS or least > _MIN_AHEAD_PS else 0


def _measure_launch_delays(trace: Trace, mine: Bool) -> Int64:
    """From the beginning of each launch to that of what it launched."""
    for key in _CORRELATION_KEYS:
        events, numbers = trace.get_int_args(key)
        if len(events):
            calls = ~trace.on_device[events]
            order = np.argsort(numbers[calls], kind="stable")
            launched, launches = numbers[calls][order], events[calls][order]
            kernels, asked = events[mine[events]], numbers[mine[events]]
            place = np.searchsorted(launched, asked)
            met = place < len(launched)
            met[met] = launched[place[met]] == asked[met]
            waits: Int64 = trace.start_ps[kernels[met]] - trace.start_ps[launches[place[met]]]
            return waits
    return np.empty(0, np.int64)
